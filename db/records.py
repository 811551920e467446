"""The records of the store: frozen, one per table, with units and ranges. Times are UTC and aware."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How a person's message ended."""

    PENDING = "pending"
    """Stored before any model was called. If the process dies, it becomes INTERRUPTED at the next start."""
    ANSWERED = "answered"
    CRISIS = "crisis"
    """The hand-off was shown; no model, scorer or ballot ever sees this message."""
    REFUSED = "refused"
    """Too long, or without visible text; no model was called."""
    BROKEN = "broken"
    """The model failed; what had arrived is kept as a broken draft."""
    STOPPED = "stopped"
    """The person pressed Stop; what had arrived is kept."""
    INTERRUPTED = "interrupted"


class Safety(StrEnum):
    """What a message was to the person's safety, where it was no crisis itself.

    Such a turn is answered by a reviewed text: it is not scored, not put to a vote, and no later prompt quotes it.
    """

    SUPPORTED = "supported"
    """One of the turns after a hand-off, answered by a fixed turn or by the larger model of `crisis_model`."""
    SAFE = "safe"
    """After a hand-off, the person said that they are safe."""
    CHECKED_IN = "checked_in"
    """Answered with the direct question."""
    DENIED = "denied"
    """ "No" to the direct question."""
    RECOVERY = "recovery"
    """A danger long past, acknowledged."""


class DraftStatus(StrEnum):
    """How one draft ended."""

    COMPLETE = "complete"
    BROKEN = "broken"
    STOPPED = "stopped"
    CAUGHT = "caught"
    """The guard did not let it through; the person reads another."""
    EMPTY = "empty"
    """Nothing of it was fit to show, so that it was drawn again."""


class AskedBy(StrEnum):
    """Who asked for a draft where there was one already that could be shown."""

    PERSON = "person"
    """By the button under the reply."""
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class ConsentRecord:
    """Two separate answers to one version of the notice. The newest row of a participant counts."""

    participant_id: str
    version: str
    chat: bool
    """Whether the chat may be used, and so its words stored."""
    research: bool
    """Whether the stored data may be used for research."""
    given_at: datetime


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """One thread. `id` is the thread's UUID in the page's history too."""

    id: str
    participant_id: str
    persona: str
    """File name of the persona without its ending."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One message of a person, stored before anything else happens with it."""

    id: str
    conversation_id: str
    text: str
    outcome: Outcome
    created_at: datetime
    safety: Safety | None = None
    """None of ordinary messages, and of a crisis, which `outcome` tells."""
    danger: str | None = None
    """What the hand-off was about; None without one, and in rows of before there was more than one danger."""
    language: str | None = None
    """ISO 639-1 code that the hand-off was given in, as far as the check knew it."""
    replaced_by: str | None = None
    """The message in its place, where the person has edited it."""


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """The score of one draft. `status` is "scored", or the kind of reason why there is none (then no numbers)."""

    status: str
    reason: str | None
    cognitive: float | None
    emotional: float | None
    behavioral: float | None
    empathy: float | None
    head_name: str
    head_sha256: str
    encoder_sha256: str
    details: dict[str, Any] | None = None
    """The rest of the score as JSON values, `notes`, `intervals` and `evidence`; None in older rows."""
    perceived: float | None = None
    """How empathic people would call the reply, 1..3; None with a head that was not taught it, and in older rows."""


