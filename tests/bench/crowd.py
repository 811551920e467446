"""Twenty people at once: no error, every reply scored, and the health page quick throughout."""

import asyncio
import sqlite3
import time

import httpx

from tests.bench.served import Served
from tests.bench.table import Row, at_most, percentile, spread
from tests.socket_client import Turn, Visitor

CHATS = 20
HEALTH_EVERY = 0.1
"""Seconds between two looks at /health."""
MESSAGES = (
    "My sister and I argued and I keep going over what I said to her.",
    "I start a new job on Monday and I can hardly eat.",
    "I passed my driving test today, after four tries!",
    "My landlord raised the rent and I don't know how to pay it.",
)


async def crowd(server: Served) -> list[Row]:
    """CHATS visitors send one message each at the same moment."""
    times: list[float] = []
    watching = asyncio.create_task(_watch(server.url, times))
    try:
        turns = await asyncio.gather(*(_one(server.url, number) for number in range(CHATS)))
    finally:
        watching.cancel()
    with sqlite3.connect(server.data_dir / "heard.db") as database:
        scored, whole, total = database.execute(
            "SELECT sum(s.status = 'scored'), sum(d.status = 'complete'), count(*) FROM draft d"
            " LEFT JOIN score s ON s.draft_id = d.id"
        ).fetchone()
    database.close()
    cards = sum(bool(turn.card and turn.card["score"]["scored"]) for turn in turns)
    waits = [turn.first_token_seconds or 0.0 for turn in turns]
    return [
        Row("twenty chats at once: replies whole", whole, "", f"{CHATS}", whole == CHATS == total, f"{total} drafts"),
        Row("twenty chats at once: replies scored", cards, "", f"{CHATS}", cards == scored == CHATS, f"{scored} rows"),
        at_most("twenty chats at once: /health p95", times, "ms", 100, percentile(times, 0.95)),
        Row("twenty chats at once: longest wait for a first token", max(waits), "s", "none set", True, spread(waits)),
        Row(
            "memory of the server after them", server.memory_mb(), "MB", "at most 900 MB", server.memory_mb() <= 900, ""
        ),
    ]


async def _one(url: str, number: int) -> Turn:
    async with Visitor.agree(url) as visitor, visitor.page(profile="listener") as page:
        return await page.send(MESSAGES[number % len(MESSAGES)], seconds=400)


async def _watch(url: str, times: list[float]) -> None:
    async with httpx.AsyncClient(base_url=url) as client:
        while True:
            began = time.perf_counter()
            response = await client.get("/health")
            times.append((time.perf_counter() - began) * 1000)
            assert response.status_code == 200, response.status_code
            await asyncio.sleep(HEALTH_EVERY)
