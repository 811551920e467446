"""The texts of a study, version by version: what people were told before they agreed, and after their last ballot.

A version is stored once and never changed, so that the one a person saw can be read for as long as the study is there.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.study_tables import StudyTextsRow


async def keep_texts(
    session: AsyncSession, study_id: str, version: str, texts: Mapping[str, str], at: datetime
) -> None:
    """Store one version of a study's texts; does nothing if it is there. The study's row exists."""
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(StudyTextsRow).values(study_id=study_id, version=version, texts=dict(texts), stored_at=at)
    await session.execute(row.on_conflict_do_nothing())  # two people may agree at once


async def texts(session: AsyncSession, study_id: str, version: str) -> dict[str, str] | None:
    """Return one version of a study's texts by name; None if it is not stored."""
    row = await session.get(StudyTextsRow, (study_id, version))
    return None if row is None else {name: str(text) for name, text in row.texts.items()}


async def versions(session: AsyncSession, study_id: str) -> list[str]:
    """Return the stored versions of a study's texts, oldest first."""
    query = select(StudyTextsRow.version).where(StudyTextsRow.study_id == study_id)
    return list(await session.scalars(query.order_by(StudyTextsRow.stored_at, StudyTextsRow.version)))
