"""What a conversation tells of the person's safety: hand-offs, check-ins, the turns after them, and the last messages.

It is read from the database before each message is, so that it holds after a restart, a reload and in a second tab.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.records import MessageRecord, Outcome, Safety
from heard.db.rows import message_record
from heard.db.tables import ConversationRow, DraftRow, MessageRow, ReplyRow

RECENT = 8
"""Messages of the person that are read."""
RECENT_CHARACTERS = 2_000
"""Of each of them."""
SAFETY_TURNS = 100
"""Turns about the person's safety that are read, the newest ones."""


@dataclass(frozen=True, slots=True)
class SafetyTurn:
    """A turn about the person's safety."""

    position: int
    """Of its message in the conversation, from 1."""
    safety: Safety | None
    """None of a hand-off."""
    message: str
    """At most RECENT_CHARACTERS of it."""
    reply: str
    """The text that was given; "" of a hand-off."""
    danger: str | None = None
    """What a hand-off was about; None of other turns, and of a hand-off from before there was more than one danger."""

    @property
    def handed_off(self) -> bool:
        """Whether it was a hand-off."""
        return self.safety is None


@dataclass(frozen=True, slots=True)
class SafetyHistory:
    """One conversation, as far as it was stored before a message."""

    messages: tuple[str, ...] = ()
    """The person's last RECENT messages, oldest first, whatever became of them."""
    turns: tuple[SafetyTurn, ...] = ()
    """Oldest first."""
    last: int = 0
    """Position of the last message that was not refused; 0 where there is none."""


async def read_safety_history(session: AsyncSession, conversation_id: str, participant_id: str) -> SafetyHistory:
    """Return the history of a conversation; an empty one where it is new, or another participant's."""
    own = and_(
        MessageRow.conversation_id == conversation_id,
        ConversationRow.id == MessageRow.conversation_id,
        ConversationRow.participant_id == participant_id,
    )
    newest = MessageRow.position.desc()
    recent = (await session.execute(select(*_of_message()).where(own).order_by(newest).limit(RECENT))).all()
    if not recent:
        return SafetyHistory()
    about_safety = or_(
        MessageRow.outcome == Outcome.CRISIS.value,
        and_(MessageRow.safety.is_not(None), MessageRow.outcome == Outcome.ANSWERED.value),
    )
    rows = await session.execute(
        select(*_of_message(), MessageRow.safety, DraftRow.text, MessageRow.danger)
        .outerjoin(ReplyRow, ReplyRow.message_id == MessageRow.id)
        .outerjoin(DraftRow, and_(DraftRow.reply_id == ReplyRow.id, DraftRow.kept))
        .where(own, about_safety)
        .order_by(newest)
        .limit(SAFETY_TURNS)
    )
    turns = [
        SafetyTurn(position, Safety(safety) if safety else None, message, reply or "", danger)
        for position, message, safety, reply, danger in rows.all()
    ]
    answered = select(func.max(MessageRow.position)).where(own, MessageRow.outcome != Outcome.REFUSED.value)
    last = await session.scalar(answered)
    return SafetyHistory(tuple(text for _, text in reversed(recent)), tuple(reversed(turns)), last or 0)


def _of_message() -> tuple[ColumnElement[int], ColumnElement[str]]:
    return MessageRow.position.expression, func.substr(MessageRow.text, 1, RECENT_CHARACTERS)


async def read_first_handoff(
    session: AsyncSession, conversation_id: str, participant_id: str, dangers: Collection[str]
) -> MessageRecord | None:
    """Return a participant's first message of a conversation that was handed off for one of `dangers`, or None."""
    row = await session.scalar(
        select(MessageRow)
        .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
        .where(
            MessageRow.conversation_id == conversation_id,
            ConversationRow.participant_id == participant_id,
            MessageRow.outcome == Outcome.CRISIS.value,
            MessageRow.danger.in_(dangers),
        )
        .order_by(MessageRow.position)
        .limit(1)
    )
    return message_record(row) if row else None
