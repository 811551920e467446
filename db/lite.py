"""An SQLite connection that takes one trip to its thread for a statement, where aiosqlite takes four.

aiosqlite makes a cursor, executes, fetches and closes in a thread of its own, one after the other. Each trip waits
until both threads have had their turn at the interpreter, which a busy server makes them wait for: with fifty people
voting the trips took longer than what they were for. So here the first rows come along with the statement.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

import aiosqlite
from sqlalchemy.engine import URL

FIRST = 500
"""Rows that come along. A statement with more than these keeps its cursor open and is fetched from as usual."""


class LiteCursor(aiosqlite.Cursor):
    """A cursor that exists from its first statement on; the same calls and results as aiosqlite's."""

    _cursor: sqlite3.Cursor

    def __init__(self, connection: "LiteConnection") -> None:
        self.iter_chunk_size = connection._iter_chunk_size
        self._conn = connection
        self._rows: list[Any] = []
        self._open = False

    async def execute(self, sql: str, parameters: Iterable[Any] | None = None) -> "LiteCursor":
        """Execute the statement and fetch the first rows of its result."""
        await self._trip(self._start, sqlite3.Cursor.execute, sql, () if parameters is None else parameters)
        return self

    async def executemany(self, sql: str, parameters: Iterable[Iterable[Any]]) -> "LiteCursor":
        """Execute the statement once for each set of parameters."""
        await self._trip(self._start, sqlite3.Cursor.executemany, sql, parameters)
        return self

    async def fetchone(self) -> Any:
        """The next row, or None."""
        rows = await self.fetchmany(1)
        return rows[0] if rows else None

    async def fetchmany(self, size: int | None = None) -> list[Any]:
        """Up to `size` further rows (default: `arraysize`)."""
        size = self.arraysize if size is None else size
        rows, self._rows = self._rows[:size], self._rows[size:]
        if self._open and len(rows) < size:
            rows += await self._trip(self._cursor.fetchmany, size - len(rows))
        return rows

    async def fetchall(self) -> list[Any]:
        """All further rows."""
        rows, self._rows = self._rows, []
        if self._open:
            rows += await self._trip(self._cursor.fetchall)
        return rows

    async def close(self) -> None:
        """End the statement, if it has not ended with its rows."""
        self._rows = []
        if self._open:
            self._open = False
            await self._trip(self._cursor.close)

    async def _trip(self, run: Callable[..., Any], *arguments: Any) -> Any:
        return await self._conn._execute(run, *arguments)  # type: ignore[no-untyped-call]

    def _start(self, run: Any, sql: str, parameters: Any) -> None:
        """Within the connection's thread, like everything that touches the real cursor."""
        self._cursor = self._conn._conn.cursor()
        run(self._cursor, sql, parameters)
        self._rows = self._cursor.fetchmany(FIRST) if self._cursor.description else []
        self._open = len(self._rows) == FIRST
        if not self._open:
            self._cursor.close()


class LiteConnection(aiosqlite.Connection):
    """aiosqlite's connection with the cursors of this module."""

    def cursor(self) -> LiteCursor:  # type: ignore[override]  # aiosqlite's has to be awaited, or entered as this one
        """A cursor, without a trip: it begins with its first statement."""
        return LiteCursor(self)


def opener(url: URL, lock_seconds: float) -> Callable[[], Awaitable[LiteConnection]]:
    """What opens a connection to the database at `url`, which waits up to `lock_seconds` for another's lock."""
    arguments, options = url.get_dialect()().create_connect_args(url)

    async def opened() -> LiteConnection:
        connect = partial(sqlite3.connect, *arguments, **{**options, "timeout": lock_seconds})
        connection = LiteConnection(connect, iter_chunk_size=64)
        connection._thread.daemon = True  # as SQLAlchemy does: a connection must not keep a program from ending
        try:
            await connection
        except sqlite3.Error:
            # aiosqlite tells its thread to end and does not wait. If the event loop ends first, the thread dies of it
            # and prints a traceback beside the sentence of a command.
            await asyncio.to_thread(connection._thread.join)
            raise
        return connection

    return opened
