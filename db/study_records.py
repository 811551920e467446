"""Records of studies: study, items, answers, enrolments, ballots and votes.

Positions count from 1 (shown as A to E). Times are UTC and aware; seconds are floats; texts are as they were shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from heard.db.records import ScoreRecord

LETTERS = "ABCDE"
"""The letters of the positions 1 to 5 on the page."""
LEAST_FROM = 3
"""Number of votable answers from which on the least empathetic one is marked too."""
WIDTHS = ("phone", "tablet", "desktop")
"""Classes of a page's width; nothing finer about a browser is stored."""


def letter_of(position: int | None) -> str | None:
    """Return the letter of a position; None for None."""
    return None if position is None else LETTERS[position - 1]


def asks_least(votable: int) -> bool:
    """Return whether a ballot with this number of votable answers asks for the least empathetic one too."""
    return votable >= LEAST_FROM


class StudyKind(StrEnum):
    """Where people vote."""

    SURVEY = "survey"
    """On a fixed set of items."""
    LIVE = "live"
    """In their own conversation."""


class Phase(StrEnum):
    """What a study's rows are for."""

    STUDY = "study"
    PREVIEW = "preview"
    """A copy for whoever makes the study; its votes are in no result and no export."""
    PILOT = "pilot"
    """A copy for the people of a pilot; its votes are in results and exports of the copy alone."""


class AnswerStatus(StrEnum):
    """The outcome of an answer; only COMPLETE ones may be voted for."""

    PENDING = "pending"
    """Not generated yet. A live answer becomes INTERRUPTED if the process dies."""
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class Choice(StrEnum):
    """The kind of a vote."""

    RANKED = "ranked"
    """A most empathetic answer was marked, and from LEAST_FROM answers up a least empathetic one."""
    SAME = "same"
    """About the same."""
    NONE = "none"
    """None of these."""
    SKIPPED = "skipped"


class FlowReason(StrEnum):
    """What is counted of a study in numbers alone: visits that its link did not let in, and people who were erased."""

    DECLINED = "declined"
    """The notice was declined."""
    UNDER_AGE = "under_age"
    """The visitor said to be younger than the least age."""
    NO_RESEARCH = "no_research"
    """The visitor has agreed to the chat and not to research."""
    NO_ID = "no_id"
    """The study needs a link with an id, and this one had none."""
    NOT_LISTED = "not_listed"
    """The id is not on the study's list."""
    OTHER_LINK = "other_link"
    """The browser takes part under another id."""
    IN_USE = "in_use"
    """The id is in use in another browser, or has finished there."""
    ADDRESS_LIMIT = "address_limit"
    """Too many new people came from one address on that day."""
    FULL = "full"
    """The quota of the study, or of each condition, was reached."""
    ENDED = "ended"
    """The study had ended."""
    ERASED = "erased"
    """No visit: a person who took part has erased everything."""


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """One study. `definition` is its file as parsed; `reveal`, quotas and the like are read from there by the app."""

    id: str
    """Name in links and commands: lower-case letters, digits, "-" and "_"."""
    kind: StudyKind
    definition: dict[str, Any]
    definition_sha256: str
    created_at: datetime
    ended_at: datetime | None = None
    """When it was ended; None while it runs."""
    paused_at: datetime | None = None
    """Since when it is paused; None while it runs."""
    texts_version: str | None = None
    """Version of what new people are told; None if no texts are stored yet."""
    texts: Mapping[str, str] | None = None
    """The texts of that version by name, to store with the study; None leaves those that are stored. Not read back."""
    phase: Phase = Phase.STUDY
    copy_of: str | None = None
    """Of a copy for a preview or a pilot: the study's id."""

    @property
    def reveals(self) -> bool:
        """Whether the sources are revealed after a person's last ballot. False unless the definition says so."""
        return self.definition.get("reveal") is True

    @property
    def required_votes(self) -> int | None:
        """In a live study, how many messages a person judges; None in a survey, whose ballots are all drawn."""
        return int(self.definition.get("items_per_person", 10)) if self.kind is StudyKind.LIVE else None


