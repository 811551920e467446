"""Transactions: every access to the database is one that commits or raises a StoreError.

Once begun it also ends if the caller is cancelled (Stop, a closed tab): a turn is never half stored, and a reply that
had arrived is not lost because its reader went away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from heard.db.condition import note_fault, note_success
from heard.db.engine import BEGIN, READ, WRITE, write_queue
from heard.db.errors import StoreBusy, StoreError
from heard.db.text import clean_value
from heard.db.translate import translate

Result = TypeVar("Result")
Work = Callable[[AsyncSession], Awaitable[Result]]


async def transact(engine: AsyncEngine, work: Work[Result], *, write: bool, attempts: int = 1) -> Result:
    """Run `work` in one transaction and return its result. Commits if `work` returns, rolls back if it raises.

    With `attempts` above 1 a busy database is tried again after a pause of at most 2 s. Raises a subclass of StoreError
    for errors of the database; other exceptions of `work` are passed on.
    """
    task = asyncio.create_task(_retried(engine, work, write, attempts))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # marks a failure as retrieved; the caller was cancelled
        raise


async def _retried(engine: AsyncEngine, work: Work[Result], write: bool, attempts: int) -> Result:
    if attempts == 1:
        return await _once(engine, work, write)
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(StoreBusy),
        stop=stop_after_attempt(attempts),
        wait=wait_random_exponential(multiplier=0.1, max=2),
        reraise=True,
    )
    return await retrying(_once, engine, work, write)


async def _once(engine: AsyncEngine, work: Work[Result], write: bool) -> Result:
    result = await attempt(engine, work, write=write)
    if write:
        note_success(engine)
    return result


async def attempt(engine: AsyncEngine, work: Work[Result], *, write: bool) -> Result:
    """Run `work` in one transaction, once, and note a fault of the database (`db/condition.py`). Raises StoreError."""
    try:
        return await _attempted(engine, work, write)
    except StoreError as error:
        note_fault(engine, error)
        raise


async def _attempted(engine: AsyncEngine, work: Work[Result], write: bool) -> Result:
    failure: StoreError
    try:
        async with (
            write_queue(engine) if write else nullcontext(),
            engine.execution_options(**{BEGIN: WRITE if write else READ}).connect() as connection,
            AsyncSession(connection, expire_on_commit=False) as session,
            session.begin(),
        ):
            return await work(session)
    except (SQLAlchemyError, OSError) as error:
        failure = translate(error)
    except UnicodeEncodeError:  # a byte of a command line that is no text
        failure = StoreError("An id holds a character that is none, so no database knows it. Write it again.")
    raise failure  # outside the block above, so that no SQL hangs on it as its context


async def run_sql(
    engine: AsyncEngine, query: str, parameters: Mapping[str, Any], *, attempts: int = 1
) -> list[dict[str, Any]] | int:
    """Run one statement with named parameters (`:name`). Returns its rows as dicts, or the number of rows changed.

    Texts are cleaned with `clean_text`. For the page's history, whose statements come as SQL.
    """

    async def work(session: AsyncSession) -> list[dict[str, Any]] | int:
        done = await session.execute(text(query), clean_value(dict(parameters)))
        return [dict(row) for row in done.mappings()] if done.returns_rows else done.rowcount  # type: ignore[attr-defined]

    write = not query.lstrip().upper().startswith("SELECT")
    return await transact(engine, work, write=write, attempts=attempts)
