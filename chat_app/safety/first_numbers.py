"""The first numbers of a country: whom to call and whom to write to, as words and as links that a telephone opens."""

from dataclasses import dataclass

from heard.chat_app.safety.crisis_numbers import country_with, lines_for
from heard.prompts.phone_numbers import call_link, numbers_in, text_link, word_and_number
from heard.prompts.safety_files import GENERAL, Country


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
    found = country_with(country)
    return None if found is None else _of_country(found, danger)


def _of_country(country: Country, danger: str) -> FirstNumbers:
    lines = lines_for(country, danger)
    calls = (_call(line.call) for line in lines if line.call)
    texts = (_text(line.text) for line in lines if line.text)
    return FirstNumbers(
        country.code, country.emergency, next(filter(None, calls), None), next(filter(None, texts), None)
    )


def _call(written: str) -> Contact | None:
    first = next(iter(numbers_in(written)), None)
    return Contact(first, call_link(first)) if first else None


def _text(written: str) -> Contact | None:
    """A text's number; None for one of another service, such as WhatsApp."""
    found = word_and_number(written)
    return Contact(written, text_link(found[1], found[0])) if found else None
