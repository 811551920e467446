"""The reader of a research export: studies and votes in batches of columns, from one snapshot of the database.

Only people whose newest answer to the notice allows the chat and research are included; what is left out is counted. A
batch is a dict from column names to values, one for each row. Times are as the driver returns them: aware datetimes, or
SQLite's texts in UTC.
"""

import sqlite3
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Select, String, Text, and_, case, func, literal, select, text, type_coerce, union_all
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.orm import aliased

from heard.db.column_types import JsonList, JsonText
from heard.db.errors import StoreError
from heard.db.exclusions import exclusion_columns
from heard.db.research_export_slots import Arrangements, ExportSlots
from heard.db.study_records import Phase, StudyKind
from heard.db.study_tables import AnswerRow, BallotRow, EnrolmentRow, ItemRow, SlotRow, StudyRow, VoteChangeRow, VoteRow
from heard.db.tables import ConsentRow, ConversationRow, MessageRow
from heard.db.translate import translate

Batch = dict[str, Sequence[Any]]
Engine = AsyncEngine
Ids = Collection[str]

BALLOTS = 5000
"""Ballots, or people, in one batch."""
TEXTS = 500
"""Rows in a batch whose rows hold long texts."""
IDS = 5000
"""Ids of answers in one statement."""

ALLOWED = "exported"
NEVER_ASKED, WITHDRAWN, NOT_FOR_RESEARCH = "never_consented", "withdrawn", "chat_but_not_research"
"""Why a person is left out: no answer to the notice is stored; the newest one allows nothing; or the chat alone."""


@dataclass(frozen=True, slots=True)
class Total:
    """People, ballots and votes of one study and one kind of consent."""

    study: str
    consent: str
    """ALLOWED, or why these are left out."""
    people: int
    ballots: int
    votes: int
    changes: int


