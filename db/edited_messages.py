"""A message that another one replaces, because the person has edited it.

It stays stored with its reply. No prompt and no page has it any more; what was read of danger in it counts.
"""

from sqlalchemy import delete, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.records import Outcome
from heard.db.study_tables import BallotRow
from heard.db.tables import MessageRow, SummaryRow

OPEN_ENDS = (Outcome.ANSWERED.value, Outcome.STOPPED.value, Outcome.BROKEN.value, Outcome.INTERRUPTED.value)


async def replace_message(session: AsyncSession, conversation_id: str, old: str, new: str) -> bool:
    """Mark a message as replaced by a new one that is stored next. Returns whether it may be, and is.

    Only the last message that was taken may, and none that was handed off, was about the person's safety or stands on a
    ballot.
    """
    taken = select(func.max(MessageRow.position)).where(
        MessageRow.conversation_id == conversation_id, MessageRow.outcome != Outcome.REFUSED.value
    )
    row = await session.scalar(
        select(MessageRow).where(
            MessageRow.id == old, MessageRow.conversation_id == conversation_id, MessageRow.safety.is_(None),
            MessageRow.outcome.in_(OPEN_ENDS), MessageRow.replaced_by.is_(None),
            MessageRow.position == taken.scalar_subquery(), ~exists().where(BallotRow.message_id == old),
        )
    )  # fmt: skip
    if row is None:
        return False
    row.replaced_by = new
    await session.execute(delete(SummaryRow).where(SummaryRow.message_id == old))  # it tells what is no longer said
    return True
