"""The reviewed text behind the crisis check: lexicons, hotlines and the hand-off message, as YAML in `prompts/safety/`.

Nothing here decides anything: the files become frozen records, and a fault in one is told with file, place and the
nearest right name. `chat_app/safety/crisis_check.py` is what uses them.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from heard.errors import UserError
from heard.prompts.files import nearest

FOLDER = Path(__file__).parent / "safety"
CATEGORIES = ("ideation", "passive", "plan", "attempt", "self_harm", "third_person", "method_question")
"""Every category a verdict may carry."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SafetyFileError(UserError, ValueError):
    """A safety file that cannot be used; `str()` names the file, the fault and the next step."""


class _UniqueLoader(_Loader):  # type: ignore[misc]  # the base is picked at run time
    """YAML that refuses a key written twice: the later one would silently take the earlier one's patterns away."""


def _mapping(loader: Any, node: Any, deep: bool = False) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=deep)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f'"{key}" is written twice', key_node.start_mark)
        seen.add(key)
    return {loader.construct_object(k, deep=True): loader.construct_object(v, deep=True) for k, v in node.value}


_UniqueLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language's patterns. The pattern language is described in `chat_app/safety/patterns.py`."""

    language: str
    """ISO 639-1 code."""
    file: str
    macros: Mapping[str, str]
    rewrites: Mapping[str, str]
    """Word -> words it stands for, applied before matching."""
    keys: tuple[str, ...]
    """Telling words whose misspellings and disguises are undone."""
    real_words: tuple[str, ...]
    """Words one letter from a key that are no misspelling of it."""
    light: tuple[str, ...]
    """Words that may precede a match without changing it, when an exception begins right after them."""
    crisis: Mapping[str, tuple[str, ...]]
    """Category -> patterns, each of them a crisis by itself."""
    safe: Mapping[str, tuple[str, ...]]
    """Reason -> patterns that take out a crisis pattern lying wholly inside them."""


@dataclass(frozen=True, slots=True)
class Line:
    """One service that answers people in a crisis."""

    name: str
    call: str
    """Number to call; empty when there is none."""
    text: str
    """How to write to it (number, word); empty when there is none."""
    hours: str
    url: str
    source: str
    """The public page on which call and text were found."""
    checked: datetime.date


@dataclass(frozen=True, slots=True)
class Country:
    """The lines of one country."""

    code: str
    """ISO 3166-1 alpha-2."""
    name: str
    emergency: str
    emergency_source: str
    checked: datetime.date
    """When the emergency number was checked."""
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Directory:
    """A list of helplines for the countries that are not here."""

    name: str
    url: str
    source: str
    checked: datetime.date


@dataclass(frozen=True, slots=True)
class Hotlines:
    """All of `hotlines.yaml`."""

    countries: tuple[Country, ...]
    directories: tuple[Directory, ...]


@dataclass(frozen=True, slots=True)
class HandoffText:
    """What the hand-off says in one language; every field is plain Markdown without numbers in it."""

    language: str
    heading: str
    body: tuple[str, ...]
    """Paragraphs before the numbers."""
    emergency: str
    """Sentence with `{number}`."""
    everywhere: str
    """Line over the list when no country was chosen."""
    elsewhere: str
    """Line over the directories."""
    checked: str
    """Sentence with `{date}`."""
    call: str
    write: str
    closing: str


def load_lexicons(folder: Path = FOLDER) -> tuple[Lexicon, ...]:
    """Every `lexicon.*.yaml` in `folder`, by language. Raises SafetyFileError."""
    paths = sorted(folder.glob("lexicon.*.yaml"))
    if not paths:
        raise SafetyFileError(f"{folder} has no lexicon.*.yaml: the crisis check cannot work without one.")
    return tuple(_lexicon(path) for path in paths)


def load_hotlines(path: Path = FOLDER / "hotlines.yaml") -> Hotlines:
    """The numbers by country. Raises SafetyFileError, also for a line with neither number nor address."""
    data = _read(path)
    _keys(path, "the file", data, required=("countries", "directories"))
    countries: list[Country] = []
    for code, row in _section(path, data, "countries").items():
        where = f"countries.{code}"
        _keys(path, where, row, required=("name", "emergency", "emergency_source", "checked"), optional=("lines",))
        if not (isinstance(code, str) and len(code) == 2 and code.isupper()):
            raise SafetyFileError(f'{path.name}: "{code}" is not a two-letter country code in capitals (quote "NO").')
        lines = tuple(_line(path, f"{where}.lines[{n}]", line) for n, line in enumerate(row.get("lines") or ()))
        countries.append(
            Country(
                code=code,
                name=_text(path, where, row, "name"),
                emergency=_text(path, where, row, "emergency"),
                emergency_source=_text(path, where, row, "emergency_source"),
                checked=_date(path, where, row),
                lines=lines,
            )
        )
    directories: list[Directory] = []
    for number, row in enumerate(data["directories"] or ()):
        where = f"directories[{number}]"
        _keys(path, where, row, required=("name", "url", "source", "checked"))
        directories.append(
            Directory(
                name=_text(path, where, row, "name"),
                url=_text(path, where, row, "url"),
                source=_text(path, where, row, "source"),
                checked=_date(path, where, row),
            )
        )
    return Hotlines(tuple(sorted(countries, key=lambda c: c.name)), tuple(directories))


