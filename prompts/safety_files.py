"""The reviewed text behind the crisis check: lexicons, hotlines and the hand-off message, as YAML in `prompts/safety/`.

Nothing here decides anything: the files become frozen records, and a fault in one is told with file, line and the
nearest right name. `chat_app/safety/crisis_check.py` is what uses them.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, Strict, with_config

from heard.prompts.fields import ImpliedName, NonEmpty, exactly_once, only_variables, validated
from heard.prompts.files import PromptFileError, read_record

FOLDER = Path(__file__).parent / "safety"
Category = Literal["ideation", "passive", "plan", "attempt", "self_harm", "third_person", "method_question"]
CATEGORIES = get_args(Category)
"""Every category a verdict may carry."""

Day = Annotated[datetime.date, Strict()]
Patterns = tuple[NonEmpty, ...]


def country_code(key: Any) -> str:
    """Return a key that is an ISO 3166-1 alpha-2 code. Raises ValueError."""
    fits = isinstance(key, str) and len(key) == 2 and key.isupper()
    return validated(str(key), [] if fits else ['is not a two-letter country code in capitals (quote "NO")'])


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """One language's patterns. The pattern language is described in `chat_app/safety/patterns.py`."""

    language: NonEmpty
    """ISO 639-1 code."""
    macros: Mapping[str, NonEmpty] = field(default_factory=dict)
    rewrites: Mapping[str, NonEmpty] = field(default_factory=dict)
    """Word -> words it stands for, applied before matching."""
    keys: Patterns = ()
    """Telling words whose misspellings and disguises are undone."""
    real_words: Patterns = ()
    """Words one letter from a key that are no misspelling of it."""
    light: Patterns = ()
    """Words that may precede a match without changing it, when an exception begins right after them."""
    crisis: Annotated[Mapping[Category, Patterns], Field(min_length=1)]
    """Category -> patterns, each of them a crisis by itself."""
    safe: Mapping[str, Patterns] = field(default_factory=dict)
    """Reason -> patterns that take out a crisis pattern lying wholly inside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One service that answers people in a crisis."""

    name: NonEmpty
    call: str = ""
    """Number to call; empty when there is none."""
    text: str = ""
    """How to write to it (number, word); empty when there is none."""
    hours: str = ""
    url: str = ""
    source: NonEmpty
    """The public page on which call and text were found."""
    checked: Day


def within_reach(line: Line) -> Line:
    """Return a line that can be called or written to. Raises ValueError."""
    reached = line.call or line.text or line.url
    return validated(line, [] if reached else ["has no call, text or url, so nobody could reach it"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Country:
    """The lines of one country."""

    code: ImpliedName = ""
    """ISO 3166-1 alpha-2."""
    name: NonEmpty
    emergency: NonEmpty
    emergency_source: NonEmpty
    checked: Day
    """When the emergency number was checked."""
    lines: tuple[Annotated[Line, AfterValidator(within_reach)], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """A list of helplines for the countries that are not here."""

    name: NonEmpty
    url: NonEmpty
    source: NonEmpty
    checked: Day


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class _HotlinesFile:
    countries: Annotated[Mapping[Annotated[str, BeforeValidator(country_code)], Country], Field(min_length=1)]
    directories: Annotated[tuple[Directory, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Hotlines:
    """All of `hotlines.yaml`."""

    countries: tuple[Country, ...]
    """By name."""
    directories: tuple[Directory, ...]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffText:
    """What the hand-off says in one language; every field is plain Markdown without numbers in it."""

    language: ImpliedName = ""
    heading: NonEmpty
    body: Annotated[Patterns, Field(min_length=1)]
    """Paragraphs before the numbers."""
    emergency: Annotated[NonEmpty, only_variables("number"), exactly_once("number")]
    everywhere: NonEmpty
    """Line over the list when no country was chosen."""
    elsewhere: NonEmpty
    """Line over the directories."""
    checked: Annotated[NonEmpty, only_variables("date"), exactly_once("date")]
    call: NonEmpty
    write: NonEmpty
    closing: NonEmpty


def load_lexicons(folder: Path = FOLDER) -> tuple[Lexicon, ...]:
    """Every `lexicon.*.yaml` in `folder`, by language. Raises PromptFileError."""
    paths = sorted(folder.glob("lexicon.*.yaml"))
    if not paths:
        raise PromptFileError(f"{folder} has no lexicon.*.yaml: the crisis check cannot work without one.")
    return tuple(read_record(path, Lexicon) for path in paths)


def load_hotlines(path: Path = FOLDER / "hotlines.yaml") -> Hotlines:
    """The numbers by country. Raises PromptFileError, also for a line with neither number nor address."""
    file = read_record(path, _HotlinesFile)
    countries = [replace(country, code=code) for code, country in file.countries.items()]
    return Hotlines(tuple(sorted(countries, key=lambda country: country.name)), file.directories)


def load_handoff(path: Path = FOLDER / "handoff.yaml") -> dict[str, HandoffText]:
    """Language -> hand-off text; English is always there. Raises PromptFileError."""
    texts = read_record(path, dict[str, HandoffText])
    if "en" not in texts:
        raise PromptFileError(f"{path}: there is no English text (en), which every other one falls back to.")
    return {language: replace(text, language=language) for language, text in texts.items()}
