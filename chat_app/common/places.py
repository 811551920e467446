"""The rules of places for a chat with an AI: `places.toml`, and what holds where several of them apply.

It is no legal advice. A rule says in our words what a law asks, names the law and the day its text was read, and has an
effect here: a disclosure, a wording, a question about age, a published protocol, a count, fields of the notice. Of each
kind the strictest holds.
"""

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from heard.chat_app.common.settings import Settings
from heard.errors import UserError
from heard.hints import nearest_name
from heard.toml_values import TomlFault, read_values
from heard.validation import faults_of

BUILT_IN = Path(__file__).with_name("places.toml")
ADULT = 18
"""Years. No rule of a place can lower it: the chat is for adults."""
NO_ADVICE = "This is no legal advice: whether a law applies to you is for somebody who knows your case."
DISCLOSURE = "You are writing with an AI, a computer program. It is not a human being and has no feelings."

NoticeField = Literal["operator_name", "contact", "purpose", "legal_basis", "retention_days", "complaint_authority"]
_CODE = re.compile(r"[A-Z]{2}[A-Z0-9-]{0,10}")
_Text = Annotated[str, Field(min_length=1, max_length=600)]


class PlacesError(UserError):
    """A file of places, or the setting, that cannot be used; `str()` names the fault and the next step."""


class _Law(BaseModel):
    """What every rule says of the law that it comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    law: _Text
    """Its name, with the section."""
    address: Annotated[str, Field(pattern=r"^https?://\S+$", examples=["https://example.org/law"])]
    """Where it, or what is said of it, was read."""
    read: datetime.date | None = None
    """The day on which its own text was read."""
    unread: bool = False
    """Whether only what others say of it was read."""
    since: datetime.date
    """The day from which it applies."""
    says: _Text
    """What it asks, in our words."""

    @model_validator(mode="after")
    def _read_or_not(self) -> "_Law":
        if (self.read is None) is not self.unread:
            raise ValueError("needs either read, the day on which the law's text was read, or unread = true")
        return self


class Disclosure(_Law):
    """People are told that it is an AI."""

    at_start: bool = False
    """At the start of each chat."""
    every_hours: Annotated[float, Field(gt=0, le=24)] | None = None
    """Again in a talk, counted from the last time."""
    again_after_days: Annotated[int, Field(ge=1, le=365)] | None = None
    """Again in a talk that was left for so long."""


class Wording(_Law):
    """Something has to be said, or may not be."""

    notice: str = Field(default="", max_length=600)
    """A sentence of the notice."""
    persona: str = Field(default="", max_length=200)
    """A sentence under each persona, on the page of an empty chat. No prompt holds it."""
    forbidden: tuple[Annotated[str, Field(min_length=3, max_length=60)], ...] = ()
    """Words that `persona_word` and the personas' names may not have."""


class Age(_Law):
    """The chat asks for an age."""

    least: int = Field(ge=ADULT, le=25)
    """Years."""


class CrisisProtocol(_Law):
    """What is done in a crisis is written down for everybody."""

    published: bool
    """Whether the notice names the page `/safety`, which has it."""


class LogRule(_Law):
    """What is counted. No count holds a word or an id."""

    counts: tuple[Literal["hand_offs"], ...] = Field(min_length=1)


class NoticeRule(_Law):
    """Fields of the settings that the notice needs."""

    fields: tuple[NoticeField, ...] = Field(min_length=1)


Rule = Disclosure | Wording | Age | CrisisProtocol | LogRule | NoticeRule
KINDS: Mapping[str, type[Rule]] = {
    "disclosure": Disclosure,
    "wording": Wording,
    "age": Age,
    "crisis_protocol": CrisisProtocol,
    "log": LogRule,
    "notice": NoticeRule,
}
"""Kinds of rule by the name that `kind` has in a file."""


def kind_of(rule: Rule) -> str:
    """Return the name that the kind of a rule has in a file."""
    return next(name for name, kind in KINDS.items() if isinstance(rule, kind))