class ExportReader:
    """Reads one study, or all but `but` if `study` is None, from one snapshot. Every method may raise StoreError."""

    def __init__(self, connection: AsyncConnection, study: str | None, but: Ids = ()) -> None:
        self._connection = connection
        self._study, self._but = study, sorted(but)
        self._on_postgres = connection.dialect.name == "postgresql"

    async def revision(self) -> str:
        """Return the migration revision of the database."""
        return str(await self._connection.scalar(text("SELECT version_num FROM alembic_version")))

    async def study_ids(self) -> list[str]:
        """Return the ids of all studies that can be exported, pilots too, previews never."""
        query = select(StudyRow.id).where(StudyRow.phase != Phase.PREVIEW.value)
        return list(await self._connection.scalars(query.order_by(*self.bytewise(StudyRow.id))))

    async def totals(self) -> list[Total]:
        """Return the numbers of people, ballots, votes and changes by study and consent, exported and left out.

        All rows are only counted by study; those of the people who are left out are looked up by person.
        """
        kind = case(
            (ConsentRow.id.is_(None), NEVER_ASKED),
            (~ConsentRow.chat, WITHDRAWN),
            (~ConsentRow.research, NOT_FOR_RESEARCH),
            else_=ALLOWED,
        )
        part = (await self._people()).subquery()
        # One index lookup for each person; with a list of all newest answers SQLite scans it for each.
        consent = aliased(ConsentRow)
        newest = select(func.max(consent.id)).where(consent.participant_id == part.c.participant_id).scalar_subquery()
        people: Any = (
            select(part.c.study_id, kind.label("kind"), func.count().label("people"))
            .select_from(part)
            .outerjoin(ConsentRow, ConsentRow.id == newest)
            .group_by(part.c.study_id, kind)
        )
        counts = {"ballots": _count_per_person(BallotRow, part), "votes": _count_per_person(VoteRow, part)}
        if await self._any_changes():
            counts["changes"] = _count_per_person(VoteRow, part, VoteChangeRow)
        by_person = people.add_columns(*(func.sum(count).label(name) for name, count in counts.items()))
        everything = await self._counts_by_study()
        found: dict[tuple[str, str], dict[str, int]] = {}
        for study, why, *numbers in await self._rows(by_person.where(kind != ALLOWED)):
            left = dict.fromkeys(("people", *everything), 0) | dict(
                zip(("people", *counts), map(int, numbers), strict=True)
            )
            found[study, why] = left
        for study, why, number in await self._rows(people):
            if why == ALLOWED:
                others = [left for (of_study, _), left in found.items() if of_study == study]
                rest = {name: of.get(study, 0) - sum(left[name] for left in others) for name, of in everything.items()}
                found[study, why] = {"people": int(number), **rest}
        return [Total(study, why, **numbers) for (study, why), numbers in sorted(found.items())]

    async def _counts_by_study(self) -> dict[str, dict[str, int]]:
        """Return the numbers of ballots, votes and changes by study."""
        queries: dict[str, Any] = {
            name: select(row.study_id, func.count()).where(self._of_study(row.study_id)).group_by(row.study_id)
            for name, row in (("ballots", BallotRow), ("votes", VoteRow))
        }
        of_vote: Any = select(VoteRow.study_id).where(VoteRow.ballot_id == VoteChangeRow.ballot_id).scalar_subquery()
        queries["changes"] = (
            select(of_vote, func.count()).select_from(VoteChangeRow).where(self._of_study(of_vote)).group_by(of_vote)
        )
        return {name: {study: int(number) for study, number in await self._rows(q)} for name, q in queries.items()}

    async def _rows(self, query: Any) -> Sequence[Any]:
        return (await self._connection.execute(query)).all()

    async def studies(self) -> AsyncIterator[Batch]:
        """Yield the studies, one row each."""
        definition = type_coerce(StudyRow.definition, Text).label("definition")
        query = (
            select(StudyRow.id, StudyRow.kind, definition, StudyRow.definition_sha256, raw_time(StudyRow.created_at))
            .where(self._of_study(StudyRow.id))
            .order_by(*self.bytewise(StudyRow.id))
        )
        async for batch in self._stream(query, TEXTS):
            yield batch

    async def people(self) -> AsyncIterator[Batch]:
        """Yield the people in a study: those enrolled, and those with ballots of a live one."""
        people = (await self._people()).subquery()
        counts = [
            _count_per_person(BallotRow, people).label("ballots"),
            _count_per_person(VoteRow, people).label("votes"),
            *exclusion_columns(people),
        ]
        columns = [
            getattr(EnrolmentRow, name) for name in ("external_id", "condition", "seed", "closing", "texts_version")
        ]
        enrolled = (EnrolmentRow.study_id == people.c.study_id) & (
            EnrolmentRow.participant_id == people.c.participant_id
        )
        query = (
            select(people.c.study_id, people.c.participant_id, *columns)
            .add_columns(*map(raw_time, _TIMES), *counts)
            .select_from(people)
            .outerjoin(EnrolmentRow, enrolled)
            .where(people.c.participant_id.in_(allowed_people()))
            .order_by(*self.bytewise(people.c.study_id, people.c.participant_id))
        )
        async for batch in self._stream(query, BALLOTS):
            yield batch

    async def items(self) -> AsyncIterator[Batch]:
        """Yield what was answered: the items of surveys, then the messages that were answered by a ballot."""
        nothing = literal(None, String)
        of_surveys: Any = select(
            ItemRow.study_id, ItemRow.id, ItemRow.number.label("item_number"), nothing.label("participant_id"),
            nothing.label("conversation_id"), ItemRow.message, ItemRow.attention, ItemRow.admitted_by,
            raw_time(ItemRow.admitted_at),
        ).where(self._of_study(ItemRow.study_id))  # fmt: skip
        async for batch in self._stream(of_surveys.order_by(*self.bytewise(ItemRow.study_id), ItemRow.number), TEXTS):
            yield batch
        if not await self._any_live():
            return
        of_chats = (
            select(
                BallotRow.study_id, MessageRow.id, type_coerce(None, ItemRow.number.type).label("item_number"),
                BallotRow.participant_id, BallotRow.conversation_id, MessageRow.text.label("message"),
                nothing.label("attention"), nothing.label("admitted_by"), nothing.label("admitted_at"),
            )
            .join(MessageRow, MessageRow.id == BallotRow.message_id)
            .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
            .where(self._of_study(BallotRow.study_id), BallotRow.participant_id.in_(allowed_people()))
        )  # fmt: skip
        async for batch in self._stream(of_chats.order_by(*self._by_ballot()), TEXTS):
            yield batch

    async def answers(self) -> AsyncIterator[Batch]:
        """Yield the answers of surveys, then those on exported ballots of live studies, with all columns."""
        of_surveys = (
            select(*_ANSWER_COLUMNS, ItemRow.number.label("item_number"))
            .join(ItemRow, ItemRow.id == AnswerRow.item_id)
            .where(self._of_study(AnswerRow.study_id))
            .order_by(*self.bytewise(AnswerRow.study_id), ItemRow.number, *self.bytewise(AnswerRow.source))
        )
        async for batch in self._stream(of_surveys, TEXTS):
            yield batch
        if not await self._any_live():
            return
        of_chats = (
            select(*_ANSWER_COLUMNS, type_coerce(None, ItemRow.number.type).label("item_number"))
            .select_from(BallotRow)
            .join(SlotRow, SlotRow.ballot_id == BallotRow.id)
            .join(AnswerRow, AnswerRow.id == SlotRow.answer_id)
            .where(AnswerRow.item_id.is_(None), BallotRow.item_id.is_(None), self._of_study(BallotRow.study_id))
            .where(BallotRow.participant_id.in_(allowed_people()))
            .order_by(*self._by_ballot(), SlotRow.position)
        )
        async for batch in self._stream(of_chats, TEXTS):
            yield batch

    async def answers_by_id(self, ids: Sequence[str], columns: Sequence[str]) -> list[Batch]:
        """Return these columns of the answers with these ids, in any order, as batches."""
        wanted = [column for column in _ANSWER_COLUMNS if column.key in columns]
        batches = []
        for start in range(0, len(ids), IDS):
            some = list(ids[start : start + IDS])
            condition = AnswerRow.id.in_(some)
            rows = (await self._connection.execute(select(*wanted).where(condition))).all()
            batches.append(_columns([column.key for column in wanted], rows))
        return batches

    async def ballots(self, *, messages: bool = False) -> AsyncIterator[tuple[Batch, Arrangements]]:
        """Yield ballots with their votes, whose columns are None if there is none, and their arrangements.

        `messages` adds the message that is answered; the batches are then smaller.
        """
        query = (
            select(*_BALLOT_COLUMNS, *_VOTE_COLUMNS)
            .select_from(BallotRow)
            .outerjoin(VoteRow, VoteRow.ballot_id == BallotRow.id)
        )
        if messages:
            query = query.add_columns(func.coalesce(ItemRow.message, MessageRow.text).label("message"))
            query = query.outerjoin(ItemRow, ItemRow.id == BallotRow.item_id)
            query = query.outerjoin(MessageRow, MessageRow.id == BallotRow.message_id)
        query = query.where(self._of_study(BallotRow.study_id), BallotRow.participant_id.in_(allowed_people()))
        slots = ExportSlots(self._connection)
        ordered = query.order_by(*self._by_ballot())
        async for batch in self._stream(ordered, TEXTS) if messages else self._stream_raw(ordered, BALLOTS):
            yield batch, await slots.arrangements(batch)

    async def changes(self) -> AsyncIterator[Batch]:
        """Yield votes as they were before they were changed."""
        if not await self._any_changes():
            return
        query = (
            select(
                BallotRow.study_id, BallotRow.participant_id, BallotRow.number.label("ballot_number"), *_CHANGE_COLUMNS
            )
            .join(VoteChangeRow, VoteChangeRow.ballot_id == BallotRow.id)
            .where(self._of_study(BallotRow.study_id), BallotRow.participant_id.in_(allowed_people()))
            .order_by(*self._by_ballot(), VoteChangeRow.number)
        )
        async for batch in self._stream(query, TEXTS):
            yield batch

    async def _any_live(self) -> bool:
        """Return whether there is a live study. If not, the search for messages in a million ballots is skipped."""
        live = select(StudyRow.id).where(StudyRow.kind == StudyKind.LIVE.value, self._of_study(StudyRow.id)).limit(1)
        return await self._connection.scalar(live) is not None

    async def _any_changes(self) -> bool:
        """Return whether any vote was ever changed. If not, the search through a million votes is skipped."""
        return await self._connection.scalar(select(VoteChangeRow.ballot_id).limit(1)) is not None

    async def _people(self) -> Any:
        """Return a query of (study, participant): the enrolled, and those with ballots of a live study only."""
        enrolled: Any = select(EnrolmentRow.study_id, EnrolmentRow.participant_id)
        enrolled = enrolled.where(self._of_study(EnrolmentRow.study_id))
        if not await self._any_live():
            return cast(Select[Any], enrolled)
        same = (EnrolmentRow.study_id == BallotRow.study_id) & (EnrolmentRow.participant_id == BallotRow.participant_id)
        others = (
            select(BallotRow.study_id, BallotRow.participant_id)
            .outerjoin(EnrolmentRow, same)
            .where(EnrolmentRow.study_id.is_(None), self._of_study(BallotRow.study_id))
            .distinct()
        )
        both = union_all(enrolled, others).subquery()
        everybody: Select[Any] = select(both.c.study_id, both.c.participant_id)
        return everybody

    def _of_study(self, column: Any) -> Any:
        if self._study is not None:
            return column == self._study
        of_copies = select(StudyRow.id).where(StudyRow.phase != Phase.STUDY.value)
        return and_(column.not_in(of_copies), *(column != one for one in self._but))  # `_stream_raw` knows no list

    def bytewise(self, *columns: Any) -> list[Any]:
        """Return sort columns that give the same order on every database: by bytes, whatever its collation."""
        return [column.collate("C") if self._on_postgres else column for column in columns]

    def _by_ballot(self) -> list[Any]:
        return [*self.bytewise(BallotRow.study_id, BallotRow.participant_id), BallotRow.number]

    async def rows(self, query: Select[Any]) -> AsyncIterator[Batch]:
        """Yield the rows of a query in batches, times as the driver returns them."""
        async for batch in self._stream(query, BALLOTS):
            yield batch

    async def _stream(self, query: Select[Any], size: int) -> AsyncIterator[Batch]:
        failure: StoreError
        names = [str(column.key) for column in query.selected_columns]
        try:
            async with self._connection.stream(query, execution_options={"yield_per": size}) as result:
                async for rows in result.partitions():
                    yield _columns(names, rows)
            return
        except (SQLAlchemyError, OSError) as error:
            failure = translate(error)
        raise failure

    async def _stream_raw(self, query: Select[Any], size: int) -> AsyncIterator[Batch]:
        """Like `_stream`, with the rows of SQLite's driver: for columns whose values need no conversion."""
        if self._on_postgres:
            async for batch in self._stream(query, size):
                yield batch
            return
        names = [str(column.key) for column in query.selected_columns]
        statement = query.compile(dialect=self._connection.dialect)
        values = [statement.params[name] for name in statement.positiontup or ()]
        driver: Any = (await self._connection.get_raw_connection()).driver_connection
        failure: StoreError
        try:
            async with driver.execute(statement.string, values) as cursor:
                while rows := await cursor.fetchmany(size):
                    yield _columns(names, rows)
            return
        except (sqlite3.Error, OSError) as error:
            failure = translate(DBAPIError(None, None, error))
        raise failure


