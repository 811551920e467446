"""The kinds of field that prompt files have, each with what is checked of it."""

from collections.abc import Iterable
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, Strict, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from heard.prompts.variables import unfilled, variables_in

T = TypeVar("T")
MAX_TOKENS = 640
"""The study's limit for a reply: the length of the longest human answer."""

Order = Annotated[int, Field(ge=0, le=1_000_000), Strict()]
"""Place in a menu, lowest first; 100 where nothing is said."""
Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS), Strict()]
"""Upper bound of what a model writes, in its own tokens."""
Empathy = Annotated[float, Field(ge=1, le=3), Strict()]
Gain = Annotated[float, Field(ge=0, le=2), Strict()]
"""Of Empathy, from one draft to another."""
Stripped = Annotated[str, StringConstraints(strip_whitespace=True)]
NonEmpty = Annotated[Stripped, Field(min_length=1)]
"""A text that is not empty."""


def validated(value: T, faults: Iterable[str]) -> T:
    """`value`. Raises ValueError, as a validator does, with a line for each of its faults if there are any."""
    if lines := "\n".join(faults):
        raise ValueError(lines)
    return value


def _refuse(value: str) -> str:
    raise ValueError("is the name of the file, or the key above, and may not be written a second time. Remove it.")


ImpliedName = Annotated[str, AfterValidator(_refuse), SkipJsonSchema()]
"""What a record is called by its file's name, or by its key in the file: whoever reads it fills it in."""


def only_variables(*known: str) -> AfterValidator:
    """Of a text that may use these variables and no others."""
    return AfterValidator(lambda text: validated(text, unfilled(text, known)))


def exactly_once(*names: str) -> AfterValidator:
    """Of a text that must hold each of these variables exactly once."""

    def check(text: str) -> str:
        held = variables_in(text)
        return validated(text, [f"must hold {{{name}}} exactly once" for name in names if held.count(name) != 1])

    return AfterValidator(check)
