"""Filling and choosing the reviewed texts of the turns about a person's safety."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from heard.chat_app.safety.first_numbers import first_numbers
from heard.prompts.safety_files import GENERAL
from heard.prompts.safety_turn_files import AfterHandoff, load_recovery
from heard.prompts.variables import fill

T = TypeVar("T")


@cache
def recoveries() -> dict[str, tuple[str, ...]]:
    """Return the acknowledgements of a danger long past by language, read once. Raises PromptFileError."""
    return load_recovery()


def number_words(texts: AfterHandoff, country: str | None, danger: str = GENERAL) -> dict[str, str]:
    """Return what `{numbers}` and `{emergency}` say, by the chosen country's first numbers for a danger."""
    first = first_numbers(country, danger)
    call, text = (first.call, first.text) if first else (None, None)
    words = texts.numbers
    values = {"call": call.shown if call else "", "text": text.shown if text else ""}
    chosen = words.both if call and text else words.call if call else words.text if text else words.none
    known = texts.emergency.known if first else texts.emergency.none
    return {
        "numbers": fill(chosen, values),
        "emergency": fill(known, {"number": first.emergency if first else ""}),
    }


def least_used(choices: Sequence[T], used: Sequence[T]) -> T:
    """Return the first that was not used, else the one whose last use is longest ago. `used`: the newest last."""

    def last_use(choice: T) -> int:
        return max((place for place, one in enumerate(used) if one == choice), default=-1)

    return min(choices, key=last_use)


def given_before(choices: Sequence[str], replies: Sequence[str], render: Callable[[str], str]) -> list[str]:
    """Return which of `choices` were given, rendered, as `replies`, in their order."""
    rendered = {render(choice): choice for choice in choices}
    return [rendered[reply] for reply in replies if reply in rendered]
