"""Further drafts of a reply that is stored already, which a person has asked for."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectinload

from heard.db.errors import StoreDuplicate, StoreGone
from heard.db.records import DraftRecord, ReplyRecord
from heard.db.rows import draft_row, reply_record
from heard.db.tables import DraftRow, MessageRow, ReplyRow

MOST_NUMBER = 99
"""Highest number of a draft of one reply."""


async def add_drafts(session: AsyncSession, reply_id: str, after: int, drafts: Sequence[DraftRecord]) -> ReplyRecord:
    """Add drafts to a reply that has `after` of them, numbered on, and return it. If one of them is kept, it is the
    reply from now on; else the earlier one stays it.

    Raises StoreGone if the reply has been erased meanwhile, StoreDuplicate if it has other drafts than `after`.
    """
    found = select(ReplyRow).where(ReplyRow.id == reply_id)
    row = await session.scalar(found.options(selectinload(ReplyRow.drafts).selectinload(DraftRow.score)))
    if row is None or await session.get(MessageRow, row.message_id, with_for_update=True) is None:
        raise StoreGone
    if len(row.drafts) != after:
        raise StoreDuplicate("This reply has been written again on another page. Reload this one to see it.")
    if any(draft.kept for draft in drafts):
        for earlier in row.drafts:
            earlier.kept = False
        await session.flush()  # there is never more than one, not even within the transaction
    row.drafts += [draft_row(replace(draft, number=after + place)) for place, draft in enumerate(drafts, start=1)]
    await session.flush()
    return reply_record(row)
