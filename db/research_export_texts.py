"""The reader of the studies' texts for a research export: every version that people were told."""

from collections.abc import AsyncIterator
from typing import Any

from sqlalchemy import Select, Text, select, type_coerce

from heard.db.research_export import Batch, ExportReader, raw_time
from heard.db.study_records import Phase
from heard.db.study_tables import StudyRow, StudyTextsRow


async def study_texts(reader: ExportReader, study: str | None) -> AsyncIterator[Batch]:
    """Yield the versions of one study's texts, or of all, oldest first. May raise StoreError."""
    copies = select(StudyRow.id).where(StudyRow.phase != Phase.STUDY.value)
    of_study = StudyTextsRow.study_id.not_in(copies) if study is None else StudyTextsRow.study_id == study
    query: Select[Any] = (
        select(
            StudyTextsRow.study_id.label("study"),
            StudyTextsRow.version,
            type_coerce(StudyTextsRow.texts, Text).label("texts"),
            raw_time(StudyTextsRow.stored_at),
        )
        .where(of_study)
        .order_by(*reader.bytewise(StudyTextsRow.study_id), StudyTextsRow.stored_at, StudyTextsRow.version)
    )
    async for batch in reader.rows(query):
        yield batch
