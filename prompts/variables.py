"""Variables in the texts of prompt files: `{name}` stands where another text goes."""

import re
from collections.abc import Collection, Mapping

from heard.hints import nearest_name

VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""Other braces, such as those of JSON, are text."""


def variables_in(text: str) -> list[str]:
    """The names of the variables of `text`, in order, each as often as it stands there."""
    return VARIABLE.findall(text)


def unfilled(text: str, known: Collection[str]) -> list[str]:
    """Of each variable of `text` that is none of `known`: what is wrong, to go after the text's name."""
    names = [name for name in dict.fromkeys(variables_in(text)) if name not in known]
    return [f"uses {{{name}}}, which nobody fills. {nearest_name(name, known)}" for name in names]


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with the variables of `values` filled in; all others stay.

    In one pass, so that braces in a value, which may be a person's or a model's words, are never filled in turn.
    """
    return VARIABLE.sub(lambda found: values.get(found[1], found[0]), text)
