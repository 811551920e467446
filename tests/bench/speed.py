"""First token and tokens a second, through the whole product and straight at the engine, in turn and in one run.

Straight means llama.cpp's own call in this process, with the same parameters and the same messages: no socket, no
LangChain, no event loop. Both engines have answered equally many calls before each pair, so neither has the fuller
cache.
"""

import sqlite3
import statistics
import time
from dataclasses import dataclass
from typing import Any

from heard.chat_app.models.client import load_models
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.llama_engine import Engine
from heard.prompts.build import build_prompt
from heard.prompts.library import PromptLibrary
from tests.bench.served import Served
from tests.bench.table import Row, at_least, at_most
from tests.socket_client import Visitor

PAIRS = 24
WARM_UP = 2
"""Pairs that do not count."""
FEELINGS = ("worried", "left out", "proud", "tired", "angry", "relieved", "lonely", "torn", "ashamed")
MATTERS = ("my exam results", "the way my brother spoke to me", "moving to another town", "my first week in the job")


@dataclass(frozen=True)
class Seen:
    """One reply."""

    first_token: float
    """Seconds."""
    rate: float
    """Tokens a second after the first token."""


def message(number: int) -> str:
    """A different message each time, so that no cache answers for the model."""
    feeling, matter = FEELINGS[number % len(FEELINGS)], MATTERS[number % len(MATTERS)]
    return f"I feel {feeling} about {matter}, for the {number + 2}nd day."


async def speed(server: Served, weights: Weights) -> list[Row]:
    """PAIRS of the same message, once to the product and once to the engine, each first every other time."""
    engine = Engine(weights.chat_model)
    straight = engine._load()
    ours: list[Seen] = []
    theirs: list[Seen] = []
    async with Visitor.agree(server.url) as visitor:
        for number in range(PAIRS + WARM_UP):
            order = [lambda n=number: _product(server, visitor, n), lambda n=number: _straight(straight, n)]
            results: dict[int, Seen] = {}
            for which in (0, 1) if number % 2 else (1, 0):
                results[which] = await order[which]()
            if number >= WARM_UP:
                ours.append(results[0])
                theirs.append(results[1])
    first = [a.first_token / b.first_token for a, b in zip(ours, theirs, strict=True)]
    rate = [a.rate / b.rate for a, b in zip(ours, theirs, strict=True)]
    return [
        at_most("first token, product / engine (paired)", first, "x", 1.15),
        at_least("tokens a second, product / engine (paired)", rate, "x", 0.95),
        _plain("first token through the product", [seen.first_token * 1000 for seen in ours], "ms"),
        _plain("tokens a second through the product", [seen.rate for seen in ours], ""),
    ]


def _plain(what: str, values: list[float], unit: str) -> Row:
    return Row(what, statistics.median(values), unit, "none set", True, f"{min(values):.0f} .. {max(values):.0f}")


async def _product(server: Served, visitor: Visitor, number: int) -> Seen:
    async with visitor.page(profile="listener") as page:
        turn = await page.send(message(number), seconds=120)
    first = turn.first_token_seconds
    assert first is not None, turn.text
    last = max(e.at for e in turn.events if e.name in ("stream_start", "stream_token")) - turn.sent_at
    with sqlite3.connect(server.data_dir / "heard.db") as database:
        query = "SELECT completion_tokens FROM draft ORDER BY created_at DESC LIMIT 1"
        (tokens,) = database.execute(query).fetchone()
    database.close()
    return Seen(first, (tokens - 1) / (last - first))


async def _straight(server: Any, number: int) -> Seen:
    library, spec = PromptLibrary.load(), load_models(None)["smollm2"]
    prompt = build_prompt(
        library.personas["listener"],
        library.strategies["plain"],
        [],
        message(number),
        context_tokens=spec.context_tokens,
    )
    body = {
        "messages": [{"role": m.role, "content": m.content} for m in prompt.messages],
        "max_tokens": prompt.max_tokens,
        "temperature": spec.temperature,
        **spec.sampling,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    arrivals: list[float] = []
    counted: list[int] = []

    def take(received: Any) -> bool:
        for chunk in received if isinstance(received, list) else [received]:
            if any((choice.get("delta") or {}).get("content") for choice in chunk.get("choices") or ()):
                arrivals.append(time.perf_counter())
            if chunk.get("usage"):
                counted.append(chunk["usage"]["completion_tokens"])
        return False

    began = time.perf_counter()
    server.handle_chat_completions(body, take)
    return Seen(arrivals[0] - began, (counted[-1] - 1) / (arrivals[-1] - arrivals[0]))
