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

from sqlalchemy import ColumnElement, Select, func, literal, not_, or_, select, text, union, union_all
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from heard.db.exclusions import excluded
from heard.db.study_records import Choice, Phase
from heard.db.study_tables import AnswerRow, SlotRow, StudyRow, VoteRow
from heard.db.tables import ConsentRow, ParticipantRow
from heard.db.transaction import transact

_CHUNK_ROWS = 20_000
"""Rows fetched at a time."""
# In the order of the index ix_vote_counts: SQLite then groups a million rows without sorting them.
_CELL_COLUMNS: tuple[InstrumentedAttribute[Any], ...] = (
    VoteRow.sources, VoteRow.unvotable, VoteRow.leaks, VoteRow.choice, VoteRow.most, VoteRow.least, VoteRow.attention,
    VoteRow.condition,
)  # fmt: skip
Slow = tuple[ColumnElement[bool], ...]
"""Conditions on how long a vote took; empty for all votes."""
_ALL, _REFUSING, _EXCLUDED, _FAILING = "all", "refusing", "excluded", "failing"


_BETWEEN = "\x1f"
"""Between ids in one text: the unit separator of ASCII, which stands in no id."""


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
        return _votable(len(self.sources), self.unvotable)


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
    too_fast: int = 0
    """Rows of the study that are in none of these, as they took less time than was asked for."""


@dataclass(frozen=True, slots=True)
class VoteRows:
    """Votes of the people who allow research and are not excluded: arrays of equal length with one entry for each vote.

    People are numbered anew in every read; their ids stay in the database.
    """

    cells: list[Cell] = field(default_factory=list)
    cell: "array[int]" = field(default_factory=lambda: array("i"))
    """Index into `cells`."""
    person: "array[int]" = field(default_factory=lambda: array("i"))
    """0 .. number of people - 1."""
    item: "array[int]" = field(default_factory=lambda: array("i"))
    """Index into `items`; -1 in a live conversation."""
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    """Only with details: how long the vote took, 0 or more."""
    items: list[str] = field(default_factory=list)
    """Only with details: ids of the survey's items that were judged."""
    ballots: dict[int, str] = field(default_factory=dict)
    """Only with details, in a live conversation: the ballot's id, by the place of the vote in the arrays."""
    failing: set[int] = field(default_factory=set)
    """People who failed an attention item."""


@dataclass(frozen=True, slots=True)
class TrialRows:
    """Showings of answers in a trial of improvement, to the people who allow research: arrays of equal length with one
    entry for each showing. Skipped ballots and attention items do not count."""

    sources: list[str] = field(default_factory=list)
    conditions: list[str | None] = field(default_factory=list)
    source: "array[int]" = field(default_factory=lambda: array("i"))
    """Index into `sources`."""
    answer: "array[int]" = field(default_factory=lambda: array("i"))
    """0 .. number of answers - 1: an answer of a survey is shown to many."""
    person: "array[int]" = field(default_factory=lambda: array("i"))
    assigned: "array[int]" = field(default_factory=lambda: array("b"))
    """Whether the answer was assigned to the treatment, whatever its effect."""
    most: "array[int]" = field(default_factory=lambda: array("b"))
    leak: "array[int]" = field(default_factory=lambda: array("b"))
    """Whether any answer on the ballot gave its source away."""
    failing: "array[int]" = field(default_factory=lambda: array("b"))
    """Whether the person failed an attention item."""
    condition: "array[int]" = field(default_factory=lambda: array("i"))
    """Index into `conditions`."""


@dataclass(frozen=True, slots=True)
class StudyVotes:
    """One snapshot of a study's votes. `rows` and `trial` are empty unless asked for."""

    counts: VoteCounts
    rows: VoteRows
    trial: TrialRows


