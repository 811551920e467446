"""Scores for other programs and for the scorer's page: in one queue of bounded length, and behind the chat.

How the chat stays first. A text waits while a live reply is being written or scored, the longer the more it would cost
(HOLD_SECONDS and HOLD_SECONDS_PER_CHARACTER), and then it goes, so that nobody waits for ever. Of all calls together at
most one text is in the scorer's thread, so a live score waits for one such text at worst (one of 8,000 characters takes
some three seconds on two cores) and never for a queue of them. Calls take turns text by text, so a single text does not
wait behind somebody's long list; and with MOST_WAITING calls in the queue the next is refused.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from heard.chat_app.common.fair_queue import QueueFull
from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety.checked_score import crisis_score, is_crisis
from heard.chat_app.web.score_request import Exchange
from heard.scorer.records import EmpathyScore
from heard.scorer.score import Scorer

T = TypeVar("T")

PROGRAMS, FORMS = "programs", "forms"
MOST_WAITING = 8
"""Calls of programs at once, the one that is being answered included."""
MOST_FORMS = 32
"""The same of the scorer's page, where each sender has one at a time."""
_MOST = {PROGRAMS: MOST_WAITING, FORMS: MOST_FORMS}
HOLD_SECONDS = 1.0
"""Longest that an empty text waits for the chat."""
HOLD_SECONDS_PER_CHARACTER = 0.001
"""More of it for each character, about four times what rating one takes: the chat keeps most of a busy processor."""
POLL_SECONDS = 0.05
"""Between two looks at the chat."""


FULL = "Too many calls are waiting for a score. Try again in a few seconds."


class CallerLeft(Exception):
    """Nobody waits for the answer any more."""


class ScoreQueue:
    """One queue for all calls. Belongs to one event loop."""

    def __init__(self, services: Services, writing: Callable[[], bool]) -> None:
        """`writing()` tells whether a live reply is being written or scored."""
        self._services, self._writing = services, writing
        self._turn = asyncio.Semaphore(1)
        self._calls = {PROGRAMS: 0, FORMS: 0}

    async def score_all(
        self, exchanges: Sequence[Exchange], left: Callable[[], bool], sender: str
    ) -> list[EmpathyScore]:
        """One score for each exchange, in order. Raises RefusedCall (429) when the queue is full.

        `left()` tells whether the caller has gone away, at which the rest is not rated: CallerLeft.
        """
        with self.place(PROGRAMS):
            return [await self._score(exchange, left, sender) for exchange in exchanges]

    async def _score(self, exchange: Exchange, left: Callable[[], bool], sender: str) -> EmpathyScore:
        texts = (exchange.seeker, exchange.reply, exchange.earlier)
        try:
            crisis = await self._services.reading.run(sender, partial(is_crisis, *texts))
        except QueueFull:
            raise RefusedCall(429, FULL) from None
        work = crisis_score if crisis else _scoring(exchange)
        return await self.run(work, exchange.size, left)

    def check_place(self, kind: str) -> None:
        """Raise RefusedCall (429) when the places are taken."""
        if self._calls[kind] >= _MOST[kind]:
            raise RefusedCall(429, FULL)

    @contextmanager
    def place(self, kind: str) -> Iterator[None]:
        """A place in the queue for as long as a call lasts, of PROGRAMS or FORMS: neither takes those of the other.
        Raises RefusedCall (429) when they are taken."""
        self.check_place(kind)
        self._calls[kind] += 1
        try:
            yield
        finally:
            self._calls[kind] -= 1

    async def run(self, work: Callable[[Scorer], T], size: int, left: Callable[[], bool] = lambda: False) -> T:
        """`work(scorer)`, which is about texts of `size` characters, in the scorer's thread, when it is their turn.

        Raises CallerLeft.
        """
        async with self._turn:
            await self._let_the_chat_go_first(size)
            if left():
                raise CallerLeft
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._services.scoring, work, self._services.scorer)

    async def _let_the_chat_go_first(self, characters: int) -> None:
        longest = HOLD_SECONDS + HOLD_SECONDS_PER_CHARACTER * characters
        for _ in range(round(longest / POLL_SECONDS)):
            if not self._writing():
                return
            await asyncio.sleep(POLL_SECONDS)


def _scoring(exchange: Exchange) -> Callable[[Scorer], EmpathyScore]:
    return lambda scorer: scorer.score(exchange.seeker, exchange.reply, exchange.earlier)
