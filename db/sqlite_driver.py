"""An aiosqlite connection that needs one trip to its thread for a statement instead of four.

aiosqlite makes a cursor, executes, fetches and closes in a thread of its own, one after the other. For each trip both
threads have to get the interpreter's lock: on a busy server, with fifty people voting, the trips took longer than the
statements. So here the first rows are fetched together with the statement. On the same trips it is seen to that the
file is still the one at its address: where a transaction begins, and before a commit is acknowledged.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import aiosqlite
from sqlalchemy.engine import URL

from heard.db.sqlite_file import FileFault, Identity, OpenFiles, identity, path_of, why_closed
from heard.db.translate import MOVED

PREFETCHED_ROWS = 500
"""Rows fetched with the statement. If there are more, the cursor stays open and is fetched from as usual."""


class PrefetchingCursor(aiosqlite.Cursor):
    """A cursor that fetches the first rows with its statement; otherwise like aiosqlite's."""

    _cursor: sqlite3.Cursor
    _conn: "PrefetchingConnection"

    def __init__(self, connection: "PrefetchingConnection") -> None:
        self.iter_chunk_size = connection._iter_chunk_size
        self._conn = connection
        self._rows: list[Any] = []
        self._open = False

    async def execute(self, sql: str, parameters: Iterable[Any] | None = None) -> "PrefetchingCursor":
        """Execute the statement and fetch the first rows of its result."""
        await self._run_in_thread(self._start, sqlite3.Cursor.execute, sql, () if parameters is None else parameters)
        return self

    async def executemany(self, sql: str, parameters: Iterable[Iterable[Any]]) -> "PrefetchingCursor":
        """Execute the statement once for each set of parameters."""
        await self._run_in_thread(self._start, sqlite3.Cursor.executemany, sql, parameters)
        return self

    async def fetchone(self) -> Any:
        """Return the next row, or None."""
        rows = await self.fetchmany(1)
        return rows[0] if rows else None

    async def fetchmany(self, size: int | None = None) -> list[Any]:
        """Return up to `size` further rows (default: `arraysize`)."""
        size = self.arraysize if size is None else size
        rows, self._rows = self._rows[:size], self._rows[size:]
        if self._open and len(rows) < size:
            rows += await self._run_in_thread(self._cursor.fetchmany, size - len(rows))
        return rows

    async def fetchall(self) -> list[Any]:
        """Return all further rows."""
        rows, self._rows = self._rows, []
        if self._open:
            rows += await self._run_in_thread(self._cursor.fetchall)
        return rows

    async def close(self) -> None:
        """Close the cursor, unless all its rows were fetched."""
        self._rows = []
        if self._open:
            self._open = False
            await self._run_in_thread(self._cursor.close)

    async def _run_in_thread(self, run: Callable[..., Any], *arguments: Any) -> Any:
        return await self._conn._execute(run, *arguments)  # type: ignore[no-untyped-call]

    def _start(self, run: Any, sql: str, parameters: Any) -> None:
        """Run the statement; called in the connection's thread, like everything that touches the sqlite3 cursor."""
        connection, files = self._conn._conn, self._conn.files
        if begins := sql.startswith("BEGIN"):
            files.check()
        self._cursor = connection.cursor()
        run(self._cursor, sql, parameters)
        if connection.in_transaction and not begins:
            files.read()
        self._rows = self._cursor.fetchmany(PREFETCHED_ROWS) if self._cursor.description else []
        self._open = len(self._rows) == PREFETCHED_ROWS
        if not self._open:
            self._cursor.close()


class PrefetchingConnection(aiosqlite.Connection):
    """An aiosqlite connection with PrefetchingCursors; `files` are those that it has open."""

    files = OpenFiles(None)

    def cursor(self) -> PrefetchingCursor:  # type: ignore[override]  # aiosqlite's has to be awaited, or entered as this one
        """Return a cursor; its sqlite3 cursor is made with its first statement."""
        return PrefetchingCursor(self)

    async def commit(self) -> None:
        """Commit. Raises FileFault if that went into a file that is not at its address any more."""
        await self._execute(self._commit)  # type: ignore[no-untyped-call]

    def _commit(self) -> None:
        wrote = self._conn.in_transaction
        self._conn.commit()
        if wrote:
            self.files.check()


def connection_factory(url: URL, lock_seconds: float) -> Callable[[], Awaitable[PrefetchingConnection]]:
    """Return a function that opens connections to `url`, which wait up to `lock_seconds` for a lock.

    The first one makes the file, if there is none. All others open the same file, or raise FileFault.
    """
    arguments, found = url.get_dialect()().create_connect_args(url)
    options: Any = {**found, "timeout": lock_seconds}
    path = path_of(url)
    first: Identity | None = None

    def connect() -> Any:
        if first is not None and path is not None and identity(path) != first:
            raise FileFault(MOVED)
        try:
            return sqlite3.connect(str(arguments[0]), **options)
        except sqlite3.OperationalError as error:
            if (told := why_closed(path)) is None:
                raise
            raise FileFault(error.sqlite_errorcode, told) from None

    async def connect_and_open() -> PrefetchingConnection:
        nonlocal first
        connection = PrefetchingConnection(connect, iter_chunk_size=64)
        connection.files = OpenFiles(path)
        connection._thread.daemon = True  # as SQLAlchemy does: a connection must not keep a program from ending
        try:
            await connection
            first = first or await connection._execute(connection.files.opened)  # type: ignore[no-untyped-call]
        except sqlite3.Error:
            # aiosqlite tells its thread to end and does not wait. If the event loop ends first, the thread dies of it
            # and prints a traceback beside the sentence of a command.
            await asyncio.to_thread(connection._thread.join)
            raise
        return connection

    return connect_and_open
