"""The reader of votes for results: one study's votes as counts, or as rows without anybody's id.

Everything is read in one snapshot, so that the counts add up. A changed vote counts once, as it is now. Nothing is left
out here; the votes come in groups, so that the caller can exclude some, by consent first of all.
"""

import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, case, func, literal, or_, select, text, union, union_all
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from heard.db.exclusions import excluded
from heard.db.study_records import Choice
from heard.db.study_tables import AnswerRow, BallotRow, SlotRow, VoteRow
from heard.db.tables import ConsentRow, ParticipantRow
from heard.db.transaction import transact

_CHUNK_ROWS = 20_000
"""Rows fetched at a time."""
# In the order of the index ix_vote_counts: SQLite then groups a million rows without sorting them.
_CELL_COLUMNS: tuple[InstrumentedAttribute[Any], ...] = (
    VoteRow.sources, VoteRow.unvotable, VoteRow.leaks, VoteRow.choice, VoteRow.most, VoteRow.least, VoteRow.attention,
    VoteRow.condition,
)  # fmt: skip
_ALL, _REFUSING, _EXCLUDED, _FAILING = "all", "refusing", "excluded", "failing"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the contingency table: the common values of votes that count as equal. Positions count from 1."""

    sources: tuple[str, ...]
    """In the order of the positions."""
    unvotable: tuple[int, ...]
    """Positions that could not be voted for."""
    leaks: tuple[int, ...]
    """Positions whose answer gave its source away."""
    choice: Choice
    most: int | None
    least: int | None
    attention: str | None
    """For an attention item: the source that an attentive person marks."""
    condition: str | None

    @property
    def votable(self) -> tuple[int, ...]:
        """Positions that could be voted for."""
        return tuple(place for place in range(1, len(self.sources) + 1) if place not in self.unvotable)


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """The number of a study's votes in each cell."""

    everybody: dict[Cell, int] = field(default_factory=dict)
    """Every row of the study."""
    refusing: dict[Cell, int] = field(default_factory=dict)
    """Of those: votes of people whose newest answer does not allow chat and research."""
    excluded: dict[Cell, int] = field(default_factory=dict)
    """Of those, and not in `refusing`: votes of people whom the study excludes."""
    failing: dict[Cell, int] = field(default_factory=dict)
    """Of those, and in neither: votes of people who failed an attention item."""


@dataclass(frozen=True, slots=True)
class VoteRows:
    """Votes of the people who allow research and are not excluded: three arrays of equal length with one
    entry for each vote.

    People are numbered anew in every read; their ids stay in the database.
    """

    cells: list[Cell] = field(default_factory=list)
    cell: "array[int]" = field(default_factory=lambda: array("i"))
    """Index into `cells`."""
    person: "array[int]" = field(default_factory=lambda: array("i"))
    """0 .. number of people - 1."""
    item: "array[int]" = field(default_factory=lambda: array("i"))
    """A number for each of the survey's items; -1 in a live conversation."""
    failing: set[int] = field(default_factory=set)
    """People who failed an attention item."""


@dataclass(frozen=True, slots=True)
class TrialCount:
    """The number of showings with these values, of answers in a trial of improvement. Skipped ballots do not count."""

    source: str
    assigned: bool
    """Whether these answers were assigned to the treatment, whatever its effect."""
    most: bool
    leak: bool
    """Whether any answer on the ballot gave its source away."""
    failing: bool
    """Whether the person failed an attention item."""
    condition: str | None
    showings: int


@dataclass(frozen=True, slots=True)
class StudyVotes:
    """One snapshot of a study's votes. `rows` and `trial` are empty unless asked for."""

    counts: VoteCounts
    rows: VoteRows
    trial: list[TrialCount]


async def read_votes(engine: AsyncEngine, study_id: str, *, rows: bool = False) -> StudyVotes:
    """Return the votes of one study, with `rows` also row by row and those of its trial.

    Counts take one pass over an index, rows one over the table. A study that does not exist has no votes. Raises
    StoreError.
    """

    async def work(session: AsyncSession) -> StudyVotes:
        if session.get_bind().dialect.name == "postgresql":
            # SQLite reads one snapshot anyway.
            await session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        counts = await _counts(session, study_id)
        if not rows:
            return StudyVotes(counts, VoteRows(), [])
        return StudyVotes(counts, await _rows(session, study_id), await _trial(session, study_id))

    return await transact(engine, work, write=False)


def refusing() -> Select[Any]:
    """Return a query of the ids of people whose newest answer does not allow both chat and research, or is missing."""
    later = aliased(ConsentRow)
    newer = select(later.id).where(later.participant_id == ConsentRow.participant_id, later.id > ConsentRow.id)
    said_no = select(ConsentRow.participant_id.label("id")).where(
        or_(ConsentRow.chat.is_(False), ConsentRow.research.is_(False)), ~newer.exists()
    )
    answered = select(ConsentRow.id).where(ConsentRow.participant_id == ParticipantRow.id)
    silent = select(ParticipantRow.id).where(~answered.exists())
    return select(union(said_no, silent).subquery("refusing").c.id)


def failing(study_id: str) -> Select[Any]:
    """Return a query of the ids of people who, on an attention item, marked any other source than it names, or none."""
    return (
        select(VoteRow.participant_id.label("id"))
        .outerjoin(SlotRow, (SlotRow.ballot_id == VoteRow.ballot_id) & (SlotRow.position == VoteRow.most))
        .where(
            VoteRow.study_id == study_id,
            VoteRow.attention.is_not(None),
            or_(SlotRow.source.is_(None), SlotRow.source != VoteRow.attention),
        )
        .distinct()
    )


