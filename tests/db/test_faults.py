"""A database that cannot be written: locked by another process, read-only, full, not a database, not there."""

import asyncio
import logging
import sqlite3
import time
import traceback
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import create_engine, upgrade
from heard.db.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from heard.db.records import Outcome
from heard.db.store import CLOSE_ATTEMPTS, Store
from tests.db.conftest import LOCK_SECONDS, Make
from tests.db.processes import holding, release
from tests.db.test_store import count

WORDS = "my very private words"


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(url, lock_seconds=LOCK_SECONDS)
    yield engine
    await engine.dispose()


def assert_tells_nothing(error: StoreError) -> None:
    """Neither the sentence nor a logged traceback has SQL or a person's words."""
    told = "".join(traceback.format_exception(error)) + repr(error)
    for secret in (WORDS, "INSERT", "UPDATE", "SELECT", "sqlalchemy", "sqlite3", "parameters"):
        assert secret not in told.replace("tests/db", ""), secret
    assert str(error).endswith(".")


async def test_a_lock_is_waited_for_and_then_named(store: Store, make: Make, person: str, path: Path) -> None:
    conversation = make.conversation(person)
    with holding(path):
        began = time.monotonic()
        with pytest.raises(StoreBusy) as caught:
            await store.open_turn(conversation, make.message(conversation, WORDS))
        waited = time.monotonic() - began
        assert await store.history(conversation.id) == []  # readers do not wait in WAL mode
    assert LOCK_SECONDS <= waited < LOCK_SECONDS + 10
    assert_tells_nothing(caught.value)
    assert count(path, "message") == 0
    await store.open_turn(conversation, make.message(conversation, WORDS))
    assert count(path, "message") == 1


async def test_closing_outlasts_a_lock_that_opening_would_not(
    store: Store, make: Make, person: str, path: Path
) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    reply = make.reply(message)
    with holding(path) as other:
        closing = asyncio.create_task(store.close_turn(message.id, Outcome.ANSWERED, reply))
        await asyncio.sleep(LOCK_SECONDS * 1.5)
        assert not closing.done()
        await asyncio.to_thread(release, other)
        await closing
    assert await store.reply(reply.id) == reply


async def test_closing_gives_up_in_the_end(store: Store, make: Make, person: str, path: Path) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    with holding(path):
        began = time.monotonic()
        with pytest.raises(StoreBusy) as caught:
            await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message, make.draft(WORDS)))
        waited = time.monotonic() - began
    assert CLOSE_ATTEMPTS * LOCK_SECONDS <= waited < CLOSE_ATTEMPTS * (LOCK_SECONDS + 10)
    assert_tells_nothing(caught.value)
    assert (await store.messages(conversation.id))[0].outcome is Outcome.PENDING


async def test_read_only(url: str, path: Path, make: Make, store: Store, person: str) -> None:
    conversation = make.conversation(person)
    await make.turn(store, conversation)
    await store.engine.dispose()
    engine = create_engine(f"sqlite+aiosqlite:///file:{path}?mode=ro&uri=true", lock_seconds=LOCK_SECONDS)
    read_only = Store(engine)
    with pytest.raises(StoreReadOnly) as caught:
        await read_only.open_turn(conversation, make.message(conversation, WORDS))
    assert_tells_nothing(caught.value)
    with pytest.raises(StoreReadOnly):
        await read_only.mark_interrupted()
    with pytest.raises(StoreReadOnly):
        await read_only.erase_participant(person)
    assert len(await read_only.history(conversation.id)) == 1
    await engine.dispose()


async def test_upgrading_a_read_only_database_that_is_up_to_date(url: str, path: Path, tmp_path: Path) -> None:
    await upgrade(f"sqlite+aiosqlite:///file:{path}?mode=ro&uri=true")
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).close()
    with pytest.raises(StoreReadOnly) as caught:
        await upgrade(f"sqlite+aiosqlite:///file:{empty}?mode=ro&uri=true")
    assert_tells_nothing(caught.value)


@pytest.fixture
async def full(url: str) -> AsyncIterator[Store]:
    """A store whose database may not grow any further."""
    engine = create_engine(url, lock_seconds=LOCK_SECONDS)

    @event.listens_for(engine.sync_engine, "connect")
    def _no_room(connection, _record) -> None:  # type: ignore[no-untyped-def]
        cursor = connection.cursor()
        cursor.execute("PRAGMA max_page_count = 1")  # SQLite raises it to the present size
        cursor.close()

    yield Store(engine)
    await engine.dispose()


async def test_no_room(full: Store, make: Make, path: Path) -> None:
    await full.ensure_participant("p")
    conversation = make.conversation("p")
    with pytest.raises(StoreFull) as caught:
        await full.open_turn(conversation, make.message(conversation, WORDS * 5000))
    assert_tells_nothing(caught.value)
    assert count(path, "conversation") == 0  # it had been flushed before the message did not fit
    small = make.message(conversation, "small")
    await full.open_turn(conversation, small)
    with pytest.raises(StoreFull):
        await full.close_turn(small.id, Outcome.ANSWERED, make.reply(small, make.draft(WORDS * 5000)))
    assert (count(path, "reply"), (await full.messages(conversation.id))[0].outcome) == (0, Outcome.PENDING)


async def test_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, this is no database. " * 200)
    for address in (
        f"sqlite+aiosqlite:///{path}",
        f"sqlite+aiosqlite:///{tmp_path}",
        "sqlite+aiosqlite:////proc/x/a.db",
    ):
        with pytest.raises(StoreUnavailable) as caught:
            await upgrade(address)
        assert_tells_nothing(caught.value)
    assert path.read_text().startswith("Dear reader")


async def test_no_server_there() -> None:
    with pytest.raises(StoreUnavailable) as caught:
        await upgrade("postgresql+asyncpg://heard:hunter2@127.0.0.1:1/heard")
    assert_tells_nothing(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["nonsense", "", "sqlite:/x", "sqlite:///x.db", "mysql+aiomysql://u@h/d"])
async def test_no_url(url: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        await upgrade(url)
    assert_tells_nothing(caught.value)


async def test_tables_missing(tmp_path: Path, make: Make) -> None:
    engine = create_engine(f"sqlite+aiosqlite:///{tmp_path / 'new.db'}", lock_seconds=LOCK_SECONDS)
    with pytest.raises(StoreError) as caught:
        await Store(engine).ensure_participant(WORDS)
    assert_tells_nothing(caught.value)
    await engine.dispose()


async def test_nothing_of_a_failure_is_logged(
    store: Store, make: Make, person: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    conversation = make.conversation(person)
    with holding(path), pytest.raises(StoreBusy):
        await store.open_turn(conversation, make.message(conversation, WORDS))
    message = make.message(conversation, WORDS)
    await store.open_turn(conversation, message)
    with pytest.raises(StoreError):
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message, make.draft(WORDS, number=100)))
    assert WORDS not in caplog.text
    assert "INSERT" not in caplog.text


async def test_a_cancelled_write_is_whole(store: Store, make: Make, person: str, path: Path) -> None:
    """Stop, a closed tab: whoever waits goes away, the write does not."""
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    reply = make.reply(message)
    with holding(path) as other:
        closing = asyncio.create_task(store.close_turn(message.id, Outcome.STOPPED, reply))
        await asyncio.sleep(0.05)
        closing.cancel()
        await asyncio.to_thread(release, other)
        with pytest.raises(asyncio.CancelledError):
            await closing
    assert await store.reply(reply.id) == reply
    assert (await store.messages(conversation.id))[0].outcome is Outcome.STOPPED