async def read_votes(
    engine: AsyncEngine, study_id: str, *, rows: bool = False, details: bool = False, min_seconds: float | None = None
) -> StudyVotes:
    """Return the votes of one study, with `rows` also row by row and those of its trial.

    With `min_seconds` votes that took less are only counted; whether a person failed an attention item still depends on
    all their votes. Either takes one pass over an index; with `details`, or `min_seconds`, the rows take one over the
    table, and ten times as long. A study that does not exist has no votes. Raises StoreError.
    """

    async def work(session: AsyncSession) -> StudyVotes:
        if session.get_bind().dialect.name == "postgresql":
            # SQLite reads one snapshot anyway.
            await session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        slow = () if min_seconds is None else (VoteRow.seconds >= min_seconds,)
        study = await session.get(StudyRow, study_id)
        if study is not None and study.phase == Phase.PREVIEW.value:
            return StudyVotes(VoteCounts(), VoteRows(), TrialRows())  # such votes count nowhere
        if not rows:
            return StudyVotes(await _counts(session, study_id, slow), VoteRows(), TrialRows())
        if details or slow:
            counts, read = await _counts(session, study_id, slow), await _detailed_rows(session, study_id, slow)
        else:
            counts, read = await _rows(session, study_id)
        return StudyVotes(counts, read, await _trial(session, study_id, slow))

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


async def _counts(session: AsyncSession, study_id: str, slow: Slow) -> VoteCounts:
    everybody = (
        select(literal(_ALL).label("whose"), *_CELL_COLUMNS, func.count().label("votes"))
        .where(VoteRow.study_id == study_id, *slow)
        .group_by(*_CELL_COLUMNS)
    )
    refusing_ids, failing_ids = refusing().subquery("refusing_ids"), failing(study_id).subquery("failing_ids")
    counted = VoteRow.participant_id.not_in(refusing())
    excluded_ids = excluded(study_id).subquery("excluded_ids")
    found = await session.execute(
        union_all(
            everybody,
            _of_people(_REFUSING, study_id, refusing_ids).where(*slow),
            _of_people(_EXCLUDED, study_id, excluded_ids).where(counted, *slow),
            _of_people(_FAILING, study_id, failing_ids).where(
                counted, VoteRow.participant_id.not_in(excluded(study_id)), *slow
            ),
        )
    )
    counts: dict[str, dict[Cell, int]] = {_ALL: {}, _REFUSING: {}, _EXCLUDED: {}, _FAILING: {}}
    for row in found:
        counts[row[0]][_cell(row[1:-1])] = row[-1]
    too_fast = 0
    if slow:
        fast = select(func.count()).where(VoteRow.study_id == study_id, *map(not_, slow))
        too_fast = await session.scalar(fast) or 0
    return VoteCounts(counts[_ALL], counts[_REFUSING], counts[_EXCLUDED], counts[_FAILING], too_fast)


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


async def _rows(session: AsyncSession, study_id: str) -> tuple[VoteCounts, VoteRows]:
    """Return the counts and the rows. The database sends one row for each cell, with the people and items of its votes
    in one text: a Python object for each column of each vote would take ten times as long."""
    silent = {row for (row,) in await session.execute(refusing())}
    cut = set(await session.scalars(excluded(study_id))) - silent
    out = silent | cut
    failed = {row for (row,) in await session.execute(failing(study_id))}
    who_and_what = VoteRow.participant_id.concat(_BETWEEN).concat(func.coalesce(VoteRow.item_id, ""))
    query = (
        select(*_CELL_COLUMNS, func.aggregate_strings(who_and_what, _BETWEEN))
        .where(VoteRow.study_id == study_id)
        .group_by(*_CELL_COLUMNS)
    )
    counts, read = VoteCounts(), VoteRows()
    every_person: list[str] = []
    every_item: list[str] = []
    for row in await session.execute(query):
        cell, parts = _cell(row[:-1]), row[-1].split(_BETWEEN)
        who, what = parts[::2], parts[1::2]
        counts.everybody[cell] = len(who)
        if not out.isdisjoint(who):
            kept = [(person, item) for person, item in zip(who, what, strict=True) if person not in out]
            if number := sum(person in silent for person in who):
                counts.refusing[cell] = number
            if number := sum(person in cut for person in who):
                counts.excluded[cell] = number
            who, what = [person for person, _ in kept], [item for _, item in kept]
        if failed and (number := sum(person in failed for person in who)):
            counts.failing[cell] = number
        read.cell.extend(array("i", [len(read.cells)]) * len(who))
        read.cells.append(cell)
        every_person += who
        every_item += what
    people = {person: number for number, person in enumerate(dict.fromkeys(every_person))}
    items = {item: number for number, item in enumerate(one for one in dict.fromkeys(every_item) if one)} | {"": -1}
    read.person.extend(map(people.__getitem__, every_person))
    read.item.extend(map(items.__getitem__, every_item))
    read.failing.update(number for person, number in people.items() if person in failed)
    return counts, read