@asynccontextmanager
async def export_reader(engine: AsyncEngine, study: str | None, but: Ids = ()) -> AsyncIterator[ExportReader]:
    """Open a reader in one read transaction, which does not see later writes. Raises StoreError."""
    failure: StoreError
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    try:
        async with engine.execution_options(**options).connect() as connection, connection.begin():
            if engine.dialect.name == "sqlite":  # 16 MiB of pages; with four times as many it is no faster
                await connection.execute(text("PRAGMA cache_size = -16384"))
            yield ExportReader(connection, study, but)
        return
    except (SQLAlchemyError, OSError) as error:
        failure = translate(error)
    raise failure


def _count_per_person(row: Any, people: Any, joined: Any = None) -> Any:
    """Return a subquery that counts the rows of each person, or those of `joined` by ballot."""
    own = (row.study_id == people.c.study_id) & (row.participant_id == people.c.participant_id)
    counted = select(func.count()).select_from(row).where(own)
    if joined is not None:
        counted = counted.join(joined, joined.ballot_id == row.ballot_id)
    return counted.scalar_subquery()


def allowed_people() -> Select[Any]:
    """Return a query of the people whose newest answer allows chat and research."""
    newest = select(func.max(ConsentRow.id)).group_by(ConsentRow.participant_id)
    return select(ConsentRow.participant_id).where(ConsentRow.id.in_(newest), ConsentRow.chat, ConsentRow.research)


