"""Records of blind votes: a study, what may be judged in it, who takes part, what each saw, and how they chose.

Positions count from 1 (shown as A to E). Times are UTC and aware; seconds are floats; texts are as they were shown.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from heard.db.records import ScoreRecord

LETTERS = "ABCDE"
"""What the positions 1 to 5 are called on the page."""
LEAST_FROM = 3
"""Answers that may be voted for, from which on the least empathetic one is marked too."""
WIDTHS = ("phone", "tablet", "desktop")
"""Classes of a page's width: nothing finer is kept of a browser."""


def letter_of(position: int | None) -> str | None:
    """What a position is called on the page; None for None."""
    return None if position is None else LETTERS[position - 1]


def asks_least(votable: int) -> bool:
    """Whether a ballot with so many answers that may be voted for asks for the least empathetic one too."""
    return votable >= LEAST_FROM


class StudyKind(StrEnum):
    """Where people vote."""

    SURVEY = "survey"
    """On a fixed set of items."""
    LIVE = "live"
    """In their own conversation."""


class AnswerStatus(StrEnum):
    """How an answer came out; only COMPLETE ones may be voted for."""

    PENDING = "pending"
    """Drawn on a ballot and not there yet; still pending after a restart means the process died."""
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class Choice(StrEnum):
    """What a vote says."""

    RANKED = "ranked"
    """A most empathetic answer was marked, and from LEAST_FROM answers up a least empathetic one."""
    SAME = "same"
    """About the same."""
    NONE = "none"
    """None of these."""
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """One study. `definition` is its file as parsed; `reveal`, quotas and the like are read from there by the app."""

    id: str
    """Name in links and commands: lower-case letters, digits, "-" and "_"."""
    kind: StudyKind
    definition: dict[str, Any]
    definition_sha256: str
    created_at: datetime

    @property
    def reveals(self) -> bool:
        """Whether people learn after their vote who wrote what. A definition that does not say so reveals nothing."""
        return self.definition.get("reveal") is True


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer that can stand on a ballot, with all that a vote for it may have to be explained by."""

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
    """Where improvement is a trial: whether chance gave this answer the treatment. None where it was no trial."""
    improved: bool = False
    """Whether the text shown is a rewrite."""
    policy: str | None = None
    """The policy of writing again that this answer got; None for a human's and in rows of before there were any."""
    cut: bool | None = None
    """Whether the text ended because it had reached its longest length; None for a human's."""
    drafts: list[dict[str, Any]] = field(default_factory=list)
    """Every generation in order, also the shown one: the JSON of its DraftRecord."""
    characters: int = 0
    words: int = 0
    formatting: dict[str, Any] = field(default_factory=dict)
    """Counts of Markdown in the text: `paragraphs`, `headings`, `bullets`, `numbered`, `bold`, `links`, `emoji`."""
    leak: list[str] = field(default_factory=list)
    """Kinds of `identity_leak` found in the text; empty is none."""
    score: ScoreRecord | None = None


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One message with its two to five answers, in the order of the file."""

    id: str
    study_id: str
    number: int
    """1.. in the order of the file."""
    message: str
    attention: str | None = None
    """For an attention item: the source that an attentive person marks as most empathetic."""
    answers: tuple[AnswerRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class EnrolmentRecord:
    """One person in one study."""

    study_id: str
    participant_id: str
    external_id: str | None
    """`pid` of the link (Prolific's PROLIFIC_PID and the like); None for a walk-in."""
    condition: str | None
    seed: int
    """Of everything drawn for this person: items and their order."""
    started_at: datetime
    completed_at: datetime | None = None
    closing: str | None = None
    """Answer to the open question at the end."""


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """One place on a ballot. `answer_id` is the secret."""

    position: int
    answer_id: str
    source: str
    votable: bool
    reason: str | None = None
    """Plain words why it may not be voted for, safe to show: they name no source."""


@dataclass(frozen=True, slots=True)
class BallotRecord:
    """What one person sees at once: one message and its answers in an order of their own."""

    id: str
    study_id: str
    participant_id: str
    number: int
    """1.. of this person in this study."""
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
    """Why the whole ballot may not be voted on (a plain sentence), or None."""
    attention: str | None = None
    """As in its item."""

    @property
    def asks_least(self) -> bool:
        """Whether the least empathetic answer is marked too."""
        return asks_least(sum(slot.votable for slot in self.slots))


@dataclass(frozen=True, slots=True)
class VoteRecord:
    """One person's judgement of one ballot: one row each, changed by updating, with what it was before kept."""

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
    """From the ballot's being whole on the page to the click."""
    width_class: str
    """One of WIDTHS."""
    request_id: str
    """Of the click; the same one again changes nothing."""
    voted_at: datetime


@dataclass(frozen=True, slots=True)
class VoteReceipt:
    """What the store did with a vote."""

    ballot: BallotRecord
    vote: VoteRecord
    """As it is stored now."""
    changes: int
    """How often it has been changed since the first time."""
    revealed: tuple[AnswerRecord, ...] | None
    """The answers with their sources, in order of position, if this vote informs the participant; else None."""


def is_informed(reveals: bool, vote: VoteRecord | None) -> bool:
    """Whether a participant has been informed of the sources: after a vote of their own, in a study that reveals them.

    A skip does not count: whoever skipped may still vote, and must not know the sources. An informed vote is final.
    """
    return reveals and vote is not None and vote.choice is not Choice.SKIPPED


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a person is in a survey."""

    voted: int
    total: int
