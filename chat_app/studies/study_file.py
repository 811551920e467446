"""The study file (TOML): what is compared, who may take part, and what they are asked and shown.

An unknown key or name is refused with the nearest right one: a study that runs under the wrong condition is lost.
"""

import hashlib
import json
import secrets
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from heard.chat_app.questions.question_file import QuestionFile, question_values, read_question_file
from heard.chat_app.questions.question_set import check_questions
from heard.db.study_records import LETTERS, StudyKind, StudyRecord
from heard.errors import UserError
from heard.hints import nearest_name
from heard.scorer.csv_rows import read_file
from heard.scorer.errors import ScorerError
from heard.scorer.text_encoding import decode
from heard.sentences import sentence
from heard.validation import faults_of

NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$"
COPIES = ("--preview", "--pilot")
"""Endings of the ids of copies, which no file may name."""
STUDY_ID = r"^[a-z0-9][a-z0-9_-]{0,62}(--preview|--pilot)?$"
PARAMETER = r"^[A-Za-z][A-Za-z0-9._-]{0,63}$"
MOST_ANSWERS = len(LETTERS)
"""Most answers on one ballot."""
ACTIVE_MINUTES = 120
"""In a survey, how long somebody who has not finished counts in quotas and balance."""
TITLE = sentence("A study of empathetic replies")
OPEN_QUESTION = sentence(
    "What made certain responses seem more empathetic than others, and what informed your decisions overall?"
)
"""The study's own open question, in our words."""


class StudyFileError(UserError):
    """A study's file that cannot be used; `str()` names the file, the fault and the next step."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Arm(_Section):
    """One source that heard writes: a persona, a strategy and a model."""

    name: str = Field(pattern=NAME, examples=["autumn-1"])
    """What results and exports call it; never shown before the vote."""
    persona: str
    """A persona: the name of its file in prompts/personas without the ending."""
    strategy: str = "plain"
    """A strategy: the name of its file in prompts/strategies without the ending."""
    model: str
    """A model's name, as `heard models list` shows it."""
    policy: str = ""
    """A rewrite policy: the name of its file in prompts/policies without the ending. Empty: as `auto_improve` says."""
    examples: bool = True
    """Whether the persona's examples go before the message, if it has any."""


class Condition(_Section):
    """One group of participants."""

    name: str = Field(pattern=NAME, examples=["autumn-1"])
    """What results and exports call it; never shown."""
    quota: int | None = Field(default=None, ge=1)
    """Most people in it; unset is no limit."""
    sources: tuple[str, ...] = ()
    """The sources that its people judge; empty means all. At least two."""


