"""Telephone numbers as `hotlines.yaml` writes them."""

import re
from typing import Annotated
from urllib.parse import quote

from pydantic import AfterValidator

from heard.prompts.fields import NonEmpty, validated

_NUMBER = re.compile(r"[+\d(][\d ()-]*")
_WORD_TO_NUMBER = re.compile(r"(\S+) to ([+\d][\d ()-]*)")


def numbers_in(written: str) -> list[str]:
    """Return the numbers of "A" or "A or B", as they are written; [] for what is no number."""
    parts = [part.strip() for part in written.split(" or ")]
    return parts if all(_NUMBER.fullmatch(part) for part in parts) else []


def word_and_number(written: str) -> tuple[str, str] | None:
    """Return ("MHA", "741741") of "MHA to 741741", and ("", number) of a number alone; None for anything else."""
    if found := _WORD_TO_NUMBER.fullmatch(written):
        return found[1], found[2]
    return ("", written) if _NUMBER.fullmatch(written) else None


def dialled(number: str) -> str:
    """Return a number as a link takes it: its digits, with the plus sign before them."""
    return re.sub(r"[^\d+]", "", number)


def call_link(number: str) -> str:
    """Return the link by which a telephone calls a number."""
    return f"tel:{dialled(number)}"


def text_link(number: str, word: str = "") -> str:
    """Return the link by which a telephone begins a text message to a number, with its first word."""
    # "?&body=" is what both kinds of phone take: one begins the fields of a message with "?", the other with "&".
    return f"sms:{dialled(number)}" + (f"?&body={quote(word)}" if word else "")


def _numbers(written: str) -> str:
    return validated(written, [] if numbers_in(written) else ['must be a number such as "116 123", or "A or B"'])


Numbers = Annotated[NonEmpty, AfterValidator(_numbers)]
"""One number or several."""