def load_handoff(path: Path = FOLDER / "handoff.yaml") -> dict[str, HandoffText]:
    """Language -> hand-off text; English is always there. Raises SafetyFileError."""
    fields = ("heading", "emergency", "everywhere", "elsewhere", "checked", "call", "write", "closing")
    data = _read(path)
    texts: dict[str, HandoffText] = {}
    for language, row in data.items():
        _keys(path, str(language), row, required=(*fields, "body"))
        body = tuple(_strings(path, f"{language}.body", row["body"]))
        texts[language] = HandoffText(language, body=body, **{f: _text(path, language, row, f) for f in fields})
    if "en" not in texts:
        raise SafetyFileError(f"{path.name}: there is no English text (en), which every other one falls back to.")
    return texts


def _lexicon(path: Path) -> Lexicon:
    data = _read(path)
    _keys(
        path, "the file", data, required=("language", "crisis"),
        optional=("macros", "rewrites", "keys", "real_words", "light", "safe"),
    )  # fmt: skip
    crisis = {key: _strings(path, f"crisis.{key}", rows) for key, rows in _section(path, data, "crisis").items()}
    for category in crisis:
        if category not in CATEGORIES:
            raise SafetyFileError(f'{path.name}: unknown category "{category}". {nearest(category, CATEGORIES)}')
    return Lexicon(
        language=_text(path, "the file", data, "language"),
        file=path.name,
        macros={k: _text(path, "macros", data["macros"], k) for k in _section(path, data, "macros")},
        rewrites={str(k): str(v) for k, v in _section(path, data, "rewrites").items()},
        keys=_strings(path, "keys", data.get("keys") or []),
        real_words=_strings(path, "real_words", data.get("real_words") or []),
        light=_strings(path, "light", data.get("light") or []),
        crisis=crisis,
        safe={k: _strings(path, f"safe.{k}", rows) for k, rows in _section(path, data, "safe").items()},
    )


def _line(path: Path, where: str, row: Any) -> Line:
    _keys(path, where, row, required=("name", "source", "checked"), optional=("call", "text", "hours", "url"))
    line = Line(
        name=_text(path, where, row, "name"),
        source=_text(path, where, row, "source"),
        checked=_date(path, where, row),
        **{field: str(row.get(field) or "") for field in ("call", "text", "hours", "url")},
    )
    if not (line.call or line.text or line.url):
        raise SafetyFileError(f"{path.name}: {where} has no call, text or url, so nobody could reach it.")
    return line


def _read(path: Path) -> dict[str, Any]:
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueLoader)  # built on SafeLoader
    except OSError as error:
        raise SafetyFileError(f"{path} cannot be read: {error.strerror}. Put the file back.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SafetyFileError(f"{path.name} is not valid YAML: {error}. Mend that line.") from error
    if not isinstance(data, dict):
        raise SafetyFileError(f"{path.name} must be a mapping of names to values.")
    return data


def _section(path: Path, data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = data.get(name) or {}
    if not isinstance(section, dict):
        raise SafetyFileError(f"{path.name}: {name} must be a mapping of names to values.")
    return section


def _keys(path: Path, where: str, row: Any, *, required: Iterable[str], optional: Iterable[str] = ()) -> None:
    if not isinstance(row, dict):
        raise SafetyFileError(f"{path.name}: {where} must be a mapping of names to values.")
    known = {*required, *optional}
    for key in row:
        if key not in known:
            raise SafetyFileError(f'{path.name}: {where} has an unknown key "{key}". {nearest(str(key), known)}')
    for key in required:
        if row.get(key) in (None, "", [], {}):
            raise SafetyFileError(f"{path.name}: {where} needs {key}.")


def _text(path: Path, where: str, row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise SafetyFileError(f"{path.name}: {where}: {key} must be text (got {value!r}); put it in quotes.")
    return str(value)


def _strings(path: Path, where: str, rows: Any) -> tuple[str, ...]:
    if not isinstance(rows, list) or any(not isinstance(row, str) or not row.strip() for row in rows):
        raise SafetyFileError(f"{path.name}: {where} must be a list of texts; put words like no, yes, on in quotes.")
    return tuple(rows)


def _date(path: Path, where: str, row: Mapping[str, Any]) -> datetime.date:
    value = row["checked"]
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        raise SafetyFileError(f"{path.name}: {where}: checked must be a date such as 2026-11-28 (got {value!r}).")
    return value
