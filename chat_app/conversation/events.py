"""The request of a turn, and the events that the turn yields."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heard.chat_app.models.records import ModelSpec, Waiting
from heard.chat_app.safety.handoff import Handoff
from heard.db.records import DraftRecord, ReplyRecord, Safety
from heard.prompts.records import Persona, Strategy, Watched
from heard.scorer.records import EmpathyScore


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One message of a person, and everything that decides how it is answered."""

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
    """Empathy (1..3) below which a reply is rewritten, if the policy in force is of that kind."""
    country: str | None
    """ISO 3166 code that the person chose for crisis numbers, or None."""
    replaces: str | None = None
    """The message that the person has edited into this one, if it is no new one."""

    @property
    def whose(self) -> tuple[str, str]:
        """Whose message it is, in which conversation."""
        return self.participant_id, self.conversation_id


@dataclass(frozen=True, slots=True)
class CrisisShown:
    """The message speaks of a danger, or the conversation has ended with one: the hand-off. Ends the turn."""

    handoff: Handoff


@dataclass(frozen=True, slots=True)
class Refused:
    """The message cannot be answered (empty, too long, the database is not writable). Ends the turn."""

    sentence: str


@dataclass(frozen=True, slots=True)
class DraftStarted:
    """A draft begins; `number` counts from 1. From 2 on, it replaces the text on the page."""

    number: int
    guidance: str | None
    scored: bool = True
    """Whether a score follows; none does after a fixed text."""


@dataclass(frozen=True, slots=True)
class FellBack:
    """The requested model failed before its first token, and its fallback is asked for the current draft."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the current draft."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelThinks:
    """The model thinks before it replies; nothing of that is shown. With `withdrawn`, the draft's text so far was
    thinking too, and is taken away."""

    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class DraftComplete:
    """The current draft's text is complete; its score follows."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The current draft has its score, or the reason why it has none."""

    number: int
    score: EmpathyScore
    watches: Watched = "empathy"
    """The number by which the best draft is kept."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The model failed; `kept_text` is what had arrived, kept and marked as broken. Ends the turn."""

    sentence: str
    kept_text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply is complete and stored. Ends the turn."""

    reply: ReplyRecord
    votable: bool
    """Whether this reply may ever be put on a ballot."""
    safety: Safety | None = None
    """What the turn was to the person's safety; None of an ordinary one."""


@dataclass(frozen=True, slots=True)
class NotSaved:
    """The reply is complete but could not be stored; it stays on this page only. Ends the turn."""

    sentence: str
    text: str
    drafts: tuple[DraftRecord, ...]


class StoppedUnsaved(asyncio.CancelledError):
    """The turn was stopped, and what had arrived could not be stored; `sentence` says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class BallotsSkipped:
    """A new message made earlier open ballots count as skipped: their new props by the id of the page's entry."""

    props: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class AnswersStarted:
    """`number` answers of a ballot are being written. Nothing of them is shown until the last one has ended."""

    number: int


@dataclass(frozen=True, slots=True)
class BallotReady:
    """All answers have ended and are stored; `props` is the blind ballot for the page. Ends the turn."""

    props: Mapping[str, Any]


TurnEvent = (
    CrisisShown | Refused | Waiting | DraftStarted | FellBack | ModelThinks | Token | DraftComplete | Scored | Failed
    | Finished | NotSaved | BallotsSkipped | AnswersStarted | BallotReady
)  # fmt: skip
