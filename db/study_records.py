"""Records of studies: study, items, answers, enrolments, ballots and votes.

Positions count from 1 (shown as A to E). Times are UTC and aware; seconds are floats; texts are as they were shown.
"""

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

    @property
    def reveals(self) -> bool:
        """Whether the sources are revealed after the vote. False unless the definition says so."""
        return self.definition.get("reveal") is True


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
    screened_out_at: datetime | None = None
    """When the person failed as many attention items as the study allows; None if not."""


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


def is_informed(reveals: bool, vote: VoteRecord | None) -> bool:
    """Return whether a participant knows the sources, which a study that `reveals` them shows after the vote.

    A skip does not count: whoever skipped may still vote, and must not know the sources. A vote is final after that.
    """
    return reveals and vote is not None and vote.choice is not Choice.SKIPPED


@dataclass(frozen=True, slots=True)
class Progress:
    """A person's progress in a survey, in ballots."""

    voted: int
    total: int
