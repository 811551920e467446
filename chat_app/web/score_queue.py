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
from typing import TypeVar

from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety.checked_score import checked_score
from heard.chat_app.web.score_request import Exchange
from heard.scorer.records import EmpathyScore
from heard.scorer.score import Scorer

T = TypeVar("T")

MOST_WAITING = 8
"""Calls at once, the one that is being answered included."""
HOLD_SECONDS = 1.0
"""Longest that an empty text waits for the chat."""
HOLD_SECONDS_PER_CHARACTER = 0.001
"""More of it for each character, about four times what rating one takes: the chat keeps most of a busy processor."""
POLL_SECONDS = 0.05
"""Between two looks at the chat."""


class CallerLeft(Exception):
    """Nobody waits for the answer any more."""


class ScoreQueue:
    """One queue for all calls. Belongs to one event loop."""

    def __init__(self, services: Services, writing: Callable[[], bool]) -> None:
        """`writing()` tells whether a live reply is being written or scored."""
        self._services, self._writing = services, writing
        self._turn = asyncio.Semaphore(1)
        self._calls = 0

    async def score_all(self, exchanges: Sequence[Exchange], left: Callable[[], bool]) -> list[EmpathyScore]:
        """One score for each exchange, in order. Raises RefusedCall (429) when the queue is full.

        `left()` tells whether the caller has gone away, at which the rest is not rated: CallerLeft.
        """
        with self.place():
            return [await self.run(_scoring(exchange), exchange.size, left) for exchange in exchanges]

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place in the queue for as long as a call lasts. Raises RefusedCall (429) when it is full."""
        if self._calls >= MOST_WAITING:
            raise RefusedCall(429, "Too many calls are waiting for a score. Try again in a few seconds.")
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

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
    return lambda scorer: checked_score(scorer, exchange.seeker, exchange.reply, exchange.earlier)