class _PlaceTable(BaseModel):
    """A place as the file has it, its rules not yet looked into."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: _Text
    rules: tuple[dict[str, Any], ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Place:
    """A place and its rules."""

    name: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Because:
    """One rule that applies."""

    code: str
    place: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class InForce:
    """What holds on this site: of each kind of rule the strictest."""

    because: tuple[Because, ...] = ()
    """The rules that apply, by place in the order of the setting."""
    at_start: bool = True
    """Whether it is said at the start of a chat that this is an AI. Always, where nothing else is asked: then on the
    page of an empty chat alone, see `in_talk`."""
    in_talk: bool = False
    """Whether a note in the talk says so too."""
    every: datetime.timedelta | None = None
    """The note comes again after so long, counted from the last one."""
    least_age: int = ADULT
    """Years."""
    notice: tuple[str, ...] = ()
    """Sentences that the notice carries."""
    persona: tuple[str, ...] = ()
    """Sentences under a persona."""
    forbidden: tuple[str, ...] = ()
    published: bool = False
    counts: frozenset[str] = frozenset()
    fields: tuple[str, ...] = ()
    """Settings that the notice needs."""

    def forbidden_in(self, text: str) -> str | None:
        """Return the first forbidden word that a text has, or None."""
        plain = text.casefold()
        return next((word for word in self.forbidden if word.casefold() in plain), None)


def read_places(path: Path) -> dict[str, Place]:
    """Return the places of a file by code. Raises PlacesError with every fault."""
    try:
        values = read_values(path)
    except TomlFault as error:
        raise PlacesError(str(error)) from None
    faults: list[str] = []
    places = {code: _place(code, table, faults) for code, table in values.items()}
    if faults:
        raise PlacesError("\n".join(f"{path}: {fault}" for fault in faults))
    return {code: place for code, place in places.items() if place is not None}


def _place(code: str, table: Any, faults: list[str]) -> Place | None:
    """Return a place; None, with its faults added, if it has any."""
    before = len(faults)
    if not _CODE.fullmatch(code):
        faults.append(f'"{code}" is no code of a place: capitals, digits and "-", such as US-CA.')
    try:
        shell = _PlaceTable.model_validate(table)
    except ValidationError as error:
        faults += [f"{code}: {fault.sentence}" for fault in faults_of(error, _PlaceTable.model_json_schema())]
        return None
    rules = [_rule(f"{code}, rule {number}", dict(values), faults) for number, values in enumerate(shell.rules, 1)]
    return Place(shell.name, tuple(rule for rule in rules if rule)) if len(faults) == before else None


def _rule(where: str, values: dict[str, Any], faults: list[str]) -> Rule | None:
    named = str(values.pop("kind", ""))
    kind = KINDS.get(named)
    if kind is None:
        faults.append(f'{where}: kind is "{named}". {nearest_name(named, KINDS)}')
        return None
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        faults += [f"{where}: {fault.sentence}" for fault in faults_of(error, kind.model_json_schema())]
        return None


def known_places(file: Path) -> dict[str, Place]:
    """Return the places that come with heard, with those of the operator's `file`, if there is one, in their stead."""
    return read_places(BUILT_IN) | (read_places(file) if file.is_file() else {})


@lru_cache(maxsize=8)
def in_force(settings: Settings) -> InForce:
    """Return what holds for the setting `places`. Read once: an edited file counts from the next start.

    Raises PlacesError for a place that is not known, a faulty file, or a persona word that a rule forbids.
    """
    known = known_places(settings.places_file)
    for code in settings.places:
        if code not in known:
            raise PlacesError(f'places: no rules for "{code}". {nearest_name(code, known)}')
    rules = strictest([Because(code, known[code].name, rule) for code in settings.places for rule in known[code].rules])
    if word := rules.forbidden_in(settings.persona_word):
        raise PlacesError(forbidden_sentence(rules, word, "persona_word"))
    return rules


def strictest(because: Iterable[Because]) -> InForce:
    """Return what holds where all these rules apply."""
    because = tuple(because)
    rules = [one.rule for one in because]
    told = [rule for rule in rules if isinstance(rule, Disclosure)]
    said = [rule for rule in rules if isinstance(rule, Wording)]
    pauses = [
        *(datetime.timedelta(hours=rule.every_hours) for rule in told if rule.every_hours),
        *(datetime.timedelta(days=rule.again_after_days) for rule in told if rule.again_after_days),
    ]
    return InForce(
        because=because,
        in_talk=any(rule.at_start for rule in told) or bool(pauses),
        every=min(pauses, default=None),
        least_age=max([ADULT, *(rule.least for rule in rules if isinstance(rule, Age))]),
        notice=_distinct(rule.notice for rule in said),
        persona=_distinct(rule.persona for rule in said),
        forbidden=_distinct(word for rule in said for word in rule.forbidden),
        published=any(rule.published for rule in rules if isinstance(rule, CrisisProtocol)),
        counts=frozenset(name for rule in rules if isinstance(rule, LogRule) for name in rule.counts),
        fields=_distinct(name for rule in rules if isinstance(rule, NoticeRule) for name in rule.fields),
    )


def forbidden_sentence(rules: InForce, word: str, where: str) -> str:
    """Return why a word may not stand at `where`, with the law."""
    source = next(one for one in rules.because if isinstance(one.rule, Wording) and word in one.rule.forbidden)
    return (
        f'{where} says "{word}", which the rules of {source.place} forbid ({source.rule.law}). Use another word, or '
        f"take {source.code} out of places."
    )


def check_names(rules: InForce, names: Mapping[str, str]) -> None:
    """Raise PlacesError if a persona's name, by id, has a forbidden word."""
    for persona, name in names.items():
        if word := rules.forbidden_in(name):
            raise PlacesError(forbidden_sentence(rules, word, f"The name of the persona {persona}"))


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))
