"""The reply to one message of the set, as a run has it or as it was written elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from heard.chat_app.voice.messages import Conversation
from heard.db.records import DraftRecord
from heard.errors import UserError


class VoiceError(UserError):
    """Replies, sheets or marks that cannot be used; `str()` names the file, the fault and the next step."""


class Shown(StrEnum):
    """What stood in the reply's place."""

    REPLY = "reply"
    HANDOFF = "handoff"
    """The hand-off to people and numbers: the crisis check took the message for a crisis, and no model was asked."""


@dataclass(frozen=True, slots=True)
class VoiceReply:
    """One reply."""

    name: str
    """Of the message: `Conversation.names`."""
    text: str
    """As the person reads it in the end; "" for a hand-off."""
    shown: Shown = Shown.REPLY
    drafts: tuple[DraftRecord, ...] = ()
    """All of them, one kept; none for a reply that was written elsewhere."""
    first_word_seconds: float | None = None
    """From the message to the first word on the page, which a draft that was withdrawn may have had."""
    seconds: float | None = None
    """From the message to the end of the turn."""

    @property
    def kept(self) -> DraftRecord | None:
        """The draft that is shown; None for a hand-off and for a reply that was written elsewhere."""
        return next((draft for draft in self.drafts if draft.kept), None)


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the set with its reply, and what went before in its talk."""

    conversation: Conversation
    turn: int
    """From 0."""
    reply: VoiceReply
    earlier: tuple[tuple[str, str], ...]
    """(message, reply) of the turns before, "" for a reply that is not there."""

    @property
    def message(self) -> str:
        """What the person said."""
        return self.conversation.turns[self.turn]


@dataclass(frozen=True, slots=True)
class VoiceRun:
    """The replies of one source."""

    source: str
    """What the source is called in tables: the file's name, without its ending."""
    head: Mapping[str, Any] | None
    """What the run depended on, by name; None for replies that were written elsewhere."""
    replies: Mapping[str, VoiceReply]
    """By the name of the message."""

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the run's models."""
        return tuple(self.head.get("models", ())) if self.head else ()

    def said(self, conversations: tuple[Conversation, ...]) -> list[Said]:
        """Return every message that has a reply, in the order of the set."""
        found = []
        for one in conversations:
            texts = [self.replies[name].text if name in self.replies else "" for name in one.names]
            for turn, name in enumerate(one.names):
                if name in self.replies:
                    earlier = tuple(zip(one.turns[:turn], texts[:turn], strict=True))
                    found.append(Said(one, turn, self.replies[name], earlier))
        return found