def _columns(names: Sequence[str], rows: Sequence[Any]) -> Batch:
    values = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    return dict(zip(names, values, strict=True))


def raw_time(column: Any) -> Any:
    """Return a column of times without conversion: the caller converts a million texts faster."""
    return type_coerce(column, String).label(column.key)


def _raw_columns(row: Any, *but: str) -> list[Any]:
    """Return a table's columns without conversion: JSON stays a text, times stay as the driver returns them."""
    columns = [column for column in row.__table__.columns if column.key not in but]
    return [
        raw_time(column)
        if column.key.endswith("_at")
        else type_coerce(column, Text).label(column.key)
        if isinstance(column.type, JsonText | JsonList)
        else column
        for column in columns
    ]


_TIMES = (EnrolmentRow.started_at, EnrolmentRow.completed_at, EnrolmentRow.screened_out_at)
_ANSWER_COLUMNS = _raw_columns(AnswerRow)
_BALLOT_COLUMNS = [
    BallotRow.id.label("ballot_id"),
    BallotRow.number.label("ballot_number"),
    func.coalesce(BallotRow.item_id, BallotRow.message_id).label("item_id"),
    *_raw_columns(BallotRow, "id", "number", "item_id", "conversation_id"),
]
_VOTE_COLUMNS = _raw_columns(VoteRow, "ballot_id", "study_id", "participant_id", "request_id", "leaks",
             "attention", "condition", "item_id")  # fmt: skip
_CHANGE_COLUMNS = _raw_columns(VoteChangeRow, "request_id")
