"""Results over a million synthetic votes: the shares, and the strengths with their bootstrap.

Of the hundred thousand people 3% have withdrawn.
"""

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from heard.chat_app.results.records import VoteFilter
from heard.chat_app.results.selection import select_votes
from heard.chat_app.results.shares import shares
from heard.chat_app.results.study_results import compute_results
from heard.db.engine import create_engine
from heard.db.vote_reads import read_votes
from tests.bench.many_votes import SOURCES, STUDY, many_votes
from tests.bench.table import Row, at_most

VOTES = 1_000_000
ROUNDS = 5


async def results(votes: int = VOTES) -> list[Row]:
    """Seconds for the shares from the database to the figures, and for everything with 200 bootstrap samples."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as folder:
        path = Path(folder) / "heard.db"
        await asyncio.to_thread(_fill, path, votes)
        engine = create_engine(f"sqlite+aiosqlite:///{path}")
        try:
            quick = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                cells, counted = select_votes((await read_votes(engine, STUDY)).counts, VoteFilter())
                found = shares(cells)
                quick.append(time.perf_counter() - began)
                if counted.rows != votes or not counted.no_consent or len(found) != len(SOURCES):
                    raise RuntimeError("the shares are not of all votes")
            began = time.perf_counter()
            read = await read_votes(engine, STUDY, rows=True)
            whole = await asyncio.to_thread(compute_results, STUDY, read, VoteFilter())
            slow = time.perf_counter() - began
        finally:
            await engine.dispose()
    if whole.strengths.resamples != 200:
        raise RuntimeError("a bootstrap sample of a million votes has no fit")
    return [
        at_most(f"shares of {votes:,} votes", quick, "s", 1),
        at_most(f"all results of {votes:,} votes, Bradley-Terry with 200 bootstraps", [slow], "s", 60),
    ]


def _fill(path: Path, votes: int) -> None:
    many_votes(path, votes)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE consent SET research = 0 WHERE id % 33 = 0")