async def _detailed_rows(session: AsyncSession, study_id: str, slow: Slow) -> VoteRows:
    """Return the rows with what only a query by vote can tell: seconds, and ids of items and ballots."""
    out = {row for (row,) in await session.execute(refusing())}
    out |= set(await session.scalars(excluded(study_id)))
    failed = {row for (row,) in await session.execute(failing(study_id))}
    query = select(VoteRow.participant_id, VoteRow.item_id, VoteRow.ballot_id, VoteRow.seconds, *_CELL_COLUMNS).where(
        VoteRow.study_id == study_id, *slow
    )
    read = VoteRows()
    cells: dict[tuple[Any, ...], int] = {}
    people: dict[str, int] = {}
    items: dict[str | None, int] = {None: -1}
    stream = await session.stream(query, execution_options={"yield_per": _CHUNK_ROWS})
    async for part in stream.partitions():
        for row in part:
            person, item, key = row[0], row[1], tuple(row[4:])
            if person in out:
                continue
            if key not in cells:
                cells[key] = len(read.cells)
                read.cells.append(_cell(key))
            if item is None:
                read.ballots[len(read.cell)] = row[2]
            read.cell.append(cells[key])
            read.person.append(people.setdefault(person, len(people)))
            read.item.append(items.setdefault(item, len(items) - 1))
            read.seconds.append(row[3])
    read.items.extend(item for item in items if item is not None)
    read.failing.update(number for person, number in people.items() if person in failed)
    return read


async def _trial(session: AsyncSession, study_id: str, slow: Slow) -> TrialRows:
    in_trial = (AnswerRow.study_id == study_id) & AnswerRow.improve_assigned.is_not(None)
    read = TrialRows()
    if await session.scalar(select(AnswerRow.id).where(in_trial).limit(1)) is None:
        return read
    out = {row for (row,) in await session.execute(refusing())}
    out |= set(await session.scalars(excluded(study_id)))
    failed = {row for (row,) in await session.execute(failing(study_id))}
    query = (
        select(
            AnswerRow.source, AnswerRow.id, VoteRow.participant_id, AnswerRow.improve_assigned,
            VoteRow.most, SlotRow.position, VoteRow.leaks, VoteRow.condition,
        )
        .select_from(AnswerRow)
        .join(SlotRow, SlotRow.answer_id == AnswerRow.id)
        .join(VoteRow, VoteRow.ballot_id == SlotRow.ballot_id)
        .where(
            in_trial,
            SlotRow.votable.is_(True),
            VoteRow.choice != Choice.SKIPPED.value,
            VoteRow.attention.is_(None),
            *slow,
        )
    )  # fmt: skip
    sources: dict[str, int] = {}
    conditions: dict[str | None, int] = {}
    answers: dict[str, int] = {}
    people: dict[str, int] = {}
    stream = await session.stream(query, execution_options={"yield_per": _CHUNK_ROWS})
    async for part in stream.partitions():
        for source, answer, person, assigned, most, position, leaks, condition in part:
            if person in out:
                continue
            read.source.append(sources.setdefault(source, len(sources)))
            read.answer.append(answers.setdefault(answer, len(answers)))
            read.person.append(people.setdefault(person, len(people)))
            read.assigned.append(bool(assigned))
            read.most.append(most == position)
            read.leak.append(leaks != "")
            read.failing.append(person in failed)
            read.condition.append(conditions.setdefault(condition, len(conditions)))
    read.sources.extend(sources)
    read.conditions.extend(conditions)
    return read


def _cell(values: Sequence[Any]) -> Cell:
    sources, unvotable, leaks, choice, most, least, attention, condition = values
    return Cell(
        _sources(sources), _positions(unvotable), _positions(leaks), Choice(choice), most, least, attention, condition
    )


@lru_cache(maxsize=1_000)
def _votable(size: int, unvotable: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(place for place in range(1, size + 1) if place not in unvotable)


@lru_cache(maxsize=10_000)
def _sources(listed: str) -> tuple[str, ...]:
    return tuple(json.loads(listed))


@lru_cache(maxsize=1_000)
def _positions(listed: str) -> tuple[int, ...]:
    return tuple(int(position) for position in listed.split(",") if position)
