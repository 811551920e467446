"""Exclusions of people from a study's results, by a rule or by hand: made and lifted, with a reason, never deleted.

The functions that take a session are inside a transaction of the caller. Votes stay where they are; who reads them
leaves out the people of `excluded`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.desk_records import Exclusion
from heard.db.desk_tables import ExclusionRow

_COLUMNS: list[Any] = [getattr(ExclusionRow, field.name) for field in fields(Exclusion)]


def excluded(study_id: str) -> Select[Any]:
    """Return a query of the ids of the people who are excluded from a study's results."""
    return select(ExclusionRow.participant_id.label("id")).where(_in_force(study_id)).distinct()


async def of_study(session: AsyncSession, study_id: str) -> dict[str, list[Exclusion]]:
    """Return every exclusion of a study, lifted ones too, by person, oldest first."""
    query: Any = select(ExclusionRow.participant_id, *_COLUMNS).where(ExclusionRow.study_id == study_id)
    query = query.order_by(ExclusionRow.id)
    found: dict[str, list[Exclusion]] = {}
    for row in await session.execute(query):
        found.setdefault(row[0], []).append(Exclusion(*row[1:]))
    return found


async def exclusions_of(session: AsyncSession, study_id: str, participant_id: str) -> list[Exclusion]:
    """Return every exclusion of a person, lifted ones too, oldest first."""
    own = (ExclusionRow.study_id == study_id) & (ExclusionRow.participant_id == participant_id)
    query: Any = select(*_COLUMNS).where(own).order_by(ExclusionRow.id)
    rows: Any = await session.execute(query)
    return [Exclusion(*row) for row in rows]


async def exclude(session: AsyncSession, study_id: str, people: Mapping[str, str], new: Exclusion) -> list[str]:
    """Exclude people (id -> reason) with the rule, the name and the time of `new`. Returns the ids of those whom the
    same rule has not excluded before: run again it adds nobody twice, and nobody whom a lead has included again. By
    hand always counts as new."""
    before = await of_study(session, study_id)
    added = [
        person for person in people if new.rule is None or all(one.rule != new.rule for one in before.get(person, ()))
    ]
    session.add_all(
        ExclusionRow(
            study_id=study_id, participant_id=person, rule=new.rule, reason=people[person], made_by=new.made_by,
            made_at=new.made_at,
        )
        for person in added
    )  # fmt: skip
    return added


async def copy(session: AsyncSession, study_id: str, before: str, after: str) -> None:
    """Give a person who goes on under another id the exclusions that are in force."""
    own = _in_force(study_id) & (ExclusionRow.participant_id == before)
    for row in await session.scalars(select(ExclusionRow).where(own).order_by(ExclusionRow.id)):
        values = {name: getattr(row, name) for name in ("rule", "reason", "made_by", "made_at")}
        session.add(ExclusionRow(study_id=study_id, participant_id=after, **values))


async def lift(session: AsyncSession, study_id: str, people: Sequence[str], reason: str, by: str, at: datetime) -> int:
    """Lift every exclusion of these people that is in force. Returns how many were."""
    lifted = 0
    for person in people:
        done = await session.execute(
            update(ExclusionRow)
            .where(_in_force(study_id), ExclusionRow.participant_id == person)
            .values(lifted_by=by, lifted_at=at, lifted_reason=reason)
        )
        lifted += int(done.rowcount)  # type: ignore[attr-defined]
    return lifted


def exclusion_columns(people: Any) -> list[Any]:
    """Return subqueries for a query of (study_id, participant_id): the rules that exclude each person ("hand" for one
    by hand) and the reasons, as texts joined by "; " and labelled; null for whoever is not excluded."""
    own = (ExclusionRow.study_id == people.c.study_id) & (ExclusionRow.participant_id == people.c.participant_id)
    rule = func.coalesce(ExclusionRow.rule, "hand")
    return [
        select(func.aggregate_strings(column, "; "))
        .where(own, ExclusionRow.lifted_at.is_(None))
        .scalar_subquery()
        .label(name)
        for name, column in (("excluded_by", rule), ("excluded_because", ExclusionRow.reason))
    ]


def _in_force(study_id: str) -> Any:
    return (ExclusionRow.study_id == study_id) & ExclusionRow.lifted_at.is_(None)
