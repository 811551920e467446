"""The reader of what people said of their talks, for a research export: thumbs, and whether they felt heard.

Only of people whose newest answer to the notice allows the chat and research. No words of anybody are read here.
"""

from collections.abc import AsyncIterator
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import aliased

from heard.db.research_export import Batch, ExportReader, allowed_people, raw_time
from heard.db.tables import ConversationRow, DraftRow, FeltHeardRow, MessageRow, ReplyRow, ScoreRow, ThumbRow

_SCORE = (ScoreRow.cognitive, ScoreRow.emotional, ScoreRow.behavioral, ScoreRow.empathy, ScoreRow.perceived)


async def thumbs(reader: ExportReader) -> AsyncIterator[Batch]:
    """Yield the thumbs, a row for each draft that has one, in the order of conversations. May raise StoreError."""
    query: Select[Any] = (
        select(
            ThumbRow.participant_id, MessageRow.conversation_id, MessageRow.position, ReplyRow.id.label("reply"),
            ThumbRow.draft_id.label("draft"), DraftRow.number.label("draft_number"), DraftRow.kept,
            DraftRow.asked_by, ThumbRow.up, raw_time(ThumbRow.given_at),
            ReplyRow.persona, ReplyRow.strategy, DraftRow.model, ReplyRow.policy, *_SCORE,
        )
        .select_from(ThumbRow)
        .join(DraftRow, DraftRow.id == ThumbRow.draft_id)
        .join(ReplyRow, ReplyRow.id == DraftRow.reply_id)
        .join(MessageRow, MessageRow.id == ReplyRow.message_id)
        .outerjoin(ScoreRow, ScoreRow.draft_id == DraftRow.id)
        .where(ThumbRow.participant_id.in_(allowed_people()))
        .order_by(*reader.bytewise(ThumbRow.participant_id, MessageRow.conversation_id))
        .order_by(MessageRow.position, DraftRow.number)
    )  # fmt: skip
    async for batch in reader.rows(query):
        yield batch


async def felt_heard(reader: ExportReader) -> AsyncIterator[Batch]:
    """Yield the conversations that were asked about, with what was said. May raise StoreError."""
    every = aliased(MessageRow)
    said = select(func.count()).where(every.conversation_id == FeltHeardRow.conversation_id).scalar_subquery()
    query: Select[Any] = (
        select(
            FeltHeardRow.participant_id, FeltHeardRow.conversation_id, ConversationRow.persona, MessageRow.position,
            said.label("messages"), FeltHeardRow.answer.label("felt_heard"), raw_time(FeltHeardRow.asked_at),
            raw_time(FeltHeardRow.answered_at),
        )
        .select_from(FeltHeardRow)
        .join(ConversationRow, ConversationRow.id == FeltHeardRow.conversation_id)
        .join(MessageRow, MessageRow.id == FeltHeardRow.message_id)
        .where(FeltHeardRow.participant_id.in_(allowed_people()))
        .order_by(*reader.bytewise(FeltHeardRow.participant_id, FeltHeardRow.conversation_id))
    )  # fmt: skip
    async for batch in reader.rows(query):
        yield batch
