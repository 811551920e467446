"""Items that were held back from a survey because their message reads like a crisis, and who admitted which of them.

The message itself is not here: whoever decides reads it in the file, at the place that is named.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.errors import StoreGone
from heard.db.study_records import HeldItem
from heard.db.study_tables import HeldItemRow, StudyRow


async def held_items(session: AsyncSession, study_id: str) -> list[HeldItem]:
    """Return the held items of a study in the order of its file, admitted ones too."""
    query = select(HeldItemRow).where(HeldItemRow.study_id == study_id)
    rows = await session.scalars(query.order_by(HeldItemRow.number, HeldItemRow.item_id))
    return [
        HeldItem(row.item_id, row.number, row.place, row.reason, row.held_at, row.admitted_by, row.admitted_at)
        for row in rows
    ]


async def keep_held(session: AsyncSession, study_id: str, held: Sequence[HeldItem], *, only: bool) -> None:
    """Store what an import held back. With `only` what it did not name goes, unless it was admitted: that is logged for
    good. Raises StoreGone if there is no such study."""
    if await session.get(StudyRow, study_id) is None:
        raise StoreGone("There is no such study here.")
    rows = {row.item_id: row for row in await session.scalars(_of_study(study_id))}
    for item in held:
        row = rows.pop(item.item_id, None)
        if row is None:
            row = HeldItemRow(study_id=study_id, item_id=item.item_id, held_at=item.held_at)
            session.add(row)
        row.number, row.place, row.reason = item.number, item.place, item.reason
    for row in rows.values():
        if only and row.admitted_by is None:
            await session.delete(row)


async def admit(session: AsyncSession, study_id: str, item_ids: Sequence[str], by: str, at: datetime) -> int:
    """Note that a person has admitted these items. Returns how many they are; the first admission of each stands.

    Raises StoreGone for an item that was not held back.
    """
    rows = {row.item_id: row for row in await session.scalars(_of_study(study_id).with_for_update())}
    for item_id in item_ids:
        if item_id not in rows:
            raise StoreGone("There is no such item held back.")
        if rows[item_id].admitted_by is None:
            rows[item_id].admitted_by, rows[item_id].admitted_at = by, at
    return len(item_ids)


def _of_study(study_id: str) -> Select[HeldItemRow]:
    return select(HeldItemRow).where(HeldItemRow.study_id == study_id)