class StudyFile(_Section):
    """Everything that a study sets. The line under a field is its meaning and unit."""

    id: str = Field(pattern=STUDY_ID, examples=["autumn-1"])
    """Name in links, commands and exports."""
    kind: StudyKind
    """"survey" (fixed items) or "live" (people's own conversations)."""
    title: str = Field(default=str(TITLE), min_length=1, max_length=200)
    """At the head of every page of it."""
    language: str = Field(default="en", pattern=LANGUAGE, examples=["de"])
    """Of the study's texts and of the survey's own words: en, es, de, fr, el, or another whose words come with it."""
    texts: str = Field(default="texts", min_length=1, max_length=500)
    """The folder beside the study's file that holds information.md, consent.md, debrief.md and words.po; all of them
    may be missing."""
    purpose: str = Field(default="", max_length=2000)
    """What the study is for, in a sentence; told before people agree."""
    contact: str = Field(default="", max_length=500)
    """Whom people may ask about the study: a name and an address; told on every page of it."""
    ethics_approval: str = Field(default="", max_length=500)
    """Who has approved the study, with the number of the approval; told before people agree."""
    introduction: str = Field(default="", max_length=10_000)
    """Markdown, shown before the first ballot."""
    arms: tuple[Arm, ...] = ()
    """For a live study two to five; for a survey the sources whose answers `heard study generate` writes."""
    sources: tuple[str, ...] = ()
    """For a survey: the sources whose answers come with the items' file, such as "human"."""
    items_per_person: int = Field(default=10, ge=1, le=1000)
    """How many items a person judges, beside those for attention; in a live study, how many messages; 1 to 1000."""
    conditions: tuple[Condition, ...] = ()
    """Groups of participants; empty means that all are one group."""
    quota: int | None = Field(default=None, ge=1)
    """Most people in the whole study; unset is no limit."""
    allow: tuple[str, ...] = ()
    """External ids that may take part; empty means everybody, walk-ins too."""
    require_id: bool = False
    """Whether people without an id in their link are refused."""
    id_parameters: tuple[Annotated[str, Field(pattern=PARAMETER)], ...] = ()
    """Parameters of a link that hold a person's id, in place of the usual ones; case, hyphens and underscores do not
    count."""
    ids_ignore_case: bool = False
    """Whether the ids P1 and p1 are one person; they are then stored in lower case."""
    reveal: bool = False
    """Whether people see who wrote what, after their last ballot; in a live study after `items_per_person` messages."""
    ask_reason: bool = True
    """Whether each ballot asks why."""
    questions: tuple[QuestionFile, ...] = ()
    """Files of questions in their order, asked before, between and after the ballots: those beside this file, or those
    that come with heard."""
    open_question: str = Field(default=str(OPEN_QUESTION), max_length=2000)
    """At the end of a survey; empty asks none."""
    completion_code: str = Field(default="", max_length=200)
    """Shown on the last page, for a panel such as Prolific; empty shows none."""
    completion_url: str = Field(default="", max_length=2000, pattern=r"^(https://.*)?$", examples=["https://a.org"])
    """Where the last page leads back to, such as Prolific's address; {code}, or an empty `cc=`, is filled with the
    code."""
    screen_out_code: str = Field(default="", max_length=200)
    """The same code for people whom the study does not need: it is full, paused or over, or they were screened out."""
    screen_out_url: str = Field(default="", max_length=2000, pattern=r"^(https://.*)?$", examples=["https://a.org"])
    """Where they are led back to."""
    screen_out_after: int | None = Field(default=None, ge=1, le=1000)
    """Attention items failed after which a person is screened out; unset never does."""
    decline_code: str = Field(default="", max_length=200)
    """The same code for people who decline the questions on the first page, or research."""
    decline_url: str = Field(default="", max_length=2000, pattern=r"^(https://.*)?$", examples=["https://a.org"])
    """Where they are led back to."""
    active_minutes: int | None = Field(default=None, ge=1, le=1_000_000)
    """Minutes from a person's start or newest vote for which they count in quotas and balance, as those do who have
    finished; unset: 120 in a survey, and always in a live study."""
    trained_raters: bool = False
    """Whether everybody who takes part is trained to read of crises; only then may a message of one be admitted."""
    auto_improve: Literal["off", "on", "trial"] = "off"
    """Whether low replies are written again: never, always, or by chance for each reply (stored as its assignment)."""
    guard: bool = True
    """Whether the guard reads what the models write, and has what it catches written again; stored with each answer."""
    seed: str = Field(default="", max_length=200)
    """Of the order of answers; unset is a random one, kept with the study."""

    @model_validator(mode="after")
    def _check_consistency(self) -> "StudyFile":
        names = self.all_sources
        if len(set(names)) != len(names):
            raise ValueError("two sources have the same name")
        if self.kind is StudyKind.LIVE and not 2 <= len(self.arms) <= MOST_ANSWERS:
            raise ValueError(f"a live study has two to {MOST_ANSWERS} arms")
        if self.kind is StudyKind.LIVE and self.trained_raters:
            raise ValueError("trained_raters is of a survey: a crisis in a live study is always handed off")
        if self.kind is StudyKind.LIVE and self.sources:
            raise ValueError("a live study has arms and no other sources")
        if len({condition.name for condition in self.conditions}) != len(self.conditions):
            raise ValueError("two conditions have the same name")
        for condition in self.conditions:
            for source in condition.sources:
                if names and source not in names:
                    raise ValueError(f'condition {condition.name}: no source "{source}". {nearest_name(source, names)}')
            if len(condition.sources) == 1:
                raise ValueError(f"condition {condition.name} has one source, and a ballot needs two")
        check_questions(self.questions, live=self.kind is StudyKind.LIVE, ballots=self.items_per_person)
        return self

    def admits(self, external_id: str) -> bool:
        """Return whether an id, as `survey_links.external_id` returns it, may take part by `allow`."""
        allow = map(str.lower, self.allow) if self.ids_ignore_case else self.allow
        return not self.allow or external_id in allow

    @property
    def all_sources(self) -> tuple[str, ...]:
        """Every source that the file names: those that come with the items, then the arms."""
        return (*self.sources, *(arm.name for arm in self.arms))

    def active_since(self, now: datetime) -> datetime | None:
        """Return since when somebody who has not finished must have begun or judged something to count in quotas and
        balance; None if everybody counts who has ever begun."""
        usual = ACTIVE_MINUTES if self.kind is StudyKind.SURVEY else None
        minutes = self.active_minutes or usual
        return now - timedelta(minutes=minutes) if minutes else None

    def condition(self, name: str | None) -> Condition | None:
        """Return the condition called `name`, or None."""
        return next((condition for condition in self.conditions if condition.name == name), None)


