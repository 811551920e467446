"""The messages of `cases.csv`, and what a persona answers to them through the embedded model."""

import asyncio
import csv
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from heard.chat_app.models.client import Models
from heard.chat_app.models.llama_engine import SLOTS
from heard.chat_app.models.records import Delta
from heard.prompts.build import build_prompt, for_reply, for_step
from heard.prompts.records import Persona, Strategy

CASES = Path(__file__).with_name("cases.csv")
SEED = 2026
"""Of the first message; each further one has the next."""
MOST_TOKENS = 48
"""Of a reply: its first two sentences or so. How news is met shows at once, and a run stays within half an hour."""


@dataclass(frozen=True, slots=True)
class Case:
    """One message with news."""

    number: int
    """Its row in the file, from 0."""
    kind: str
    """"good", "bad" or "mixed"."""
    register: str
    """Where it is from, or how it is worded."""
    message: str

    @property
    def held_out(self) -> bool:
        """Whether it belongs to the half on which nothing is chosen."""
        return self.number % 2 == 1


def cases() -> list[Case]:
    """All messages, in the file's order: good news, bad news, mixed news."""
    with CASES.open(encoding="utf-8", newline="") as file:
        return [Case(number, **row) for number, row in enumerate(csv.DictReader(file))]


async def replies(
    models: Models, persona: Persona, strategy: Strategy, asked: Sequence[Case]
) -> AsyncIterator[tuple[Case, str]]:
    """Each message, as the first of a conversation, with its reply; as many at once as the engine has slots.

    In the order of their ends. A strategy's hidden steps are asked first and are whole, as in the chat. The temperature
    is the shipped one, the seed the message's own.
    """
    spec = models.specs["smollm2"]
    room = asyncio.Semaphore(SLOTS)

    async def answer(case: Case) -> tuple[Case, str]:
        seeded = replace(spec, seed=SEED + case.number)
        short = replace(persona, max_tokens=min(persona.max_tokens, MOST_TOKENS))

        async def said(persona: Persona, strategy: Strategy) -> str:
            prompt = build_prompt(persona, strategy, [], case.message, context_tokens=spec.context_tokens)
            async with aclosing(models.stream(seeded, prompt)) as stream:
                return "".join([item.text async for item in stream if isinstance(item, Delta)]).strip()

        values: dict[str, str] = {}
        async with room:
            for step in strategy.steps:
                values[step.name] = await said(*for_step(persona, strategy, step, values))
            return case, await said(short, for_reply(strategy, values))

    for ended in asyncio.as_completed([answer(case) for case in asked]):
        yield await ended
