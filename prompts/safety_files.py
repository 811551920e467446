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

from heard.hints import nearest_name
from heard.prompts.fields import ImpliedName, NonEmpty, exactly_once, only_variables, validated
from heard.prompts.files import PromptFileError, read_record
from heard.prompts.hours import Hours, HoursWords
from heard.prompts.phone_numbers import Numbers

FOLDER = Path(__file__).parent / "safety"
Category = Literal["ideation", "passive", "plan", "attempt", "self_harm", "third_person", "method_question"]
CATEGORIES = get_args(Category)
"""Every category of suicide and self-harm that a verdict may carry."""
GENERAL = "suicide"
"""What the general hand-off and a line without `for` are about."""
DangerName = Literal[
    "domestic_violence", "sexual_assault", "child_abuse", "minor", "poisoning", "threat", "psychosis", "eating_disorder"
]
DANGERS: tuple[str, ...] = (GENERAL, *get_args(DangerName))
"""Every danger; `chat_app/safety/verdict.py` says what each is."""
GroupName = Literal[Category, DangerName]
"""What the patterns of a lexicon are grouped by."""

Day = Annotated[datetime.date, Strict()]
Patterns = tuple[NonEmpty, ...]


def _known_dangers(names: tuple[str, ...]) -> tuple[str, ...]:
    wrong = [
        f'has "{name}", which is no danger. {nearest_name(name, DANGERS)}' for name in names if name not in DANGERS
    ]
    return validated(names, wrong)


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
    marked: Mapping[str, NonEmpty] = field(default_factory=dict)
    """Words with accents or tone marks -> words they stand for, applied while the marks are still there."""
    keys: Patterns = ()
    """Telling words whose misspellings and disguises are undone."""
    real_words: Patterns = ()
    """Words one letter from a key that are no misspelling of it."""
    light: Patterns = ()
    """Words that may precede a match without changing it, when an exception begins right after them."""
    writer: Patterns = ()
    """Words of writers about themselves, over which no gap of an exception goes, in any language ("a film ... I")."""
    crisis: Annotated[Mapping[GroupName, Patterns], Field(min_length=1)]
    """Category of suicide or self-harm, or another danger -> patterns, each of them a crisis by itself."""
    safe: Mapping[str, Patterns] = field(default_factory=dict)
    """Reason -> patterns that take out a crisis pattern lying wholly inside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One service that answers people in a crisis."""

    name: NonEmpty
    call: Numbers = ""
    """Number to call, or "A or B"; empty when there is none."""
    text: str = ""
    """How to write to it (number, word); empty when there is none."""
    hours: Hours = ""
    url: str = ""
    dangers: Annotated[Patterns, Field(alias="for", min_length=1), AfterValidator(_known_dangers)] = (GENERAL,)
    """What the line is there for."""
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
    emergency: Numbers
    emergency_source: NonEmpty
    police: Numbers = ""
    """Where `emergency` is the ambulance's; for dangers that come from somebody."""
    police_source: str = ""
    checked: Day
    """When the emergency numbers were checked."""
    lines: tuple[Annotated[Line, AfterValidator(within_reach)], ...] = ()


def _with_source(country: Country) -> Country:
    sourced = not country.police or country.police_source
    return validated(country, [] if sourced else ["has a police number without police_source"])


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
    countries: Annotated[
        Mapping[Annotated[str, BeforeValidator(country_code)], Annotated[Country, AfterValidator(_with_source)]],
        Field(min_length=1),
    ]
    directories: Annotated[tuple[Directory, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Hotlines:
    """All of `hotlines.yaml`."""

    countries: tuple[Country, ...]
    """By name."""
    directories: tuple[Directory, ...]


NumberText = Annotated[NonEmpty, only_variables("number"), exactly_once("number")]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffText:
    """What the hand-off says in one language, as plain text. The head of `handoff.yaml` says what each field is."""

    language: ImpliedName = ""
    """ISO 639-1, or zh-Hant."""
    reviewed: bool
    """Whether a native speaker has read it; machine-written until then."""
    direction: Literal["ltr", "rtl"] = "ltr"
    heading: NonEmpty
    body: Annotated[Patterns, Field(min_length=1, max_length=3)]
    closing: NonEmpty
    ended: NonEmpty
    call: NumberText
    write: NumberText
    write_word: Annotated[NonEmpty, only_variables("number", "word"), exactly_once("number", "word")]
    emergency: NumberText
    common: NonEmpty
    country: NonEmpty
    guess: Annotated[NonEmpty, only_variables("country"), exactly_once("country")]
    show: NonEmpty
    all: NonEmpty
    elsewhere: NonEmpty
    checked: Annotated[NonEmpty, only_variables("date"), exactly_once("date")]
    leave: NonEmpty
    hours: HoursWords


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class DangerWords:
    """What the hand-off of one danger says in one language, in place of the general words."""

    reviewed: bool
    heading: NonEmpty
    body: Annotated[Patterns, Field(min_length=1, max_length=4)]
    closing: str = ""
    """"" for the language's own closing."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class DangerText:
    """The hand-off of one danger."""

    emergency_first: Annotated[bool, Strict()] = False
    """Whether the emergency number stands before the lines."""
    police: Annotated[bool, Strict()] = False
    """Whether it is the police's, where a country has two."""
    leave: Annotated[bool, Strict()] = False
    """Whether it has the button that leaves the page fast."""
    ends: Annotated[bool, Strict()] = False
    """Whether the conversation ends with it."""
    texts: Annotated[Mapping[str, DangerWords], Field(min_length=1)]
    """By language; English is always there."""


def load_lexicons(folder: Path = FOLDER) -> tuple[Lexicon, ...]:
    """Every `lexicon.*.yaml` in `folder`, by language. Raises PromptFileError."""
    paths = sorted(folder.glob("lexicon.*.yaml"))
    if not paths:
        raise PromptFileError(f"{folder} has no lexicon.*.yaml: the crisis check cannot work without one.")
    return tuple(read_record(path, Lexicon) for path in paths)


def load_lexicon(language: str, folder: Path = FOLDER) -> Lexicon:
    """The lexicon of one language. Raises PromptFileError."""
    return read_record(folder / f"lexicon.{language}.yaml", Lexicon)


def load_danger_lexicon(folder: Path = FOLDER) -> Lexicon:
    """The English patterns of the dangers beside suicide, with the rewrites of English. Raises PromptFileError."""
    lexicon = read_record(folder / "dangers.lexicon.en.yaml", Lexicon)
    return replace(lexicon, rewrites={**load_lexicon(lexicon.language, folder).rewrites, **lexicon.rewrites})


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


def load_dangers(path: Path = FOLDER / "dangers.yaml") -> dict[str, DangerText]:
    """Danger -> its hand-off, for every danger but the general one. Raises PromptFileError."""
    dangers = read_record(path, dict[DangerName, DangerText])
    faults = [f"{path}: {name} is missing." for name in get_args(DangerName) if name not in dangers]
    faults += [f"{path}: {name} has no English text (en)." for name, text in dangers.items() if "en" not in text.texts]
    if faults:
        raise PromptFileError(*faults)
    return {str(name): text for name, text in dangers.items()}