@dataclass(frozen=True, slots=True)
class FlagRecord:
    """A case that a person marked as interesting on the scorer's page, with the score as it was then."""

    participant_id: str
    seeker: str
    """The message that the reply answers; "" when none was given."""
    reply: str
    note: str | None
    score: ScoreRecord
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One hidden call of a model before a draft, whose text went into its prompt. Only researchers see it."""

    name: str
    """The step's name in the strategy's file."""
    text: str
    prompt_sha256: str
    model: str
    """Name of the entry in models.toml."""
    max_tokens: int
    """Token limit that was sent."""
    first_token_seconds: float | None
    total_seconds: float
    prompt_tokens: int | None
    completion_tokens: int | None
    cut: bool = False
    """Whether it ended because it had reached `max_tokens`."""


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """One draft: everything needed to reproduce it, and its result."""

    id: str
    number: int
    """1 for the first, 2 and more for rewrites."""
    text: str
    status: DraftStatus
    kept: bool
    """Whether this draft is the reply."""
    guidance: str | None
    """Component that the rewrite aimed at; None for the first draft."""
    prompt_sha256: str
    """Of the exact prompt that was sent; of the last step's call if the draft's own was never made."""
    model: str
    """Name of the entry in models.toml."""
    parameters: dict[str, Any]
    """Parameters sent with the prompt: temperature, max_tokens, seed, the provider's own model name."""
    first_token_seconds: float | None
    total_seconds: float
    prompt_tokens: int | None
    completion_tokens: int | None
    error: str | None
    """The plain sentence shown to the person; never the provider's raw text."""
    score: ScoreRecord | None
    created_at: datetime
    cut: bool = False
    """Whether the text ended because it had reached the token limit."""
    fallback_for: str | None = None
    """The requested model that failed, if `model` answered in its place."""
    steps: tuple[StepRecord, ...] = ()
    """The hidden calls before this one, in order. With the first draft only: rewrites reuse their texts."""
    caught: str | None = None
    """Of a CAUGHT draft, whose text ends with the sentence that was caught: the kind, such as "medical"."""
    caught_by: str | None = None
    """Of a CAUGHT draft: what of the guard caught it, such as "rule" or "head"."""
    ended_by: str | None = None
    """Why it was ended before the model's own end, such as "length", "repeat" or "hashtag"; None where it was not."""
    asked_by: str | None = None
    """A value of AskedBy; None of the first draft, of one in place of another that could not be shown, and of
    before it was noted."""


@dataclass(frozen=True, slots=True)
class ReplyRecord:
    """The reply to one message, with all its drafts in order. Its text is the kept draft's."""

    id: str
    message_id: str
    persona: str
    strategy: str
    drafts: tuple[DraftRecord, ...]
    created_at: datetime
    policy: str | None = None
    """File name of the rewrite policy; None in rows from before there were policies."""

    @property
    def kept(self) -> DraftRecord:
        """The draft that is kept as the reply."""
        return next(draft for draft in self.drafts if draft.kept)


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One turn that a later prompt may quote: a message and the text of its kept draft."""

    message: str
    reply: str
    """What had arrived of it where it was stopped or broke off; may be ""."""


@dataclass(frozen=True, slots=True)
class PromptHistory:
    """The history of one conversation, as far as a prompt may quote it."""

    turns: list[PastTurn]
    """Oldest first: the first turn of the conversation, then the newest ones."""
    summary: str | None
    """Summary of the turns between the first and the others; None where there is none."""


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One turn with the id of its message."""

    message_id: str
    message: str
    reply: str


@dataclass(frozen=True, slots=True)
class UnsummarisedHistory:
    """The input of a conversation's next summary."""

    first: StoredTurn | None
    """The conversation's first turn, which stays in prompts beside the summary."""
    summary: str | None
    """The newest summary so far."""
    turns: list[StoredTurn]
    """Turns that it does not cover, oldest first; the first turn is among them until there is a summary."""


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """A running summary of everything up to one message, made from the previous summary and the turns since."""

    id: str
    conversation_id: str
    message_id: str
    """The last message that it covers, with its reply."""
    text: str
    model: str
    """Name of the entry in models.toml."""
    prompt_sha256: str
    seconds: float
    prompt_tokens: int | None
    completion_tokens: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Participant:
    """A pseudonymous person: an id, when first seen, and the newest consent."""

    id: str
    created_at: datetime
    consent: ConsentRecord | None = field(default=None)
