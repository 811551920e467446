"""Results over synthetic votes: a million for the shares and the two-way bootstrap, a hundred thousand for the page.

Of the people 3% have withdrawn.
"""

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from heard.chat_app.results.bootstrap import RESAMPLES
from heard.chat_app.results.records import VoteFilter
from heard.chat_app.results.selection import select_votes
from heard.chat_app.results.shares import shares
from heard.chat_app.results.study_results import study_results
from heard.db.engine import create_engine
from heard.db.study_store import StudyStore
from heard.db.vote_reads import read_votes
from tests.bench.many_votes import SOURCES, STUDY, many_votes
from tests.bench.table import Row, at_most

VOTES, LIVE_VOTES = 1_000_000, 100_000
ROUNDS = 5


async def results(votes: int = VOTES, live_votes: int = LIVE_VOTES) -> list[Row]:
    """Seconds for the shares, and for everything, from the database to the figures."""
    return [*await _live(live_votes), *await _large(votes)]


async def _live(votes: int) -> list[Row]:
    """All that the page of results shows, read anew each time; a vote more is cast before each."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as folder:
        path = Path(folder) / "heard.db"
        await asyncio.to_thread(_fill, path, votes)
        engine = create_engine(f"sqlite+aiosqlite:///{path}")
        seconds = []
        try:
            for number in range(ROUNDS + 1):
                await asyncio.to_thread(_another_vote, path, number)
                began = time.perf_counter()
                found = await study_results(StudyStore(engine), STUDY, VoteFilter())
                seconds.append(time.perf_counter() - began)
                if found.counted.rows != votes or found.shares[0].most_interval.low is None or found.strengths.reason:
                    raise RuntimeError("the results are not of all votes")
        finally:
            await engine.dispose()
    return [at_most(f"live results of {votes:,} votes", [1000 * one for one in seconds[1:]], "ms", 300)]


def _another_vote(path: Path, number: int) -> None:
    """Change one vote, so that nothing can be taken from the last time."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "UPDATE vote SET most = least, least = most WHERE rowid = "
            "(SELECT rowid FROM vote WHERE choice = 'ranked' LIMIT 1 OFFSET ?)", (number,)
        )  # fmt: skip


async def _large(votes: int) -> list[Row]:
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
            await study_results(StudyStore(engine), STUDY, VoteFilter())
            whole = time.perf_counter() - began
            began = time.perf_counter()
            sampled = (await study_results(StudyStore(engine), STUDY, VoteFilter(), lambda done: None)).bootstrap
            slow = time.perf_counter() - began
        finally:
            await engine.dispose()
    if sampled is None or sampled.resamples != RESAMPLES or any(one.low is None for one in sampled.intervals):
        raise RuntimeError("a bootstrap sample of a million votes has no fit")
    return [
        at_most(f"shares of {votes:,} votes", quick, "s", 1),
        at_most(f"all results of {votes:,} votes", [whole], "s", 60),
        at_most(f"the same with a two-way bootstrap of {RESAMPLES} samples", [slow], "s", 90),
    ]


def _fill(path: Path, votes: int) -> None:
    many_votes(path, votes)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE consent SET research = 0 WHERE id % 33 = 0")
