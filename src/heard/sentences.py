"""Sentences for people that can be said in another language: English texts that remember how they were made."""

from typing import Any


class Sentence(str):
    """An English sentence for a page. It is a text like any other, and keeps its pattern and what was filled in."""

    pattern: str
    values: dict[str, Any]

    def __new__(cls, pattern: str, **values: Any) -> "Sentence":
        """Return `pattern` with its {names} filled in from `values`."""
        made = super().__new__(cls, pattern.format(**values) if values else pattern)
        made.pattern, made.values = pattern, values
        return made


def sentence(pattern: str, **values: Any) -> Sentence:
    """Return a `Sentence`. The catalogues of the survey's words (`chat_app/studies/words`) hold each pattern that is
    given here as a literal."""
    return Sentence(pattern, **values)


def said(error: BaseException) -> str:
    """Return the sentence of an error as it was given, a `Sentence` where it was one; `str()` would lose that."""
    return error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
