"""How people went through a study: numbers of who was turned away or erased, and the people who are stored, by how far
they came.

A visit that was not let in and a person who was erased leave a number and nothing else, so visits are counted and not
people: whoever comes twice is counted twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, literal, select, union
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db.exclusions import excluded
from heard.db.study_records import FlowReason
from heard.db.study_tables import BallotRow, EnrolmentRow, FlowCountRow, VoteRow
from heard.db.tables import ConsentRow
from heard.db.transaction import transact
from heard.db.vote_reads import failing, refusing


@dataclass(frozen=True, slots=True)
class PeopleCount:
    """The number of people of a study who are alike in all of this."""

    people: int
    allows: bool
    """Whether the newest answer to the notice allows the chat and research."""
    allowed_once: bool
    """Whether an earlier one did, or this one."""
    condition: str | None
    failed: bool
    """Whether an attention item was failed."""
    ballots: bool
    votes: bool
    """Whether a vote is stored, a skip too."""
    counting: bool
    """Whether any of the votes counts, by the rules that the read was given."""
    completed: bool
    """Whether the person reached the end."""
    excluded: bool = False
    """Whether whoever runs the study has excluded the person from its results."""
    screened_out: bool = False
    """Whether an answer, or attention items that were failed, sent the person away."""


@dataclass(frozen=True, slots=True)
class FlowCounts:
    """One snapshot of a study's people."""

    people: Sequence[PeopleCount]
    numbers: dict[FlowReason, int] = field(default_factory=dict)
    """Reasons without any are absent."""
    external_ids: frozenset[str] = frozenset()
    """External ids of people who are stored."""


async def count(session: AsyncSession, study_id: str, reason: FlowReason) -> None:
    """Add one to a number of a study. Raises StoreGone if there is no such study."""
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row: Any = insert(FlowCountRow).values(study_id=study_id, reason=reason.value, number=1)
    more = {"number": FlowCountRow.number + 1}
    await session.execute(row.on_conflict_do_update(index_elements=["study_id", "reason"], set_=more))


async def count_erased(session: AsyncSession, participant_id: str) -> None:
    """Count a person who is about to be erased in each study in which they take part."""
    taking_part = await session.scalars(
        union(
            select(BallotRow.study_id).where(BallotRow.participant_id == participant_id),
            select(EnrolmentRow.study_id).where(EnrolmentRow.participant_id == participant_id),
        )
    )
    for study_id in sorted(taking_part):  # in one order, so that two who are erased at once do not wait for each other
        await count(session, study_id, FlowReason.ERASED)


async def flow_counts(
    engine: AsyncEngine, study_id: str, *, with_leaks: bool, min_seconds: float | None, condition: str | None
) -> FlowCounts:
    """Return the people of a study, those with ballots of a live one and no enrolment too. Raises StoreError."""

    async def work(session: AsyncSession) -> FlowCounts:
        counting: list[ColumnElement[bool]] = [VoteRow.attention.is_(None)]
        counting += [] if with_leaks else [VoteRow.leaks == ""]
        counting += [] if min_seconds is None else [VoteRow.seconds >= min_seconds]
        counting += [] if condition is None else [VoteRow.condition == condition]
        found = await session.execute(_counted(study_id, and_(*counting)))
        people = [
            PeopleCount(
                people=row[10], allows=bool(row[0]), allowed_once=bool(row[1]), condition=row[2], failed=bool(row[3]),
                ballots=bool(row[4]), votes=bool(row[5]), counting=bool(row[6]), completed=bool(row[7]),
                excluded=bool(row[8]), screened_out=bool(row[9]),
            )
            for row in found
        ]  # fmt: skip
        numbers = await session.execute(
            select(FlowCountRow.reason, FlowCountRow.number).where(FlowCountRow.study_id == study_id)
        )
        ids = await session.scalars(
            select(EnrolmentRow.external_id).where(
                EnrolmentRow.study_id == study_id, EnrolmentRow.external_id.is_not(None)
            )
        )
        return FlowCounts(
            people, {FlowReason(reason): number for reason, number in numbers}, frozenset(one for one in ids if one)
        )

    return await transact(engine, work, write=False)


def _counted(study_id: str, counting: ColumnElement[bool]) -> Select[Any]:
    who = union(
        select(EnrolmentRow.participant_id.label("id")).where(EnrolmentRow.study_id == study_id),
        select(BallotRow.participant_id).where(BallotRow.study_id == study_id),
    ).subquery("who")
    id_ = who.c.id
    vote = exists().where(VoteRow.participant_id == id_, VoteRow.study_id == study_id)
    ballot = exists().where(BallotRow.participant_id == id_, BallotRow.study_id == study_id)
    research = exists().where(ConsentRow.participant_id == id_, ConsentRow.chat, ConsentRow.research)
    of_ballot = (
        select(func.min(BallotRow.condition))
        .where(BallotRow.participant_id == id_, BallotRow.study_id == study_id)
        .scalar_subquery()
    )

    def is_it(holds: Any, name: str) -> Any:
        return case((holds, literal(1)), else_=literal(0)).label(name)

    rows = (
        select(
            is_it(id_.not_in(refusing()), "allows"),
            is_it(research, "allowed_once"),
            func.coalesce(EnrolmentRow.condition, of_ballot).label("condition"),
            is_it(id_.in_(failing(study_id)), "failed"),
            is_it(ballot, "ballots"),
            is_it(vote, "votes"),
            is_it(vote.where(counting), "counting"),
            is_it(EnrolmentRow.completed_at.is_not(None), "completed"),
            is_it(id_.in_(excluded(study_id)), "excluded"),
            is_it(EnrolmentRow.screened_out_at.is_not(None), "screened_out"),
        )
        .select_from(who)
        .outerjoin(EnrolmentRow, (EnrolmentRow.participant_id == id_) & (EnrolmentRow.study_id == study_id))
        .subquery("rows")
    )
    return select(*rows.c, func.count()).group_by(*rows.c)
