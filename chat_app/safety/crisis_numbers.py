"""The numbers of `prompts/safety/hotlines.yaml` as the program asks for them: by country, by danger, by their age."""

import datetime
from collections import Counter
from dataclasses import dataclass
from functools import cache

from heard.prompts.phone_numbers import numbers_in
from heard.prompts.safety_files import FOLDER, GENERAL, Country, Hotlines, Line, load_hotlines

STALE_AFTER_DAYS = 365
"""Age in days after which a number is due to be checked again."""
COMMON_NUMBERS = 3
"""Emergency numbers that are shown while nobody knows the country: those that most countries of the file have."""


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """One entry of the file with a date of its own."""

    what: str
    """Country and line, or the directory."""
    checked: datetime.date

    def age(self, today: datetime.date) -> int:
        """Return its age in days."""
        return (today - self.checked).days


@cache
def hotlines() -> Hotlines:
    """Return all of the file. Raises PromptFileError."""
    return load_hotlines()


@cache
def _by_code() -> dict[str, Country]:
    return {country.code: country for country in hotlines().countries}


def countries() -> list[tuple[str, str]]:
    """Return (ISO 3166-1 alpha-2 code, English name) of every country with numbers, by name."""
    return [(code, country.name) for code, country in _by_code().items()]


def country_with(code: str | None) -> Country | None:
    """Return the country of a code, in any case; None for no code and for an unknown one."""
    return _by_code().get((code or "").strip().upper())


def lines_for(country: Country, danger: str) -> list[Line]:
    """Return a country's lines for a danger, in the file's order; where it has none, those of the general hand-off."""
    own = [line for line in country.lines if danger in line.dangers]
    return own or [line for line in country.lines if GENERAL in line.dangers]


@cache
def common_emergency_numbers() -> tuple[str, ...]:
    """Return the emergency numbers that most countries of the file have."""
    counted = Counter(number for country in hotlines().countries for number in numbers_in(country.emergency))
    return tuple(number for number, _ in counted.most_common(COMMON_NUMBERS))


def entries(code: str | None = None) -> list[CheckedEntry]:
    """Return every entry of a country, or of the whole file, in the file's order by country."""
    found: list[CheckedEntry] = []
    for country in hotlines().countries:
        if code in (None, country.code):
            found.append(CheckedEntry(f"{country.name}: emergency number {country.emergency}", country.checked))
            found += [CheckedEntry(f"{country.name}: {line.name}", line.checked) for line in country.lines]
    if code is None:
        found += [CheckedEntry(directory.name, directory.checked) for directory in hotlines().directories]
    return found


def stale_hotlines(today: datetime.date) -> list[str]:
    """Return a sentence for each entry last checked more than `STALE_AFTER_DAYS` days before `today`."""
    return [
        f"{entry.what} was last checked on {entry.checked.isoformat()}: check it again and set the new date in "
        f"{FOLDER.name}/hotlines.yaml."
        for entry in entries()
        if entry.age(today) > STALE_AFTER_DAYS
    ]