@dataclass(frozen=True, slots=True)
class SavedStudy:
    """What storing a study did to the answers that were there."""

    archived: int = 0
    """Answers put into the archive, because their item or their source is named no more, or written otherwise."""
    restored: int = 0
    """Answers taken out of the archive."""


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer for a ballot, with all that may have to explain a vote for it."""

    id: str
    study_id: str
    item_id: str | None
    """The survey's item; None for an answer in a live conversation."""
    source: str
    """What is compared: a name from the study, such as a model's, "human", or an arm's. Never shown before the vote."""
    created_at: datetime
    text: str = ""
    """As shown."""
    status: AnswerStatus = AnswerStatus.PENDING
    error: str | None = None
    """The plain sentence of a failure."""
    human: bool = False
    persona: str | None = None
    strategy: str | None = None
    model: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    prompt_sha256: str | None = None
    first_token_seconds: float | None = None
    total_seconds: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    improve_assigned: bool | None = None
    """In a trial of improvement: whether this answer was assigned to the treatment. None without a trial."""
    improved: bool = False
    """Whether the text shown is a rewrite."""
    policy: str | None = None
    """File name of the rewrite policy; None for a human answer, and in rows from before there were policies."""
    cut: bool | None = None
    """Whether the text ended because it had reached the token limit; None for a human answer."""
    guard: str | None = None
    """What the guard did: "passed", "rewritten" (a draft was caught, and a later one is shown), "fixed" (a fixed text
    is shown) or "off"; None for a human answer, and in rows from before there was a guard."""
    guard_kinds: list[str] = field(default_factory=list)
    """Kinds of what was caught, one for each caught draft in order."""
    drafts: list[dict[str, Any]] = field(default_factory=list)
    """Every draft in order, the kept one included: the JSON of its DraftRecord."""
    characters: int = 0
    words: int = 0
    formatting: dict[str, Any] = field(default_factory=dict)
    """Counts of Markdown in the text: `paragraphs`, `headings`, `bullets`, `numbered`, `bold`, `links`, `emoji`."""
    leak: list[str] = field(default_factory=list)
    """Kinds of leaks found in the text (`chat_app/studies/leaks.py`); empty is none."""
    score: ScoreRecord | None = None


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One message of a survey with its two to five answers."""

    id: str
    study_id: str
    number: int
    """From 1, in the order of the file."""
    message: str
    attention: str | None = None
    """For an attention item: the source that an attentive person marks as most empathetic."""
    answers: tuple[AnswerRecord, ...] = ()
    admitted_by: str | None = None
    """Who admitted a message that reads like a crisis; None for all others."""
    admitted_at: datetime | None = None

    @property
    def comes_whole(self) -> bool:
        """Whether all its answers come with the file, and no arm writes one: of an attention item, and of a message
        that reads like a crisis, which no model sees."""
        return self.attention is not None or self.admitted_by is not None


@dataclass(frozen=True, slots=True)
class HeldItem:
    """One message that an import held back as a crisis."""

    item_id: str
    number: int
    """Its place among the messages that were held back, from 1."""
    place: str
    """Where it stands, such as "items.csv, line 7"."""
    reason: str
    """The danger that it speaks of, by the safety check."""
    held_at: datetime
    admitted_by: str | None = None
    admitted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class EnrolmentRecord:
    """One person in one study."""

    study_id: str
    participant_id: str
    external_id: str | None
    """`pid` of the link (Prolific's PROLIFIC_PID and the like); None for a walk-in."""
    condition: str | None
    seed: int
    """Seed of everything drawn for this person: items and their order."""
    started_at: datetime
    completed_at: datetime | None = None
    closing: str | None = None
    """Answer to the open question at the end."""
    released_at: datetime | None = None
    """When whoever runs the study allowed the link to go on in another browser; None if not, or once it has."""
    resumed_at: datetime | None = None
    """When the link was last taken up in another browser; None for never."""
    texts_version: str | None = None
    """Version of the study's texts that the person agreed to; None for people of before there were texts."""
    screened_out_at: datetime | None = None
    """When an answer to a question, or as many attention items failed as the study allows, sent the person away; None
    if nothing has. Quotas do not count them."""


@dataclass(frozen=True, slots=True)
class QuestionAnswerRecord:
    """One person's answer to one item of a question page."""

    item: str
    """File and item, such as "demographics.age"."""
    after_ballots: int
    """Ballots that were done when it was asked between ballots, 1 or more; 0 before the first and after the last."""
    value: str | None
    """As `chat_app/questions/answering.py` says; None if the item was shown and left empty."""
    answered_at: datetime


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """One place on a ballot. `answer_id` and `source` must not reach a page before the vote."""

    position: int
    answer_id: str
    source: str
    votable: bool
    reason: str | None = None
    """Why it may not be voted for, in plain words that name no source."""


@dataclass(frozen=True, slots=True)
class BallotRecord:
    """A ballot of one person: one message and its answers in an order of their own."""

    id: str
    study_id: str
    participant_id: str
    number: int
    """From 1, for this person in this study."""
    item_id: str | None
    conversation_id: str | None
    message_id: str | None
    order_seed: int
    order_row: int
    """Row of the balanced design that gave the order (`chat_app/studies/williams.py`)."""
    condition: str | None
    drawn_at: datetime
    slots: tuple[SlotRecord, ...]
    closed_reason: str | None = None
    """Why the ballot may not be voted on (a plain sentence), or None."""
    attention: str | None = None
    """As in its item."""

    @property
    def asks_least(self) -> bool:
        """Whether the least empathetic answer is marked too."""
        return asks_least(sum(slot.votable for slot in self.slots))


@dataclass(frozen=True, slots=True)
class VoteRecord:
    """One person's vote on one ballot. A changed vote is updated, and its earlier state kept."""

    ballot_id: str
    participant_id: str
    choice: Choice
    most: int | None
    """Position of the most empathetic answer; for RANKED only."""
    least: int | None
    """Position of the least empathetic answer; for RANKED on LEAST_FROM answers or more."""
    reason: str | None
    """Free text, as written."""
    seconds: float
    """From the moment that the ballot was complete on the page to the click."""
    width_class: str
    """One of WIDTHS."""
    request_id: str
    """Id of the click; the same one again changes nothing."""
    voted_at: datetime


@dataclass(frozen=True, slots=True)
class VoteReceipt:
    """The result of storing a vote."""

    ballot: BallotRecord
    vote: VoteRecord
    """The vote as it is stored now."""
    changes: int
    """How often it has been changed."""
    revealed: tuple[AnswerRecord, ...] | None
    """The answers with their sources, in order of position, if this vote informs the participant; else None."""


def is_informed(reveals: bool, finished: bool, vote: VoteRecord | None) -> bool:
    """Return whether a participant may know the sources of a ballot with this vote: in a study that `reveals` them,
    once the person has `finished` (`db.voting.has_finished`). The vote is final then.

    A skip does not count: whoever skipped has not judged it, and is told nothing of it.
    """
    return reveals and finished and vote is not None and vote.choice is not Choice.SKIPPED


@dataclass(frozen=True, slots=True)
class Progress:
    """A person's progress in a survey, in ballots."""

    voted: int
    total: int
