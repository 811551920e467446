"""The history of a conversation for later prompts: the first turn, the newest ones, and a running summary.

A message whose reply was stopped or broke off is told too, with what had arrived of it, which may be nothing. A crisis,
a refused message, one that was edited, and the fixed turns about a person's safety are never read.
"""

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, true
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from heard.db.errors import StoreGone
from heard.db.records import (
    DraftStatus,
    Outcome,
    PastTurn,
    PromptHistory,
    StoredTurn,
    SummaryRecord,
    UnsummarisedHistory,
)
from heard.db.tables import ConversationRow, DraftRow, MessageRow, ParticipantRow, ReplyRow, SummaryRow

HISTORY_TURNS = 200
"""Most turns that a prompt may quote beside the first one; fewer where they do not fit the model's context window."""
UNSUMMARISED_TURNS = 1000
"""Most turns that are read at once to be summarised."""


UNFINISHED = (Outcome.STOPPED, Outcome.BROKEN, Outcome.INTERRUPTED)
"""How a message ended whose reply a person saw no more than a part of."""


def _earlier(before: str | None) -> ColumnElement[bool]:
    other = aliased(MessageRow)
    place = select(other.position).where(other.id == before).scalar_subquery()
    return true() if before is None else MessageRow.position < place


def _told(conversation_id: str, before: str | None = None) -> Select[str, str, str]:
    kept = and_(
        DraftRow.reply_id == ReplyRow.id,
        DraftRow.kept,
        # Nothing that the guard has caught.
        DraftRow.status.in_((DraftStatus.COMPLETE.value, DraftStatus.STOPPED.value, DraftStatus.BROKEN.value)),
    )
    return (
        select(MessageRow.id, MessageRow.text, func.coalesce(DraftRow.text, ""))
        .outerjoin(ReplyRow, ReplyRow.message_id == MessageRow.id)
        .outerjoin(DraftRow, kept)
        .where(
            MessageRow.conversation_id == conversation_id,
            MessageRow.safety.is_(None),
            MessageRow.replaced_by.is_(None),
            _earlier(before),
            or_(
                and_(
                    MessageRow.outcome == Outcome.ANSWERED.value,
                    DraftRow.status == DraftStatus.COMPLETE.value,
                ),
                MessageRow.outcome.in_([outcome.value for outcome in UNFINISHED]),
            ),
        )
    )


async def newest_turns(
    session: AsyncSession, conversation_id: str, limit: int, after: int = 0, *, before: str | None = None
) -> list[PastTurn]:
    """Return the last `limit` turns, oldest first, whose position is greater than `after`, and before that of the
    message `before`."""
    query = _told(conversation_id, before).where(MessageRow.position > after)
    rows = await session.execute(query.order_by(MessageRow.position.desc()).limit(limit))
    return [PastTurn(message, reply) for _, message, reply in reversed(rows.all())]


async def read_prompt_history(
    session: AsyncSession, conversation_id: str, *, summarised: bool = True, before: str | None = None
) -> PromptHistory:
    """Return the first turn and the last HISTORY_TURNS; if `summarised`, the summary and only the turns after it.

    With `before`, nothing of that message or later ones is told.
    """
    text, covered = (await _summary(session, conversation_id, before)) if summarised else (None, 0)
    turns = await newest_turns(session, conversation_id, HISTORY_TURNS, covered, before=before)
    if covered or len(turns) == HISTORY_TURNS:
        query = _told(conversation_id, before).order_by(MessageRow.position)
        first = (await session.execute(query.limit(1))).first()
        if first is not None and (covered or turns[0] != PastTurn(first[1], first[2])):
            turns.insert(0, PastTurn(first[1], first[2]))
    return PromptHistory(turns, text)


async def read_unsummarised_history(session: AsyncSession, conversation_id: str) -> UnsummarisedHistory:
    """Return the newest summary, if any, and the oldest UNSUMMARISED_TURNS turns that it does not cover."""
    text, covered = await _summary(session, conversation_id)
    query = _told(conversation_id).order_by(MessageRow.position)
    first = (await session.execute(query.limit(1))).first()
    rows = await session.execute(query.where(MessageRow.position > covered).limit(UNSUMMARISED_TURNS))
    turns = [StoredTurn(*row) for row in rows.all()]
    return UnsummarisedHistory(StoredTurn(*first) if first else None, text, turns)


async def save_summary(session: AsyncSession, summary: SummaryRecord) -> None:
    """Add a summary. Raises StoreGone when its conversation has been erased."""
    owner = select(ConversationRow.participant_id).where(ConversationRow.id == summary.conversation_id)
    # The person's row first, as in every write about them.
    await session.get(ParticipantRow, await session.scalar(owner) or "", with_for_update=True)
    if await session.get(MessageRow, summary.message_id) is None:
        raise StoreGone
    values: dict[str, Any] = {name: getattr(summary, name) for name in SummaryRecord.__slots__}
    session.add(SummaryRow(**values))


async def _summary(session: AsyncSession, conversation_id: str, before: str | None = None) -> tuple[str | None, int]:
    """Return the newest summary and the position of the last message that it covers; None and 0 if there is none."""
    newest = (
        select(SummaryRow.text, MessageRow.position)
        .join(MessageRow, MessageRow.id == SummaryRow.message_id)
        .where(SummaryRow.conversation_id == conversation_id, _earlier(before))
        .order_by(MessageRow.position.desc())
        .limit(1)
    )
    row = (await session.execute(newest)).first()
    return (row[0], row[1]) if row else (None, 0)
