"""The reasons that people gave with their votes, of those whose votes count."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db.exclusions import excluded
from heard.db.study_records import Phase
from heard.db.study_tables import SlotRow, StudyRow, VoteRow
from heard.db.transaction import transact
from heard.db.vote_reads import refusing


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason."""

    ballot: str
    """The ballot's id, as `ballot_id` in an export."""
    participant: str
    item: str | None
    """The survey's item; None in a live conversation."""
    source: str | None
    """Whose answer was marked as most empathetic; None where none was."""
    text: str


async def read_reasons(engine: AsyncEngine, study_id: str) -> list[Reason]:
    """Return the reasons of a study, ordered by ballot. None of them is of an attention item, a preview, somebody who
    does not allow research, or somebody who is excluded. Raises StoreError."""

    async def work(session: AsyncSession) -> list[Reason]:
        study = await session.get(StudyRow, study_id)
        if study is None or study.phase == Phase.PREVIEW.value:
            return []
        query = (
            select(VoteRow.ballot_id, VoteRow.participant_id, VoteRow.item_id, SlotRow.source, VoteRow.reason)
            .outerjoin(SlotRow, (SlotRow.ballot_id == VoteRow.ballot_id) & (SlotRow.position == VoteRow.most))
            .where(
                VoteRow.study_id == study_id,
                VoteRow.attention.is_(None),
                VoteRow.reason.is_not(None),
                VoteRow.participant_id.not_in(refusing()),
                VoteRow.participant_id.not_in(excluded(study_id)),
            )
            .order_by(VoteRow.ballot_id)
        )
        rows = await session.execute(query)
        return [Reason(*row[:4], row[4]) for row in rows if row[4] and row[4].strip()]

    return await transact(engine, work, write=False)
