"""The database engine: SQLite in WAL mode by default, PostgreSQL by its URL. Migrations run from here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.util.exc import CommandError
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random

from heard.db.errors import StoreBusy, StoreError, StoreOutdated, StoreUnavailable
from heard.db.postgres import create_postgres
from heard.db.schema import MIGRATIONS, NEWER, check_schema, revisions
from heard.db.sqlite_driver import connection_factory
from heard.db.sqlite_file import check_url, make_file
from heard.db.translate import translate
from heard.db.write_queue import WriteQueue

DRIVERS = ("sqlite+aiosqlite", "postgresql+asyncpg")
BEGIN = "heard_begin"
"""Execution option: how a transaction on SQLite begins. WRITE takes the lock at once; NONE is for statements that
may not stand in a transaction."""
READ, WRITE, NONE = "BEGIN", "BEGIN IMMEDIATE", ""

_MIGRATION_SECONDS = 30.0
ANSWER_SECONDS = 5.0
"""Longest time of a statement on PostgreSQL that somebody waits for, beside the wait for a lock."""
PATIENT_SECONDS = 600.0
"""The same for a command, which may read or change a whole table."""
_LOCK_KEY = 7_205_119_001
"""Any fixed number: the advisory lock that keeps two migrating processes apart on PostgreSQL."""


_queues: WeakKeyDictionary[AsyncEngine, WriteQueue] = WeakKeyDictionary()


def write_queue(engine: AsyncEngine) -> AbstractAsyncContextManager[None]:
    """Return the lock that a write must hold: the queue of an SQLite engine, or a null context."""
    return _queues.get(engine) or nullcontext()


def create_engine(url: str, *, lock_seconds: float = 5.0, answer_seconds: float = ANSWER_SECONDS) -> AsyncEngine:
    """Return an engine for `sqlite+aiosqlite:///path` or `postgresql+asyncpg://...`.

    A write waits up to `lock_seconds` for another process's lock, and PostgreSQL takes up to `answer_seconds` more for
    a statement. No connection is opened yet, and no table made: call `upgrade` first. Raises StoreUnavailable for an
    invalid URL, or if its driver is not installed.
    """
    parsed = _parse(url)
    # Errors never carry parameters: they are people's words.
    options: dict[str, Any] = {"hide_parameters": True, "pool_timeout": max(lock_seconds, 1.0)}
    if parsed.get_backend_name() == "sqlite":
        engine = create_async_engine(parsed, async_creator=connection_factory(parsed, lock_seconds), **options)
        _prepare_sqlite(engine)
        _queues[engine] = WriteQueue(lock_seconds)
        return engine
    return create_postgres(parsed, lock_seconds, lock_seconds + answer_seconds, options)


@asynccontextmanager
async def open_database(url: str, *, lock_seconds: float = 5.0) -> AsyncIterator[AsyncEngine]:
    """Upgrade a database and open an engine on it, for one command."""
    await upgrade(url)
    engine = create_engine(url, lock_seconds=lock_seconds, answer_seconds=PATIENT_SECONDS)
    try:
        yield engine
    finally:
        await engine.dispose()


def printable_url(url: str) -> str:
    """Return the URL without its password, and without parameters, of which one may be a password too."""
    return _parse(url).render_as_string(hide_password=True).partition("?")[0]


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the latter for a port that is no number
        parsed = URL.create("none")
    if parsed.drivername not in DRIVERS:
        raise StoreUnavailable(
            "The database's address is not one: it reads sqlite+aiosqlite:///path or "
            "postgresql+asyncpg://user@host/name. Mend `database_url`."
        )
    if parsed.get_backend_name() == "sqlite":
        check_url(parsed, url)
    return parsed


def _prepare_sqlite(engine: AsyncEngine) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def _on_connect(connection: Any, _record: object) -> None:
        # The driver's own BEGIN is deferred, and a read that becomes a write fails at once when somebody else has
        # written meanwhile. We begin ourselves (below), so writers queue up for the lock instead.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("foreign_keys = ON", "synchronous = NORMAL", "secure_delete = ON", "journal_size_limit = 0"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _on_begin(connection: Connection) -> None:
        if begin := connection.get_execution_options().get(BEGIN, READ):
            connection.exec_driver_sql(begin)


def upgrade_sync(url: str) -> None:
    """Like `upgrade`, for code without an event loop."""
    asyncio.run(upgrade(url))


async def upgrade(url: str) -> None:
    """Upgrade the database to the newest migration; make it, and its file's folder, if it does not exist.

    Does nothing, and needs no write permission, if it is up to date. Two processes may call it at once: one migrates,
    the other waits. It is one transaction. Raises StoreError with a plain sentence.
    """
    engine = create_engine(url, lock_seconds=_MIGRATION_SECONDS, answer_seconds=PATIENT_SECONDS)
    failure: StoreError
    try:
        if engine.dialect.name == "sqlite":
            make_file(engine.url)
        async with engine.connect() as connection:
            current = await connection.run_sync(_current)
            if current == revisions()[0]:
                await check_schema(connection, engine.dialect.name)
                return
        if engine.dialect.name == "sqlite":
            await _set_wal(engine)
        async with engine.execution_options(**{BEGIN: WRITE}).begin() as connection:
            if engine.dialect.name == "postgresql":
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
            await connection.run_sync(_migrate)
        return
    except (SQLAlchemyError, OSError) as error:
        failure = translate(error)
    except CommandError:
        failure = StoreOutdated(NEWER)
    finally:
        await engine.dispose()
    raise failure


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, SQLAlchemyError) and isinstance(translate(error), StoreBusy)


async def _set_wal(engine: AsyncEngine) -> None:
    """Switch the file to WAL. That does not wait for locks by itself, so it is retried while another process starts."""
    patient = AsyncRetrying(
        retry=retry_if_exception(_is_busy),
        stop=stop_after_delay(_MIGRATION_SECONDS),
        wait=wait_random(0.05, 0.2),
        reraise=True,
    )
    async for attempt in patient:
        with attempt:
            async with engine.execution_options(**{BEGIN: NONE}).connect() as connection:
                await connection.execute(text("PRAGMA journal_mode = WAL"))


def _config() -> Config:
    config = Config()
    # ConfigParser would take a % in the path for its own.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _migrate(connection: Connection) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
