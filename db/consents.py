"""What a person has agreed to: the chat's notice, and the texts of studies, inside a transaction of the caller."""

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.records import ConsentRecord
from heard.db.rows import consent_record
from heard.db.tables import ConsentRow


async def latest_consent(session: AsyncSession, participant_id: str) -> ConsentRecord | None:
    """Return the person's newest answers, or None."""
    newest = select(ConsentRow).where(ConsentRow.participant_id == participant_id).order_by(ConsentRow.id.desc())
    row = await session.scalar(newest.limit(1))
    return consent_record(row) if row else None


async def agreed_versions(session: AsyncSession, participant_id: str) -> frozenset[str]:
    """Return the versions of all that the person has agreed to since they last refused: a study's texts do not take
    back the chat's notice, nor the other way round. A refusal takes back everything."""
    own = ConsentRow.participant_id == participant_id
    refused = select(func.max(ConsentRow.id)).where(own, ConsentRow.chat.is_(False)).scalar_subquery()
    query = select(ConsentRow.version).where(own, ConsentRow.id > func.coalesce(refused, 0))
    return frozenset(await session.scalars(query))
