"""A PostgreSQL server in trouble: every call ends in the sentence of its fault, and the look for /health knows it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db.engine import create_engine, upgrade
from heard.db.errors import StoreBusy, StoreError, StoreOutdated, StoreReadOnly, StoreSilent, StoreUnavailable
from heard.db.probe import look
from heard.db.store import Store
from heard.db.transaction import transact
from tests.db.conftest import LOCK_SECONDS, Make
from tests.db.postgres import NEEDED, frozen
from tests.db.test_faults import assert_tells_nothing

pytestmark = NEEDED
MOST_SECONDS = 60.0
"""For what would hang for ever without its limit."""


@pytest.fixture
def url(empty_server: str) -> str:
    return empty_server


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(url, lock_seconds=LOCK_SECONDS, answer_seconds=1.0)
    yield engine
    await engine.dispose()


async def refused(work: object) -> StoreError:
    with pytest.raises(StoreError) as caught:
        async with asyncio.timeout(MOST_SECONDS):
            await work  # type: ignore[misc]
    assert_tells_nothing(caught.value)
    return caught.value


async def test_a_frozen_server_ends_in_a_sentence_and_is_used_again(
    store: Store, engine: AsyncEngine, make: Make, person: str, url: str
) -> None:
    conversation = make.conversation(person)
    message, _ = await make.turn(store, conversation)
    with frozen(url):
        for call in (
            store.messages(conversation.id),  # on the connection that there is
            store.open_turn(conversation, make.message(conversation)),  # on a new one
            store.close_turn(message.id, make.message(conversation).outcome.STOPPED, None),
        ):
            assert isinstance(await refused(call), StoreSilent)
        fault = await asyncio.wait_for(look(engine), MOST_SECONDS)
        assert isinstance(fault, StoreSilent)
        assert (fault.kind, "does not answer" in str(fault)) == ("silent", True)
    await make.turn(store, conversation)
    assert await look(engine) is None


async def test_many_callers_of_a_frozen_server_all_get_their_sentence(store: Store, person: str, url: str) -> None:
    with frozen(url):
        calls = [refused(store.latest_consent(person)) for _ in range(40)]
        assert {type(fault) for fault in await asyncio.gather(*calls)} <= {StoreSilent, StoreBusy}
    assert await store.latest_consent(person) is None


@pytest.mark.parametrize("statement", ["SELECT 1", "UPDATE participant SET created_at = created_at"])
async def test_a_server_that_freezes_within_a_transaction(
    store: Store, engine: AsyncEngine, person: str, url: str, statement: str
) -> None:
    freeze = frozen(url)

    async def work(session: AsyncSession) -> None:
        await session.execute(text(statement))
        freeze.__enter__()
        if statement.startswith("SELECT"):  # else the commit is what waits
            await session.execute(text(statement))

    try:
        assert isinstance(await refused(transact(engine, work, write=True)), StoreSilent)
    finally:
        freeze.__exit__(None, None, None)
    assert await store.participant(person)


async def test_an_upgrade_and_a_command_on_a_frozen_server(url: str) -> None:
    with frozen(url):
        assert isinstance(await refused(upgrade(url)), StoreSilent)


class Line:
    """A line to the server that can be told to carry nothing any more, and to go on."""

    def __init__(self, url: str) -> None:
        self.place = str(Path(url.partition("host=")[2], ".s.PGSQL.5432"))
        self.open = asyncio.Event()
        self.open.set()
        self.tasks: set[asyncio.Task[None]] = set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(self.place)
        for source, target in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.ensure_future(self._pass_on(source, target))
            self.tasks.add(task)

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while part := await source.read(65536):
                await self.open.wait()
                target.write(part)
        except OSError:
            pass
        finally:
            target.close()


@asynccontextmanager
async def line_to(url: str) -> AsyncIterator[tuple[Line, str]]:
    line = Line(url)
    server = await asyncio.start_server(line.carry, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    user = url.partition("//")[2].partition("@")[0]
    try:
        yield line, f"postgresql+asyncpg://{user}@127.0.0.1:{port}/postgres?sslmode=disable"
    finally:
        server.close()
        for task in line.tasks:
            task.cancel()
        await asyncio.gather(*line.tasks, return_exceptions=True)
        await asyncio.sleep(0.05)  # the ends are closed by the loop


async def test_a_line_that_carries_nothing_any_more(person: str, url: str) -> None:
    async with line_to(url) as (line, address):
        engine = create_engine(address, lock_seconds=LOCK_SECONDS, answer_seconds=1.0)
        store = Store(engine)
        assert await store.participant(person)
        line.open.clear()
        assert isinstance(await refused(store.participant(person)), StoreSilent)
        assert isinstance(await refused(store.ensure_participant("another")), StoreSilent)
        assert isinstance(await look(engine), StoreSilent)
        line.open.set()
        assert await store.participant(person)
        await engine.dispose()


async def test_a_server_without_tls_that_is_asked_for_it(url: str) -> None:
    async with line_to(url) as (_, address):
        assert "TLS" in str(await refused(upgrade(address.replace("=disable", "=require"))))


async def test_a_statement_that_takes_too_long_is_broken_off(engine: AsyncEngine) -> None:
    async def sleep(session: AsyncSession) -> None:
        await session.execute(text("SELECT pg_sleep(60)"))

    fault = await refused(transact(engine, sleep, write=False))
    assert isinstance(fault, StoreBusy)
    assert "too long" in str(fault)


@pytest.mark.parametrize("mode", ["ACCESS EXCLUSIVE", "EXCLUSIVE", "SHARE"])
async def test_a_locked_table_is_seen_and_its_end(engine: AsyncEngine, url: str, mode: str) -> None:
    other = create_engine(url)
    async with other.begin() as connection:
        await connection.execute(text(f"LOCK TABLE message IN {mode} MODE"))
        fault = await look(engine)
        assert isinstance(fault, StoreBusy)
        assert fault.kind == "locked"
    await other.dispose()
    assert await look(engine) is None


async def test_a_read_only_server_is_seen(engine: AsyncEngine, url: str) -> None:
    read_only = create_engine(f"{url}&options=-c%20default_transaction_read_only%3Don", lock_seconds=LOCK_SECONDS)
    fault = await look(read_only)
    assert isinstance(fault, StoreReadOnly)
    await read_only.dispose()
    assert await look(engine) is None


@pytest.mark.parametrize(
    ("change", "back", "words"),
    [
        ("ALTER TABLE vote RENAME TO gone", "ALTER TABLE gone RENAME TO vote", "missing"),
        ("UPDATE alembic_version SET version_num = '9999'", "", "newer version"),
        ("UPDATE alembic_version SET version_num = '0010'", "", "heard db upgrade"),
    ],
)
async def test_other_tables_are_seen(engine: AsyncEngine, url: str, change: str, back: str, words: str) -> None:
    other = create_engine(url)
    async with other.begin() as connection:
        version = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar_one()
        await connection.execute(text(change))
    try:
        fault = await look(engine)
        assert isinstance(fault, StoreOutdated)
        assert words in str(fault)
    finally:
        async with other.begin() as connection:
            if back:
                await connection.execute(text(back))
            await connection.execute(text("UPDATE alembic_version SET version_num = :old"), {"old": version})
        await other.dispose()


@pytest.fixture
async def guest(url: str) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Makes the role "guest", which may use the schema and no table in it; gives what runs a statement."""
    other = create_engine(url)

    async def run(statement: str) -> None:
        async with other.begin() as connection:
            await connection.execute(text(statement))

    await run("CREATE ROLE guest LOGIN CONNECTION LIMIT 0")
    await run("GRANT USAGE ON SCHEMA public TO guest")
    yield run
    await run("DROP OWNED BY guest")
    await run("DROP ROLE guest")
    await other.dispose()


