"""A look at the database that finds what a running chat would: locked, read-only, full, moved, silent, of other tables.

Reads alone would not: they go on from a file that nobody can write any more. So it writes, and nothing of anybody.
"""

import asyncio

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db.condition import last_fault, note_fault, note_success
from heard.db.errors import StoreError, StoreFull, StoreReadOnly
from heard.db.schema import check_schema
from heard.db.sqlite_file import check_room, path_of
from heard.db.transaction import attempt

_TABLES = "participant, conversation, message, reply, draft, score, ballot, slot, answer, vote"


async def look(engine: AsyncEngine) -> StoreError | None:
    """Return the fault that the database has now, also one that only a call before this could find; None if none."""
    work = _look_at_file if engine.dialect.name == "sqlite" else _look_at_server
    try:
        await attempt(engine, work, write=True)
        if engine.dialect.name == "sqlite":
            await asyncio.to_thread(check_room, path_of(engine.url))
        note_success(engine, small=True)
    except StoreError as error:
        note_fault(engine, error)
    return last_fault(engine)


async def _look_at_file(session: AsyncSession) -> None:
    await check_schema(session, "sqlite")
    pages, most, free = [
        int((await session.execute(text(f"PRAGMA {name}"))).scalar_one())
        for name in ("page_count", "max_page_count", "freelist_count")
    ]
    if pages >= most and not free:
        raise StoreFull
    # The same value again: a page is written, and nothing changes.
    await session.execute(text("UPDATE alembic_version SET version_num = version_num"))


async def _look_at_server(session: AsyncSession) -> None:
    if (await session.execute(text("SHOW transaction_read_only"))).scalar_one() == "on":
        raise StoreReadOnly
    await check_schema(session, "postgresql")
    # As a write would wait: for the tables, and for the server's own log.
    await session.execute(text(f"LOCK TABLE {_TABLES} IN ROW EXCLUSIVE MODE"))
    await session.execute(text("SELECT txid_current()"))