_LATER_KEYS: dict[str, Any] = {
    "require_id": False, "id_parameters": [], "ids_ignore_case": False, "language": "en", "texts": "texts",
    "purpose": "", "contact": "", "ethics_approval": "",
    "trained_raters": False, "questions": [], "screen_out_code": "", "screen_out_url": "", "screen_out_after": None,
    "decline_code": "", "decline_url": "", "active_minutes": None,
}  # fmt: skip
"""Keys that studies of before do not have, with what a study without them says."""


def read_study_file(path: Path) -> StudyFile:
    """Read and validate one file. Raises StudyFileError."""
    try:
        values = tomllib.loads(decode(str(path), read_file(path)).text.replace("\r\n", "\n"))
    except ScorerError as error:
        raise StudyFileError(str(error)) from None
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError, a number of thousands of digits, lists too deep
        raise StudyFileError(f"{path} is not valid TOML: {error}. Mend that line.") from None
    study = parse_study(values | _question_files(values, path), str(path))
    if study.id.endswith(COPIES):
        raise StudyFileError(f"{path}, id: {study.id} is the name of a copy for a preview or a pilot. Choose another.")
    return study


def _question_files(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the files that `questions` names, as values; nothing where it names none."""
    names = values.get("questions")
    if names is None:
        return {}
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise StudyFileError(f'{path}: questions must be a list of files, such as ["demographics.toml"].')
    try:
        files = [read_question_file(name, path.parent) for name in names]
    except UserError as error:
        raise StudyFileError(str(error)) from None
    return {"questions": [question_values(file) for file in files]}


def parse_study(values: Mapping[str, Any], where: str) -> StudyFile:
    """Return a study from the values of its file; `where` is named in errors. Raises StudyFileError."""
    try:
        return StudyFile.model_validate(dict(values))
    except ValidationError as error:
        raise StudyFileError(f"{where}: {faults_of(error, StudyFile.model_json_schema())[0].sentence}") from None


def study_of(record: StudyRecord) -> StudyFile:
    """Return the file of a stored study."""
    return parse_study(record.definition, f"study {record.id}")


def definition_of(study: StudyFile) -> tuple[dict[str, Any], str]:
    """Return the study as JSON values for the database, and the sha256 of their canonical JSON."""
    values = study.model_dump(mode="json")
    # Left out where they say nothing, so that studies from before them stay what they were.
    if values["guard"]:
        del values["guard"]
    values["questions"] = [question_values(file) for file in study.questions]
    for name, default in _LATER_KEYS.items():
        if values[name] == default:
            del values[name]
    for arm in values["arms"]:
        if arm["examples"]:
            del arm["examples"]
        if not arm["policy"]:
            del arm["policy"]
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return values, hashlib.sha256(text.encode("utf-8")).hexdigest()


def record_of(
    study: StudyFile, stored: StudyRecord | None, texts: tuple[str, Mapping[str, str]] | None = None
) -> StudyRecord:
    """Return the study's record; `stored` is its present one, if any. A study without a seed of its own gets a random
    one, and keeps that of `stored`. `texts` are a new version of its texts, and that version's name; None keeps the
    present one."""
    if not study.seed:
        study = study.model_copy(update={"seed": study_of(stored).seed if stored else secrets.token_hex(16)})
    definition, digest = definition_of(study)
    version, told = texts or (stored.texts_version if stored else None, None)
    begun = stored.created_at if stored else datetime.now(UTC)
    return StudyRecord(study.id, study.kind, definition, digest, begun, texts_version=version, texts=told)
