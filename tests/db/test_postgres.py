"""The same store on a real PostgreSQL server, where one is installed: started for these tests, on a socket."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import create_engine, upgrade
from heard.db.errors import StoreBusy, StoreError, StoreGone, StoreReadOnly, StoreUnavailable
from heard.db.preregistration import preregistration, register, registered_file
from heard.db.records import Outcome, PastTurn
from heard.db.research_export import export_reader
from heard.db.store import Store
from heard.db.tables import Base
from heard.db.vote_reads import Cell, read_votes
from tests.db.conftest import LOCK_SECONDS, PATIENT_SECONDS, Make
from tests.db.postgres import NEEDED
from tests.db.test_erase import MARK, fill
from tests.db.test_migrations import downgrade
from tests.db.test_store import NASTY
from tests.voters import Cast, Truth, put, simulate

FEW = Truth({"a": 0.5, "b": 0.0, "c": -0.5}, (0.2, 0.0, 0.0), (0.0, 0.0, 0.1))

pytestmark = NEEDED


@pytest.fixture
async def url(server: str) -> str:
    """The server with an empty schema, migrated."""
    engine = create_engine(server)
    async with engine.begin() as connection:
        await connection.execute(text("DROP SCHEMA public CASCADE"))
        await connection.execute(text("CREATE SCHEMA public"))
    await engine.dispose()
    await upgrade(server)
    return server


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(url, lock_seconds=PATIENT_SECONDS)
    yield engine
    await engine.dispose()


async def rows(engine: AsyncEngine, table: str) -> int:
    async with engine.connect() as connection:
        return int((await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one())  # noqa: S608


async def test_migrations_and_tables_say_the_same(engine: AsyncEngine) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), Base.metadata))

    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_starters_at_once(server: str) -> None:
    engine = create_engine(server)
    async with engine.begin() as connection:
        await connection.execute(text("DROP SCHEMA public CASCADE"))
        await connection.execute(text("CREATE SCHEMA public"))
    await asyncio.gather(*(upgrade(server) for _ in range(4)))
    assert await rows(engine, "alembic_version") == 1
    await engine.dispose()


@pytest.mark.parametrize("words", NASTY.values(), ids=NASTY.keys())
async def test_a_turn_with_any_text(store: Store, make: Make, person: str, words: str) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation, words)
    await store.open_turn(conversation, message)
    reply = make.reply(message, make.draft(words, parameters={words: words}))
    await store.close_turn(message.id, Outcome.ANSWERED, reply)
    await store.close_turn(message.id, Outcome.ANSWERED, reply)
    (item,) = await store.history(conversation.id)
    assert item == PastTurn(item.message, item.message)
    stored = await store.reply(reply.id)
    assert stored is not None
    assert stored.created_at == make.now
    if not any("\ud800" <= letter <= "\udfff" or letter == "\x00" for letter in words):
        assert stored == reply


async def test_rules_and_nothing_half_written(store: Store, make: Make, person: str, engine: AsyncEngine) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    bad = make.draft("secret words", number=2, kept=False, score=make.score(cognitive=0.5, empathy=1.7))
    with pytest.raises(StoreError) as caught:
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message, make.draft(), bad))
    assert caught.value.rule == "ck_score_cognitive"
    assert "secret" not in f"{caught.value!r}{caught.value.__context__!r}{caught.value.__cause__!r}"
    assert await rows(engine, "draft") == 0


async def test_how_people_would_call_a_reply_has_its_rule_and_goes_and_comes(
    store: Store, make: Make, person: str, engine: AsyncEngine, url: str
) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    with pytest.raises(StoreError) as caught:
        await store.close_turn(
            message.id, Outcome.ANSWERED, make.reply(message, make.draft(score=make.score(perceived=4.0)))
        )
    assert caught.value.rule == "ck_score_perceived"
    reply = make.reply(message)
    await store.close_turn(message.id, Outcome.ANSWERED, reply)
    await downgrade(engine, "0010")
    await upgrade(url)
    stored = await store.reply(reply.id)
    assert stored is not None
    assert stored.kept.score == make.score(perceived=None)


async def test_two_tabs_at_once(url: str, make: Make) -> None:
    """Everything of a new person at once: the participant, the conversation and twelve turns in it."""
    engine = create_engine(url, lock_seconds=PATIENT_SECONDS)
    store = Store(engine)
    await asyncio.gather(*(store.ensure_participant("p") for _ in range(6)))
    conversation = make.conversation("p")
    await asyncio.gather(*(make.turn(store, conversation, f"m{number}") for number in range(12)))
    assert len(await store.messages(conversation.id)) == 12
    await engine.dispose()


async def test_a_lock_is_waited_for_and_then_named(store: Store, make: Make, person: str, url: str) -> None:
    other, impatient = create_engine(url), create_engine(url, lock_seconds=LOCK_SECONDS)
    async with other.connect() as connection:
        await connection.execute(text("LOCK TABLE message IN ACCESS EXCLUSIVE MODE"))
        conversation = make.conversation(person)
        with pytest.raises(StoreBusy):
            await Store(impatient).open_turn(conversation, make.message(conversation))
    await other.dispose()
    await impatient.dispose()
    assert await store.conversation_owner(conversation.id) is None


async def test_read_only(store: Store, make: Make, person: str, url: str) -> None:
    other = create_engine(url)
    async with other.begin() as connection:
        await connection.execute(text("ALTER DATABASE postgres SET default_transaction_read_only = on"))
    await store.engine.dispose()
    try:
        with pytest.raises(StoreReadOnly):
            await store.ensure_participant("another")
    finally:
        async with other.begin() as connection:
            await connection.execute(text("SET TRANSACTION READ WRITE"))
            await connection.execute(text("ALTER DATABASE postgres RESET default_transaction_read_only"))
        await other.dispose()


async def test_no_such_database(server: str) -> None:
    with pytest.raises(StoreUnavailable):
        await upgrade(server.replace("/postgres?", "/nowhere?"))


async def test_export_and_erase(store: Store, make: Make, engine: AsyncEngine, person: str) -> None:
    thread = await fill(store, make, engine, person, MARK)
    stored = await store.export_participant(person)
    assert stored["conversations"][0]["id"] == thread
    pending = make.message(make.conversation(person))
    await store.open_turn(make.conversation(person, id=pending.conversation_id), pending)
    removed = await store.erase_participant(person)
    assert all(removed.values())
    with pytest.raises(StoreGone):
        await store.close_turn(pending.id, Outcome.ANSWERED, make.reply(pending))
    left = {table: await rows(engine, table) for table in Base.metadata.tables}
    assert {table: number for table, number in left.items() if number} == {
            "study": 2, "item": 2, "answer": 6, "flow_count": 2,  # the last are numbers about nobody
            "desk_log": 2,  # who did what at the desk, without about whom
        }  # fmt: skip
    assert await store.mark_interrupted() == 0


async def test_a_preregistered_study_stays_closed_and_out_of_the_export(engine: AsyncEngine) -> None:
    await put(engine, [Cast(n, ("a", "b"), most=1) for n in range(3)])
    await put(engine, [Cast(n, ("a", "b"), most=1) for n in range(2)], study="other")
    now = datetime(2027, 1, 1, tzinfo=UTC)
    await register(engine, "warm", "plan.pdf", b"plan\x00\xff", people=1, at=None, now=now, heard="1")
    found = await preregistration(engine, "warm", now)
    assert found is not None
    assert (found.closed, found.people, found.votes_before) == (True, 0, 3)
    assert await registered_file(engine, "warm") == b"plan\x00\xff"
    async with export_reader(engine, None, ["warm"]) as reader:
        assert [name async for batch in reader.studies() for name in batch["id"]] == ["other"]
        assert [len(batch["ballot_id"]) async for batch, _ in reader.ballots()] == [2]
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE study SET kind = 'live'"))
    assert (found := await preregistration(engine, "warm", now)) is not None
    assert (found.people, found.met_at) == (3, now)


async def test_results_are_those_of_sqlite(engine: AsyncEngine, tmp_path: Path) -> None:
    casts = [replace(one, leaks=(1,), item=50 + one.item) if n % 9 == 0 else one
             for n, one in enumerate(simulate(FEW, 20, 6, seed=3, same=0.1))]  # fmt: skip
    casts += [Cast(n, ("a", "b", "c"), most=1 + n % 2, least=3, item=99, attention="a") for n in range(8)]
    casts += [Cast(n, ("a", "b"), most=1 + n % 2, assigned=(n % 3 == 0, n % 4 == 0)) for n in range(20)]
    consents = {1: [(True, False)], 2: [(False, False), (True, True)], 3: []}
    lite_url = f"sqlite+aiosqlite:///{tmp_path / 'lite.db'}"
    await upgrade(lite_url)
    lite = create_engine(lite_url)
    found = []
    for each in (engine, lite):
        await put(each, casts, consents=consents)
        read = await read_votes(each, "warm", rows=True)
        numbers = Counter(
            (read.rows.cells[cell], item) for cell, item in zip(read.rows.cell, read.rows.item, strict=True)
        )
        by_cell: Counter[Cell] = Counter()
        for (cell, _), number in numbers.items():
            by_cell[cell] += number
        rows = read.trial
        columns = zip(rows.source, rows.assigned, rows.most, rows.leak, rows.failing, rows.condition, strict=True)
        trial = Counter((rows.sources[one], *flags, rows.conditions[last]) for one, *flags, last in columns)
        assert len(set(rows.answer)) == 4  # of two sources, assigned and not
        found.append((read.counts, by_cell, trial, len(read.rows.failing)))
    await lite.dispose()
    assert found[0] == found[1]
    assert sum(found[0][0].everybody.values()) == len(casts)
    assert found[0][2]
    assert found[0][3]
