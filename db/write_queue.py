"""The queue of writers to an SQLite database: one at a time, and the people by turns.

SQLite admits only one writer anyway, but in no order: a writer can be passed by others for seconds. And in the order of
arrival one person who writes a hundred times at once would hold up everybody.
"""

import asyncio
from collections import deque
from contextvars import ContextVar

from heard.db.errors import StoreBusy

writer: ContextVar[str] = ContextVar("writer", default="")
"""For whom what runs now would write. Tasks inherit it; "" is the program itself."""


class WriteQueue:
    """A lock that admits one writer within this process, and raises StoreBusy after `seconds`.

    Among those who wait each `writer` has one turn and then the next one; of one writer the first comes first.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._taken = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By writer; whose turn is next stands first."""

    async def __aenter__(self) -> None:
        """Wait for the turn. Raises StoreBusy."""
        if not self._taken:
            self._taken = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(writer.get(), deque()).append(turn)
        try:
            async with asyncio.timeout(self.seconds):
                await turn
            return
        except TimeoutError:
            self._leave(turn)
        except asyncio.CancelledError:
            self._leave(turn)
            raise
        raise StoreBusy

    async def __aexit__(self, *_: object) -> None:
        """Let the next one in."""
        self._next()

    def _next(self) -> None:
        while self._waiting:
            who, turns = next(iter(self._waiting.items()))
            del self._waiting[who]
            turn = turns.popleft()
            if turns:
                self._waiting[who] = turns  # behind the others
            if not turn.done():
                turn.set_result(None)
                return
        self._taken = False

    def _leave(self, turn: "asyncio.Future[None]") -> None:
        """Wait no more. Who was let in at the same moment lets the next one in."""
        if turn.done() and not turn.cancelled():
            self._next()
        turn.cancel()
