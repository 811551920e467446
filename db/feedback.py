"""What people say of a talk: a thumb on a reply, and once in a conversation whether they felt heard.

Neither is asked of an answer that was compared blind: beside a vote it would be a second one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.errors import StoreDenied, StoreGone
from heard.db.records import DraftStatus, Outcome
from heard.db.study_tables import BallotRow
from heard.db.tables import (
    ConsentRow,
    ConversationRow,
    DraftRow,
    FeltHeardRow,
    MessageRow,
    ParticipantRow,
    ReplyRow,
    ThumbRow,
)

HEARD_AFTER = 6
"""Answered messages of a conversation before it is asked whether the person felt heard."""
MOST_HEARD = 5
NOT_KEPT = "Nothing was saved."


@dataclass(frozen=True, slots=True)
class FeltHeard:
    """That a conversation was asked about, and what was said."""

    conversation_id: str
    message_id: str
    """The message under whose reply it was asked."""
    answer: int | None
    """1 (not at all) to 5 (fully); None if it was skipped, or is open."""
    asked_at: datetime
    answered_at: datetime | None
    """None while it is open."""


async def save_thumb(
    session: AsyncSession, participant_id: str, conversation_id: str, reply_id: str, up: bool | None, now: datetime
) -> None:
    """Store a thumb on the kept draft of a reply in place of any other; None takes it back.

    Raises StoreGone if the person has been erased, StoreDenied if their newest answer does not allow the chat, if the
    reply is none of this conversation of theirs, or if it is an answer that was compared blind.
    """
    await _admitted(session, participant_id)
    rated: Select[str] = (
        select(DraftRow.id)
        .join(ReplyRow, ReplyRow.id == DraftRow.reply_id)
        .join(MessageRow, MessageRow.id == ReplyRow.message_id)
        .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
        .where(ReplyRow.id == reply_id, DraftRow.kept, DraftRow.status == DraftStatus.COMPLETE.value)
        .where(ConversationRow.id == conversation_id, ConversationRow.participant_id == participant_id)
        .where(MessageRow.safety.is_(None), MessageRow.outcome == Outcome.ANSWERED.value)
        .where(~exists().where(BallotRow.message_id == MessageRow.id))
    )
    draft_id = await session.scalar(rated)
    if draft_id is None:
        raise StoreDenied(f"This reply cannot be rated. {NOT_KEPT}")
    row = await session.get(ThumbRow, draft_id)
    if row is not None and up is None:
        await session.delete(row)
    elif row is not None and up is not None:
        row.up, row.given_at = up, now
    elif up is not None:
        session.add(ThumbRow(draft_id=draft_id, participant_id=participant_id, up=up, given_at=now))


async def read_thumbs(session: AsyncSession, conversation_id: str) -> Mapping[str, bool]:
    """Return the thumbs of a conversation by the id of the draft; True is up."""
    rows = await session.execute(
        select(ThumbRow.draft_id, ThumbRow.up)
        .join(DraftRow, DraftRow.id == ThumbRow.draft_id)
        .join(ReplyRow, ReplyRow.id == DraftRow.reply_id)
        .join(MessageRow, MessageRow.id == ReplyRow.message_id)
        .where(MessageRow.conversation_id == conversation_id)
    )
    return {draft_id: up for draft_id, up in rows}


async def ask_heard(
    session: AsyncSession, participant_id: str, conversation_id: str, message_id: str, now: datetime
) -> bool:
    """Note that the person is asked under the reply to a message. Returns whether to ask.

    Not asked twice in a conversation, before HEARD_AFTER messages of it were answered, after a hand-off or anything
    else about the person's safety, or where answers were compared blind. Raises as `save_thumb`.
    """
    await _admitted(session, participant_id)
    if await session.get(FeltHeardRow, conversation_id) is not None or await _unfit(session, conversation_id):
        return False
    answered = select(func.count()).select_from(MessageRow).join(ConversationRow).where(
        ConversationRow.id == conversation_id, ConversationRow.participant_id == participant_id,
        MessageRow.outcome == Outcome.ANSWERED.value,
    )  # fmt: skip
    message = await session.get(MessageRow, message_id)
    if (
        message is None
        or message.conversation_id != conversation_id
        or (await session.scalar(answered) or 0) < HEARD_AFTER
    ):
        return False
    session.add(
        FeltHeardRow(
            conversation_id=conversation_id, participant_id=participant_id, message_id=message_id, asked_at=now
        )
    )
    return True


async def answer_heard(
    session: AsyncSession, participant_id: str, conversation_id: str, answer: int | None, now: datetime
) -> None:
    """Store an answer, 1 to 5, or None for a question that was skipped. Another answer replaces it.

    Raises as `save_thumb`, and StoreDenied where nothing was asked or a hand-off has come since.
    """
    await _admitted(session, participant_id)
    row = await session.get(FeltHeardRow, conversation_id)
    if row is None or row.participant_id != participant_id or await _unfit(session, conversation_id):
        raise StoreDenied(f"This is not asked here any more. {NOT_KEPT}")
    row.answer, row.answered_at = answer, now


async def read_heard(session: AsyncSession, conversation_id: str) -> FeltHeard | None:
    """Return whether a conversation was asked about, and the answer; None where it was not."""
    row = await session.get(FeltHeardRow, conversation_id)
    if row is None:
        return None
    return FeltHeard(row.conversation_id, row.message_id, row.answer, row.asked_at, row.answered_at)


async def _admitted(session: AsyncSession, participant_id: str) -> None:
    # The lock also keeps two tabs of one person from adding the same row on PostgreSQL.
    if await session.get(ParticipantRow, participant_id, with_for_update=True) is None:
        raise StoreGone(f"Your data here has been erased. {NOT_KEPT}")
    answers = select(ConsentRow.chat).where(ConsentRow.participant_id == participant_id)
    if not await session.scalar(answers.order_by(ConsentRow.id.desc()).limit(1)):
        raise StoreDenied(f"You have not allowed that anything is stored. {NOT_KEPT}")


async def _unfit(session: AsyncSession, conversation_id: str) -> bool:
    """Return whether a conversation is none to be asked about: a hand-off, a turn about safety, or a ballot."""
    safety: Any = select(MessageRow.id).where(
        MessageRow.conversation_id == conversation_id,
        or_(MessageRow.outcome == Outcome.CRISIS.value, MessageRow.safety.is_not(None)),
    )
    ballot: Any = select(BallotRow.id).where(BallotRow.conversation_id == conversation_id)
    return await session.scalar(safety.limit(1)) is not None or await session.scalar(ballot.limit(1)) is not None
