"""The reader of answers to the questions round the ballots, for a research export.

Only of people whose newest answer to the notice allows the chat and research.
"""

from collections.abc import AsyncIterator
from typing import Any

from sqlalchemy import Select, select

from heard.db.research_export import Batch, ExportReader, allowed_people, raw_time
from heard.db.study_tables import QuestionAnswerRow


async def question_answers_of(reader: ExportReader, studies: list[str]) -> AsyncIterator[Batch]:
    """Yield the answers in these studies, those of one person together. May raise StoreError."""
    row = QuestionAnswerRow
    query: Select[Any] = (
        select(
            row.study_id, row.participant_id, row.item.label("question"), row.after_ballots, row.value,
            raw_time(row.answered_at),
        )
        .where(row.study_id.in_(studies), row.participant_id.in_(allowed_people()))
        .order_by(*reader.bytewise(row.study_id, row.participant_id), row.after_ballots, *reader.bytewise(row.item))
    )  # fmt: skip
    async for batch in reader.rows(query):
        yield batch
