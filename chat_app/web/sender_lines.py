"""One request of each sender at a time, for pages whose texts are read and scored; the next ones wait unread."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST_IN_LINE = 8
"""Requests of one sender, the one that is answered included."""


class LineFull(Exception):
    """This sender has MOST_IN_LINE requests already."""


class SenderLines:
    """A line for each sender. Belongs to one event loop."""

    def __init__(self) -> None:
        self._length = Counter[str]()
        self._turns: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def turn(self, sender: str) -> AsyncIterator[None]:
        """Wait for the sender's turn, and keep it. Raises LineFull at once."""
        if self._length[sender] >= MOST_IN_LINE:
            raise LineFull
        self._length[sender] += 1
        try:
            async with self._turns.setdefault(sender, asyncio.Lock()):
                yield
        finally:
            self._length[sender] -= 1
            if not self._length[sender]:
                del self._length[sender], self._turns[sender]
