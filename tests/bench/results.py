"""Results over a million synthetic votes: the shares, and the strengths with their bootstrap, in a fresh database.

A hundred thousand people with ten votes each on five sources; 3% have withdrawn, 5% of the ballots leak, 4% are ties.
"""

import asyncio
import json
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from chat_app.results.records import Wanted
from chat_app.results.selection import select
from chat_app.results.shares import shares
from chat_app.results.study_results import results_of
from db.engine import create_engine, upgrade
from db.vote_reads import read_votes
from tests.bench.table import Row, at_most

VOTES = 1_000_000
EACH = 10
STUDY = "big"
SOURCES = ("claude", "gemini", "gpt", "human", "llama")
STRENGTHS = np.array([0.3, 0.0, 0.5, -1.5, 0.7])
ROUNDS = 5
INSERTS = {
    "participant": "INSERT INTO participant VALUES (?, ?)",
    "consent": "INSERT INTO consent (participant_id, version, chat, research, given_at) VALUES (?, '1', 1, ?, ?)",
    "ballot": (
        "INSERT INTO ballot (id, study_id, participant_id, number, item_id, order_seed, order_row, drawn_at) "
        "VALUES (?, 'big', ?, ?, ?, 0, 0, ?)"
    ),
    "vote": (
        "INSERT INTO vote (ballot_id, study_id, participant_id, choice, most, least, seconds, width_class, request_id, "
        "voted_at, changes, sources, unvotable, leaks) VALUES (?, 'big', ?, ?, ?, ?, 3.5, 'phone', ?, ?, 0, ?, '', ?)"
    ),
}
NOW = "2026-05-01 12:00:00.000000"
SLOTS = (
    "INSERT INTO slot (ballot_id, position, answer_id, source, votable) SELECT v.ballot_id, j.key + 1, a.id, j.value, 1"
    " FROM vote v JOIN ballot b ON b.id = v.ballot_id, json_each(v.sources) j"
    " JOIN answer a ON a.item_id = b.item_id AND a.source = j.value"
)


def fill(path: Path, votes: int) -> None:
    """Write the study, its people, their ballots and votes."""
    generator = np.random.default_rng(0)
    people = [str(uuid.UUID(bytes=generator.bytes(16), version=4)) for _ in range(votes // EACH)]
    ballots = [str(uuid.UUID(bytes=generator.bytes(16), version=4)) for _ in range(votes)]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO study VALUES (?, 'survey', '{}', '', ?)", (STUDY, NOW))
        for item in range(100):
            database.execute("INSERT INTO item VALUES (?, ?, ?, '', NULL)", (f"item{item}", STUDY, item + 1))
            database.executemany(
                "INSERT INTO answer (id, study_id, item_id, source, created_at, text, status, human, parameters, "
                "improved, drafts, characters, words, formatting, leak) "
                "VALUES (?, ?, ?, ?, ?, '', 'complete', 0, '{}', 0, '[]', 0, 0, '{}', '[]')",
                [(f"{item}{name}", STUDY, f"item{item}", name, NOW) for name in SOURCES],
            )
        database.executemany(INSERTS["participant"], ((one, NOW) for one in people))
        allowed = generator.random(len(people)) > 0.03
        database.executemany(
            INSERTS["consent"], ((one, int(yes), NOW) for one, yes in zip(people, allowed, strict=True))
        )
        items = generator.integers(0, 100, votes).tolist()
        database.executemany(
            INSERTS["ballot"],
            ((one, people[n // EACH], n % EACH + 1, f"item{items[n]}", NOW) for n, one in enumerate(ballots)),
        )
        database.executemany(INSERTS["vote"], _votes(generator, people, ballots))
        database.execute(SLOTS)


def _votes(generator: np.random.Generator, people: list[str], ballots: list[str]) -> Iterator[tuple[object, ...]]:
    votes = len(ballots)
    orders = generator.permuted(np.tile(np.arange(len(SOURCES)), (votes, 1)), axis=1)
    place = np.array([0.4, 0.1, 0.0, -0.2, -0.3])
    most = np.argmax(STRENGTHS[orders] + place + generator.gumbel(size=orders.shape), axis=1)
    against = -STRENGTHS[orders] + generator.gumbel(size=orders.shape)
    against[np.arange(votes), most] = -np.inf
    least = np.argmax(against, axis=1)
    leaks = np.where(generator.random(votes) < 0.05, generator.integers(1, 6, votes), 0)
    ties = generator.random(votes) < 0.04
    columns = zip(orders.tolist(), most.tolist(), least.tolist(), leaks.tolist(), ties.tolist(), strict=True)
    for n, (order, first, last, leak, tie) in enumerate(columns):
        marks = ("same", None, None) if tie else ("ranked", first + 1, last + 1)
        names = json.dumps([SOURCES[i] for i in order])
        yield (ballots[n], people[n // EACH], *marks, ballots[n], NOW, names, str(leak) if leak else "")


async def results(votes: int = VOTES) -> list[Row]:
    """Seconds for the shares from the database to the figures, and for everything with 200 bootstrap samples."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as folder:
        path = Path(folder) / "heard.db"
        url = f"sqlite+aiosqlite:///{path}"
        await upgrade(url)
        await asyncio.to_thread(fill, path, votes)
        engine = create_engine(url)
        try:
            quick = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                cells, counted = select((await read_votes(engine, STUDY)).counts, Wanted())
                found = shares(cells)
                quick.append(time.perf_counter() - began)
                if counted.rows != votes or len(found) != len(SOURCES):
                    raise RuntimeError("the shares are not of all votes")
            began = time.perf_counter()
            read = await read_votes(engine, STUDY, rows=True)
            whole = await asyncio.to_thread(results_of, STUDY, read, Wanted())
            slow = time.perf_counter() - began
        finally:
            await engine.dispose()
    if whole.strengths.resamples != 200:
        raise RuntimeError("a bootstrap sample of a million votes has no fit")
    return [
        at_most(f"shares of {votes:,} votes", quick, "s", 1),
        at_most(f"all results of {votes:,} votes, Bradley-Terry with 200 bootstraps", [slow], "s", 60),
    ]
