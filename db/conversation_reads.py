"""Reads the messages and replies of conversations."""

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectinload

from heard.db.records import MessageRecord, Outcome, ReplyRecord
from heard.db.rows import message_record, reply_record
from heard.db.tables import ConversationRow, DraftRow, MessageRow, ReplyRow


async def read_messages(session: AsyncSession, conversation_id: str) -> list[MessageRecord]:
    """Return every message of a conversation in order, with its outcome."""
    rows = await session.scalars(
        select(MessageRow).where(MessageRow.conversation_id == conversation_id).order_by(MessageRow.position)
    )
    return [message_record(row) for row in rows]


async def read_outcome(session: AsyncSession, message_id: str) -> Outcome | None:
    """Return how a stored message ended, or None if it is not stored."""
    found = await session.scalar(select(MessageRow.outcome).where(MessageRow.id == message_id))
    return None if found is None else Outcome(found)


async def read_replies(session: AsyncSession, condition: ColumnElement[bool]) -> list[ReplyRecord]:
    """Return the replies of the messages that the condition names, in order, with their drafts and scores."""
    rows = await session.scalars(
        select(ReplyRow)
        .join(MessageRow, MessageRow.id == ReplyRow.message_id)
        .where(condition)
        .order_by(MessageRow.position)
        .options(selectinload(ReplyRow.drafts).selectinload(DraftRow.score))
    )
    return [reply_record(row) for row in rows]


async def read_owner(session: AsyncSession, conversation_id: str) -> str | None:
    """Return the participant's id, or None if there is no such conversation."""
    row = await session.get(ConversationRow, conversation_id)
    return row.participant_id if row else None


async def read_message_context(
    session: AsyncSession, conversation_id: str, message_id: str
) -> tuple[str | None, str | None, int | None]:
    """Return the conversation's owner, the message's id if it exists, and the last position; each may be None."""
    owner = select(ConversationRow.participant_id).where(ConversationRow.id == conversation_id).scalar_subquery()
    known = select(MessageRow.id).where(MessageRow.id == message_id).scalar_subquery()
    last = select(func.max(MessageRow.position)).where(MessageRow.conversation_id == conversation_id).scalar_subquery()
    row = (await session.execute(select(owner, known, last))).one()
    return row[0], row[1], row[2]
