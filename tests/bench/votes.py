"""Blind votes: from click to acknowledgement with fifty voters while replies stream, and what kill -9 takes away.

The server is the whole `heard chat`. Beside the voters CHATS people talk without pause to a model that writes twenty
words a second over HTTP, so that replies stream, are scored and are stored in the same process. Those people and their
model have a process of their own; the voters run in this one, whose own time is in the figures too.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx

from heard.chat_app.common.identity import VISITOR_COOKIE, Identity
from heard.chat_app.common.settings import Settings
from heard.db.engine import create_engine, upgrade
from heard.db.store import Store
from heard.db.study_records import BallotRecord
from tests.bench.served import Served, served
from tests.bench.table import Row, at_most, percentile, spread
from tests.db.conftest import Make
from tests.db.postgres import PROGRAMS, cluster
from tests.db.studying import Studying
from tests.servers import ScriptedServer, reply
from tests.socket_client import Visitor
from tests.vote_server import AT_ONCE, Killed, kill_rounds, vote_call

VOTERS = 50
EVERY = 2.0
"""Seconds between two votes of one voter."""
SECONDS = 30.0
CHATS = 4
ROUNDS = 200
MOST_MS = 60.0
"""The target for the 95th percentile."""
VOTES_EACH = round(SECONDS / EVERY)
SAID = "My sister and I argued about our mother, and I keep going over what I said to her that evening."
WORDS = "It sounds as if that evening stays with you, and as if she matters a great deal to you. " * 3


async def votes() -> list[Row]:
    """Both databases one after the other; PostgreSQL only where its server is installed."""
    rows: list[Row] = []
    for name, database in (("SQLite", _file()), ("PostgreSQL", _server())):
        if name == "SQLite" or PROGRAMS is not None:
            with database as url:
                rows += await _crowd(name, url)
                rows.append(await _killing(name, url))
    return rows


@contextmanager
def _file() -> Iterator[str]:
    yield ""


@contextmanager
def _server() -> Iterator[str]:
    with cluster(durable=True) as url:
        yield url


async def _crowd(name: str, url: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as scratch, _talkers() as talkers:
        models = Path(scratch) / "models.toml"
        entry = f'provider = "openai", model = "talker", base_url = "{await asyncio.to_thread(talkers.recv)}"'
        models.write_text(f"talker = {{ {entry} }}\n", encoding="utf-8")
        with served(database_url=url, models_file=str(models)) as server:
            talkers.send(server.url)
            await asyncio.to_thread(talkers.recv)
            times = await _vote(server, url)
            talkers.send("enough")
            replies = await asyncio.to_thread(talkers.recv)
    label = f"{VOTERS} voters, {name}"
    p95 = percentile(times, 0.95)
    everything = VOTERS * VOTES_EACH
    return [
        Row(f"{label}: click to acknowledgement, p50", percentile(times, 0.5), "ms", "none set", True, spread(times)),
        at_most(f"{label}: click to acknowledgement, p95", times, "ms", MOST_MS, p95),
        Row(f"{label}: votes stored", len(times), "", f"{everything}", len(times) == everything, ""),
        Row(f"{label}: replies streamed meanwhile", replies, "", "more than 0", replies > 0, f"{CHATS} chats"),
    ]


async def _vote(server: Served, url: str) -> list[float]:
    """Milliseconds of every vote."""
    engine = create_engine(url or Settings(data_dir=server.data_dir).database, lock_seconds=30)
    studying = Studying(Store(engine), Make())
    await studying.survey(number=VOTES_EACH)
    people = [await studying.agree() for _ in range(VOTERS)]
    ballots = [await studying.enrolled(person, number=VOTES_EACH) for person in people]
    await engine.dispose()
    identity, times = Identity.load(server.data_dir), list[float]()
    limits = httpx.Limits(max_connections=VOTERS, max_keepalive_connections=VOTERS)
    async with httpx.AsyncClient(base_url=server.url, timeout=30, limits=limits) as client:
        voters = (
            _voter(client, identity.sign(person), own, times) for person, own in zip(people, ballots, strict=True)
        )
        await asyncio.gather(*voters)
    return times


async def _voter(client: httpx.AsyncClient, cookie: str, ballots: list[BallotRecord], times: list[float]) -> None:
    chance = random.Random(cookie)
    next_click = time.perf_counter() + chance.uniform(0, EVERY)
    for ballot in ballots:
        await asyncio.sleep(max(0.0, next_click - time.perf_counter()))
        next_click += chance.uniform(0.5, 1.5) * EVERY  # else those who clicked together once would always do so
        call = vote_call(ballot, Make().id(), "It sounds as if somebody had listened.")
        began = time.perf_counter()
        answer = await client.post("/vote", json=call, headers={"cookie": f"{VISITOR_COOKIE}={cookie}"})
        times.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, answer.text


@contextmanager
def _talkers() -> Iterator["Connection[Any, Any]"]:
    """A process with the model and the people who talk to it: gives the model's address, is given the chat's, says when
    everybody has had a reply, and, asked for it, how many have come since."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_talk, args=(there,), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.join(30)
        process.kill()


def _talk(parent: "Connection[Any, Any]") -> None:
    with ScriptedServer(reply(WORDS, pause=0.05)) as model:
        parent.send(model.base_url)
        asyncio.run(_talk_to(parent.recv(), parent))


async def _talk_to(url: str, parent: "Connection[Any, Any]") -> None:
    replies = [0] * CHATS
    chats: list[asyncio.Task[None]] = []
    for number in range(CHATS):  # one after the other, and each has its first reply before the next one comes
        chats.append(asyncio.create_task(_chat(url, number, replies)))
        while not replies[number]:
            await asyncio.sleep(0.1)
            if chats[number].done():
                chats[number].result()
    before = sum(replies)
    parent.send("talking")
    await asyncio.to_thread(parent.recv)
    parent.send(sum(replies) - before)
    for chat in chats:
        chat.cancel()
    await asyncio.gather(*chats, return_exceptions=True)


async def _chat(url: str, number: int, replies: list[int]) -> None:
    async with Visitor.agree(url) as visitor, visitor.page(profile="listener") as page:
        await page.choose(model="talker")
        with suppress(asyncio.CancelledError):
            while True:
                await page.send(SAID, seconds=120)
                replies[number] += 1


async def _killing(name: str, url: str) -> Row:
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as folder:
        database = url or Settings(data_dir=Path(folder)).database
        await upgrade(database)
        killed: Killed = await kill_rounds(Path(folder), database, ROUNDS)
    told = f"{killed.acknowledged} acknowledged of {ROUNDS * AT_ONCE} sent"
    what = f"votes lost in {ROUNDS} times kill -9 at the acknowledgement, {name}"
    return Row(what, killed.lost, "", "0", killed.lost == 0 and killed.acknowledged >= ROUNDS, told)
