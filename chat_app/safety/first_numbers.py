"""The first numbers of a country: whom to call and whom to write to, as words and as links that a telephone opens."""

import re
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from heard.prompts.safety_files import GENERAL, Country, load_hotlines

_FIRST = re.compile(r"[+(]?\d[\d\s()-]*")
"""The first number where a line has several: "14416 or 1800 891 4416"."""
_WORD_TO = re.compile(r"(?P<word>[A-Za-z]+) to (?P<number>\d[\d\s]*)$")
"""A word that the first text must have: "HELP to 4357"."""
_PLAIN = re.compile(r"\d[\d\s-]*$")


@dataclass(frozen=True, slots=True)
class Contact:
    """One number."""

    shown: str
    """As people read it: "988", "HELP to 4357"."""
    link: str
    """ "tel:..." or "sms:..."."""


@dataclass(frozen=True, slots=True)
class FirstNumbers:
    """The first numbers of a country."""

    country: str
    """ISO 3166-1 alpha-2."""
    emergency: str
    """As people read it; may be two numbers: "112 or 999"."""
    call: Contact | None
    """The first crisis line that is called; None where the country has none."""
    text: Contact | None
    """The first that is written to by text message."""


def first_numbers(country: str | None, danger: str = GENERAL) -> FirstNumbers | None:
    """Return the first numbers of a country for a danger; None without a choice, or for an unknown code. For a danger
    without lines of its own there, those for all.

    Raises PromptFileError if the numbers cannot be read.
    """
    return _by_code(danger).get((country or "").strip().upper())


@cache
def _by_code(danger: str) -> dict[str, FirstNumbers]:
    return {country.code: _of_country(country, danger) for country in load_hotlines().countries}


def _of_country(country: Country, danger: str) -> FirstNumbers:
    general = [line for line in country.lines if GENERAL in line.dangers]
    lines = [line for line in country.lines if danger in line.dangers] or general
    calls = (_call(line.call) for line in lines if line.call)
    texts = (_text(line.text) for line in lines if line.text)
    return FirstNumbers(
        country.code, country.emergency, next(filter(None, calls), None), next(filter(None, texts), None)
    )


def _call(number: str) -> Contact | None:
    found = _FIRST.match(number)
    return Contact(found[0].strip(), f"tel:{_digits(found[0])}") if found else None


def _text(number: str) -> Contact | None:
    """A text's number; None for one of another service, such as WhatsApp."""
    if worded := _WORD_TO.match(number):
        return Contact(number, f"sms:{_digits(worded['number'])}?&body={quote(worded['word'])}")
    return Contact(number, f"sms:{_digits(number)}") if _PLAIN.match(number) else None


def _digits(number: str) -> str:
    return ("+" if number.lstrip().startswith("+") else "") + "".join(filter(str.isdigit, number))
