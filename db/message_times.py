"""When the messages of a conversation were written, without their texts."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.records import Outcome
from heard.db.tables import MessageRow


class MessageTime(NamedTuple):
    """One message; a `MessageRecord` has the same three."""

    id: str
    created_at: datetime
    outcome: Outcome


async def read_message_times(session: AsyncSession, conversation_id: str) -> list[MessageTime]:
    """Return the messages of a conversation in order, without those that were edited."""
    rows = await session.execute(
        select(MessageRow.id, MessageRow.created_at, MessageRow.outcome)
        .where(MessageRow.conversation_id == conversation_id, MessageRow.replaced_by.is_(None))
        .order_by(MessageRow.position)
    )
    return [MessageTime(id_, created_at, Outcome(outcome)) for id_, created_at, outcome in rows]