async def _counts(session: AsyncSession, study_id: str) -> VoteCounts:
    everybody = (
        select(literal(_ALL).label("whose"), *_CELL_COLUMNS, func.count().label("votes"))
        .where(VoteRow.study_id == study_id)
        .group_by(*_CELL_COLUMNS)
    )
    refusing_ids, failing_ids = refusing().subquery("refusing_ids"), failing(study_id).subquery("failing_ids")
    counted = VoteRow.participant_id.not_in(refusing())
    excluded_ids = excluded(study_id).subquery("excluded_ids")
    found = await session.execute(
        union_all(
            everybody,
            _of_people(_REFUSING, study_id, refusing_ids),
            _of_people(_EXCLUDED, study_id, excluded_ids).where(counted),
            _of_people(_FAILING, study_id, failing_ids).where(
                counted, VoteRow.participant_id.not_in(excluded(study_id))
            ),
        )
    )
    counts: dict[str, dict[Cell, int]] = {_ALL: {}, _REFUSING: {}, _EXCLUDED: {}, _FAILING: {}}
    for row in found:
        counts[row[0]][_cell(row[1:-1])] = row[-1]
    return VoteCounts(counts[_ALL], counts[_REFUSING], counts[_EXCLUDED], counts[_FAILING])


def _of_people(whose: str, study_id: str, people: Any) -> Select[Any]:
    """Return a query that counts the votes of some people, looked up one by one as they are few as a rule."""
    return (
        select(literal(whose), *_CELL_COLUMNS, func.count())
        .select_from(people)
        .join(VoteRow, VoteRow.participant_id == people.c.id)
        # Joined to nothing, so that SQLite cannot take the index of the whole study instead of the one of people.
        .where(VoteRow.study_id.concat("") == study_id)
        .group_by(*_CELL_COLUMNS)
    )


async def _rows(session: AsyncSession, study_id: str) -> VoteRows:
    out = {row for (row,) in await session.execute(refusing())}
    out |= set(await session.scalars(excluded(study_id)))
    failed = {row for (row,) in await session.execute(failing(study_id))}
    query = (
        select(VoteRow.participant_id, BallotRow.item_id, *_CELL_COLUMNS)
        .join(BallotRow, BallotRow.id == VoteRow.ballot_id)
        .where(VoteRow.study_id == study_id)
    )
    read = VoteRows()
    cells: dict[tuple[Any, ...], int] = {}
    people: dict[str, int] = {}
    items: dict[str | None, int] = {None: -1}
    stream = await session.stream(query, execution_options={"yield_per": _CHUNK_ROWS})
    async for part in stream.partitions():
        for row in part:
            person, item, key = row[0], row[1], tuple(row[2:])
            if person in out:
                continue
            if key not in cells:
                cells[key] = len(read.cells)
                read.cells.append(_cell(key))
            read.cell.append(cells[key])
            read.person.append(people.setdefault(person, len(people)))
            read.item.append(items.setdefault(item, len(items) - 1))
    read.failing.update(number for person, number in people.items() if person in failed)
    return read


async def _trial(session: AsyncSession, study_id: str) -> list[TrialCount]:
    in_trial = (AnswerRow.study_id == study_id) & AnswerRow.improve_assigned.is_not(None)
    if await session.scalar(select(AnswerRow.id).where(in_trial).limit(1)) is None:
        return []

    def is_it(holds: Any) -> Any:
        return case((holds, 1), else_=0)

    columns = (
        AnswerRow.source,
        is_it(AnswerRow.improve_assigned.is_(True)).label("assigned"),
        is_it(VoteRow.most == SlotRow.position).label("most"),
        is_it(VoteRow.leaks != "").label("leak"),
        is_it(VoteRow.participant_id.in_(failing(study_id))).label("failing"),
        VoteRow.condition.label("condition"),
    )
    showings = (
        select(*columns)
        .select_from(AnswerRow)
        .join(SlotRow, SlotRow.answer_id == AnswerRow.id)
        .join(VoteRow, VoteRow.ballot_id == SlotRow.ballot_id)
        .where(
            in_trial,
            SlotRow.votable.is_(True),
            VoteRow.choice != Choice.SKIPPED.value,
            VoteRow.attention.is_(None),
            VoteRow.participant_id.not_in(refusing()),
            VoteRow.participant_id.not_in(excluded(study_id)),
        )
        .subquery()
    )
    found = await session.execute(select(*showings.c, func.count()).group_by(*showings.c))
    return [
        TrialCount(
            source=row[0], assigned=bool(row[1]), most=bool(row[2]), leak=bool(row[3]), failing=bool(row[4]),
            condition=row[5], showings=row[6],
        )
        for row in found
    ]  # fmt: skip


def _cell(values: Sequence[Any]) -> Cell:
    sources, unvotable, leaks, choice, most, least, attention, condition = values
    return Cell(
        _sources(sources), _positions(unvotable), _positions(leaks), Choice(choice), most, least, attention, condition
    )


@lru_cache(maxsize=10_000)
def _sources(listed: str) -> tuple[str, ...]:
    return tuple(json.loads(listed))


@lru_cache(maxsize=1_000)
def _positions(listed: str) -> tuple[int, ...]:
    return tuple(int(position) for position in listed.split(",") if position)
