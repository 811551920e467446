"""What was said before in a conversation, as later prompts need it: the first turn, the newest, and a summary.

Only answered turns with a whole reply: never a crisis, refused, broken or stopped one.
"""

from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.errors import StoreGone
from heard.db.records import DraftStatus, HistoryItem, Outcome, Past, SummaryRecord, Told, Untold
from heard.db.tables import ConversationRow, DraftRow, MessageRow, ParticipantRow, ReplyRow, SummaryRow

HISTORY_TURNS = 200
"""Exchanges that a prompt may look back on beside the first; fewer where they do not fit the model."""
UNTOLD_TURNS = 1000
"""Exchanges that are read at once to be summarised."""


def _answered(conversation_id: str) -> Select[str, str, str]:
    return (
        select(MessageRow.id, MessageRow.text, DraftRow.text)
        .join(ReplyRow, ReplyRow.message_id == MessageRow.id)
        .join(DraftRow, DraftRow.reply_id == ReplyRow.id)
        .where(
            MessageRow.conversation_id == conversation_id,
            MessageRow.outcome == Outcome.ANSWERED.value,
            DraftRow.kept,
            DraftRow.status == DraftStatus.COMPLETE.value,
        )
    )


async def newest_turns(session: AsyncSession, conversation_id: str, limit: int, after: int = 0) -> list[HistoryItem]:
    """The last `limit` exchanges whose position is greater than `after`, oldest first."""
    query = _answered(conversation_id).where(MessageRow.position > after)
    rows = await session.execute(query.order_by(MessageRow.position.desc()).limit(limit))
    return [HistoryItem(message, reply) for _, message, reply in reversed(rows.all())]


async def read_past(session: AsyncSession, conversation_id: str, *, summarised: bool = True) -> Past:
    """The first exchange and the last HISTORY_TURNS. With a summary, if `summarised`, those that it does not cover."""
    text, covered = (await _summary(session, conversation_id)) if summarised else (None, 0)
    turns = await newest_turns(session, conversation_id, HISTORY_TURNS, covered)
    if covered or len(turns) == HISTORY_TURNS:
        first = (await session.execute(_answered(conversation_id).order_by(MessageRow.position).limit(1))).first()
        if first is not None and (covered or turns[0] != HistoryItem(first[1], first[2])):
            turns.insert(0, HistoryItem(first[1], first[2]))
    return Past(turns, text)


async def read_untold(session: AsyncSession, conversation_id: str) -> Untold:
    """What a further summary is made from: the newest one, and the oldest UNTOLD_TURNS exchanges after it."""
    text, covered = await _summary(session, conversation_id)
    query = _answered(conversation_id).order_by(MessageRow.position)
    first = (await session.execute(query.limit(1))).first()
    rows = await session.execute(query.where(MessageRow.position > covered).limit(UNTOLD_TURNS))
    turns = [Told(*row) for row in rows.all()]
    return Untold(Told(*first) if first else None, text, turns)


async def save_summary(session: AsyncSession, summary: SummaryRecord) -> None:
    """Add a summary. Raises StoreGone when its conversation has been erased."""
    owner = select(ConversationRow.participant_id).where(ConversationRow.id == summary.conversation_id)
    # The person's row first, as in every write about them.
    await session.get(ParticipantRow, await session.scalar(owner) or "", with_for_update=True)
    if await session.get(MessageRow, summary.message_id) is None:
        raise StoreGone
    values: dict[str, Any] = {name: getattr(summary, name) for name in SummaryRecord.__slots__}
    session.add(SummaryRow(**values))


async def _summary(session: AsyncSession, conversation_id: str) -> tuple[str | None, int]:
    """The newest summary and the position of the last message in it; None and 0 where there is none."""
    newest = (
        select(SummaryRow.text, MessageRow.position)
        .join(MessageRow, MessageRow.id == SummaryRow.message_id)
        .where(SummaryRow.conversation_id == conversation_id)
        .order_by(MessageRow.position.desc())
        .limit(1)
    )
    row = (await session.execute(newest)).first()
    return (row[0], row[1]) if row else (None, 0)