async def test_too_many_connections_and_no_rights_and_no_server(
    engine: AsyncEngine, url: str, guest: Callable[[str], Awaitable[None]]
) -> None:
    user = url.partition("//")[2].partition("@")[0]
    for address, change, words in (
        (url.replace(f"//{user}@", "//guest@"), "ALTER ROLE guest CONNECTION LIMIT 5", "no more connections"),
        (url.replace(f"//{user}@", "//guest@"), "SELECT 1", "rights"),
        (url.replace(f"//{user}@", "//nobody_here@"), "SELECT 1", "user and password"),
        (url.replace("/postgres?", "/nowhere?"), "SELECT 1", "no database of that name"),
        ("postgresql+asyncpg://a@127.0.0.1:1/heard", "SELECT 1", "cannot be reached"),
        ("postgresql+asyncpg://a@no-such-host.invalid/heard", "SELECT 1", "cannot be reached"),
        ("postgresql+asyncpg://a@/heard?host=/no/such/folder", "SELECT 1", "cannot be reached"),
    ):
        tried = create_engine(address, lock_seconds=LOCK_SECONDS)
        try:
            fault = await refused(Store(tried).ensure_participant("p"))
        finally:
            await tried.dispose()
        assert words in str(fault), fault
        await guest(change)


async def test_an_address_where_something_else_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # takes the connection and says nothing
        address = f"postgresql+asyncpg://a@127.0.0.1:{listener.getsockname()[1]}/heard"
        assert isinstance(await refused(upgrade(address)), StoreUnavailable)
