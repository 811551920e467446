"""Typed records in flight: what goes into a turn and the events that come out of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heard.chat_app.models.records import ModelSpec, Waiting
from heard.db.records import DraftRecord, ReplyRecord
from heard.prompts.records import Persona, Strategy
from heard.scorer.records import EmpathyScore


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One message of a person and all that decides how it is answered."""

    participant_id: str
    conversation_id: str
    message_id: str
    """UUID of the person's message; the same id in the page's history."""
    reply_id: str
    """UUID that the reply will have."""
    text: str
    persona: Persona
    strategy: Strategy
    model: ModelSpec
    live_scores: bool
    """Whether the person sees scores. Replies are scored and stored either way."""
    auto_improve: bool
    threshold: float
    """Empathy on 1..3 under which a reply is written again, where the policy in force is of that kind."""
    country: str | None
    """ISO 3166 code that the person chose for crisis numbers, or None."""


@dataclass(frozen=True, slots=True)
class CrisisShown:
    """The message had suicidal or self-harm meaning: `markdown` is the hand-off. Ends the turn."""

    markdown: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The message cannot be answered (empty, too long, the database is not writable). Ends the turn."""

    sentence: str


@dataclass(frozen=True, slots=True)
class DraftStarted:
    """A generation begins; number 1 is the first. From 2 on, the text on the page is replaced."""

    number: int
    guidance: str | None


@dataclass(frozen=True, slots=True)
class FellBack:
    """The model asked for has failed before its first token; another one is asked to write the current draft."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the current draft."""

    text: str


@dataclass(frozen=True, slots=True)
class Whole:
    """The current draft's text is whole; its score follows in a moment."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The current draft has ended and has its score (or the reason why not)."""

    number: int
    score: EmpathyScore


@dataclass(frozen=True, slots=True)
class Failed:
    """The model failed; `kept_text` is what had arrived and stays, marked as broken. Ends the turn."""

    sentence: str
    kept_text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply stands and is stored. Ends the turn."""

    reply: ReplyRecord
    votable: bool
    """Whether this reply may ever be put on a ballot."""


@dataclass(frozen=True, slots=True)
class NotSaved:
    """The reply is whole but could not be stored; it stays on this page only. Ends the turn."""

    sentence: str
    text: str
    drafts: tuple[DraftRecord, ...]


@dataclass(frozen=True, slots=True)
class BallotsFolded:
    """Earlier ballots that a new message has passed over: their new props by the id of the entry they stand under."""

    props: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class AnswersBegun:
    """The answers of a ballot are being written; how many. Nothing of them is shown until the last one has ended."""

    number: int


@dataclass(frozen=True, slots=True)
class BallotReady:
    """Every answer has ended and is stored: `props` is the ballot as the page gets it, blind. Ends the turn."""

    props: Mapping[str, Any]


TurnEvent = (
    CrisisShown | Refused | Waiting | DraftStarted | FellBack | Token | Whole | Scored | Failed | Finished | NotSaved
    | BallotsFolded | AnswersBegun | BallotReady
)  # fmt: skip
