"""Copies of a study whose votes never count for it: a preview for whoever makes it, and a pilot with people.

A copy is a study of its own with the items, answers and texts as they are now, so that no quota, balance, result or
export of the study can see its votes: they stand under another id.
"""

import hashlib
import json
import uuid
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.ballot_erase import delete_ballot_rows
from heard.db.erase import mark_unscrubbed
from heard.db.errors import StoreGone, StudyRefused
from heard.db.study_records import Phase
from heard.db.study_tables import AnswerRow, BallotRow, EnrolmentRow, ItemRow, StudyRow, StudyTextsRow, VoteRow

BEGUN_PILOT = (
    "People have been given ballots of this pilot already, so it stays as it is. To take their votes away and pilot "
    "the study as it is now: heard study reset --pilot {id}"
)


def copy_id(study_id: str, phase: Phase) -> str:
    """Return the id of a study's copy, which its link has."""
    return f"{study_id}--{phase.value}"


async def copy_study(session: AsyncSession, study_id: str, phase: Phase, at: datetime) -> str:
    """Make the copy of a study for a phase, or make it anew, and return its id.

    A preview loses its votes each time. Raises StoreGone without such a study, StudyRefused for a pilot that people
    have been given ballots of.
    """
    study = await session.get(StudyRow, study_id, with_for_update=True)
    if study is None or study.phase != Phase.STUDY.value:
        raise StoreGone("There is no such study here.")
    name = copy_id(study_id, phase)
    begun = await session.scalar(select(BallotRow.id).where(BallotRow.study_id == name).limit(1)) is not None
    if begun and phase is Phase.PILOT:
        raise StudyRefused(BEGUN_PILOT.format(id=study_id))
    await reset(session, name)
    for table in (AnswerRow, ItemRow, StudyTextsRow):
        await session.execute(delete(table).where(table.study_id == name))
    definition = {**study.definition, "id": name}
    if phase is Phase.PREVIEW:
        definition = {**definition, "quota": None, "allow": []}
        definition.pop("require_id", None)
        unlimited = [{**condition, "quota": None} for condition in definition.get("conditions", ())]
        definition["conditions"] = unlimited
    whole = json.dumps(definition, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    row = await session.get(StudyRow, name)
    if row is None:
        row = StudyRow(id=name, created_at=at, phase=phase.value, copy_of=study_id)
        session.add(row)
    row.kind, row.definition, row.texts_version = study.kind, definition, study.texts_version
    row.definition_sha256, row.ended_at = hashlib.sha256(whole.encode("utf-8")).hexdigest(), None
    await session.flush()
    await _copy_rows(session, study_id, name)
    return name


async def _copy_rows(session: AsyncSession, study_id: str, name: str) -> None:
    texts = await session.execute(select(*StudyTextsRow.__table__.c).where(StudyTextsRow.study_id == study_id))
    session.add_all(StudyTextsRow(**{**row, "study_id": name}) for row in texts.mappings())
    items: dict[str, str] = {}
    for row in (await session.execute(select(*ItemRow.__table__.c).where(ItemRow.study_id == study_id))).mappings():
        items[row["id"]] = str(uuid.uuid4())
        session.add(ItemRow(**{**row, "id": items[row["id"]], "study_id": name}))
    await session.flush()
    answers = select(*AnswerRow.__table__.c).where(AnswerRow.study_id == study_id, AnswerRow.item_id.is_not(None))
    for row in (await session.execute(answers)).mappings():
        own = {"id": str(uuid.uuid4()), "study_id": name, "item_id": items[row["item_id"]]}
        session.add(AnswerRow(**{**row, **own}))


async def reset(session: AsyncSession, name: str) -> tuple[int, int]:
    """Take away the people, ballots and votes of a copy, and return how many people and votes they were."""
    people = await session.scalar(select(func.count()).where(EnrolmentRow.study_id == name))
    votes = await session.scalar(select(func.count()).where(VoteRow.study_id == name))
    await delete_ballot_rows(session, BallotRow.study_id == name)
    await session.execute(delete(EnrolmentRow).where(EnrolmentRow.study_id == name))
    await mark_unscrubbed(session)
    return int(people or 0), int(votes or 0)
