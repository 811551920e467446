"""The SQLite connection: a statement is one trip to its thread, and gives what aiosqlite gives."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import aiosqlite
import pytest

from heard.db.sqlite_driver import PREFETCHED_ROWS, PrefetchingConnection

SIZES = (0, 1, PREFETCHED_ROWS - 1, PREFETCHED_ROWS, PREFETCHED_ROWS + 1, 3 * PREFETCHED_ROWS)
COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i, 'x' FROM n WHERE ? > 0"


class Counting(PrefetchingConnection):
    """Counts its trips."""

    trips = 0

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.trips += 1
        return await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]


@pytest.fixture
async def lite() -> AsyncIterator[Counting]:
    connection = Counting(partial(sqlite3.connect, ":memory:"), iter_chunk_size=64)
    async with connection:
        yield connection


@pytest.fixture
async def plain() -> AsyncIterator[aiosqlite.Connection]:
    async with aiosqlite.connect(":memory:") as connection:
        yield connection


@pytest.mark.parametrize("size", SIZES)
async def test_all_rows_come_in_their_order(lite: Counting, plain: aiosqlite.Connection, size: int) -> None:
    async with lite.cursor() as cursor:
        await cursor.execute(COUNT, (size, size))
        found = await cursor.fetchall()
        async with plain.execute(COUNT, (size, size)) as other:
            assert found == await other.fetchall()
            assert cursor.description == other.description
        assert await cursor.fetchall() == []
        assert await cursor.fetchone() is None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", [1, 64, PREFETCHED_ROWS, PREFETCHED_ROWS + 1])
async def test_rows_come_in_parts_too(lite: Counting, size: int, step: int) -> None:
    async with lite.cursor() as cursor:
        await cursor.execute(COUNT, (size, size))
        found = []
        while rows := await cursor.fetchmany(step):
            assert len(rows) == min(step, size - len(found))
            found += rows
    assert [number for number, _ in found] == list(range(1, size + 1))


async def test_it_can_be_iterated(lite: Counting) -> None:
    async with lite.cursor() as cursor:
        await cursor.execute(COUNT, (2 * PREFETCHED_ROWS, 1))
        assert [row[0] async for row in cursor] == list(range(1, 2 * PREFETCHED_ROWS + 1))


async def test_a_statement_is_one_trip(lite: Counting) -> None:
    await lite.execute("CREATE TABLE t (i INTEGER PRIMARY KEY, word TEXT)")
    lite.trips = 0
    async with lite.cursor() as cursor:
        await cursor.execute("INSERT INTO t (word) VALUES (?)", ("one",))
        assert (cursor.rowcount, cursor.lastrowid, cursor.description) == (1, 1, None)
    assert lite.trips == 1
    async with lite.cursor() as cursor:
        await cursor.execute("SELECT word FROM t")
        assert await cursor.fetchall() == [("one",)]
    assert lite.trips == 2
    async with lite.cursor() as cursor:
        await cursor.executemany("INSERT INTO t (word) VALUES (?)", [("two",), ("three",)])
        assert cursor.rowcount == 2
    assert lite.trips == 3


async def test_a_cursor_that_is_left_early_holds_nothing(lite: Counting) -> None:
    await lite.execute("CREATE TABLE t (i INTEGER)")
    await lite.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(2 * PREFETCHED_ROWS)])
    await lite.commit()
    async with lite.cursor() as cursor:
        await cursor.execute("SELECT i FROM t")
        await cursor.fetchmany(3)
    await lite.execute("DROP TABLE t")  # refused while a statement still reads it


@pytest.mark.parametrize(
    ("sql", "error"), [("SELEC", sqlite3.OperationalError), ("SELECT ?", sqlite3.ProgrammingError)]
)
async def test_a_fault_is_sqlite_s_own_and_the_cursor_goes_on(
    lite: Counting, sql: str, error: type[sqlite3.Error]
) -> None:
    async with lite.cursor() as cursor:
        with pytest.raises(error):
            await cursor.execute(sql)
        await cursor.execute("SELECT 1")
        assert await cursor.fetchone() == (1,)
