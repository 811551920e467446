"""A first-come, first-served queue for an engine's few slots, in which every caller can see its position."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator


class Ticket:
    """One call in the queue, and then on a slot until `WaitingQueue.leave`."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        self.admitted = False
        """Whether it has a slot."""
        self.in_use = False
        """Whether a worker runs on the slot. The worker then calls `leave`, and nobody else may."""
        self.left = False


class WaitingQueue:
    """Admits `slots` calls at once, the others in order. Thread-safe, as slots are freed from worker threads."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._lock = threading.Lock()
        self._busy = 0
        self._tickets: deque[Ticket] = deque()

    @property
    def busy(self) -> int:
        """Slots in use, 0..slots."""
        return self._busy

    @property
    def waiting(self) -> int:
        """Number of calls in the queue."""
        return len(self._tickets)

    def join(self) -> Ticket:
        """Return a ticket, with a slot if one is free. Every ticket must be passed to `leave` in the end."""
        ticket = Ticket()
        with self._lock:
            if self._busy < self.slots and not self._tickets:
                self._busy += 1
                ticket.admitted = True
            else:
                self._tickets.append(ticket)
        return ticket

    async def positions(self, ticket: Ticket) -> AsyncGenerator[int, None]:
        """Yield the ticket's position (1 = next) now and whenever it changes; end as soon as it has a slot."""
        last_position = 0
        while True:
            with self._lock:
                if ticket.admitted:
                    return
                ticket.changed.clear()
                position = self._tickets.index(ticket) + 1
            if position != last_position:
                last_position = position
                yield position
            await ticket.changed.wait()

    def leave(self, ticket: Ticket) -> None:
        """Give up the slot or the place in the queue, and admit the next call. A second call does nothing."""
        with self._lock:
            if ticket.left:
                return
            ticket.left = True
            if ticket.admitted:
                self._busy -= 1
            else:
                self._tickets.remove(ticket)
            while self._tickets and self._busy < self.slots:
                following = self._tickets.popleft()
                if self._wake(following):
                    following.admitted = True
                    self._busy += 1
                else:
                    following.left = True  # its event loop is gone, so nobody would ever leave for it
            for ticket_behind in self._tickets:
                self._wake(ticket_behind)

    @staticmethod
    def _wake(ticket: Ticket) -> bool:
        try:
            ticket.loop.call_soon_threadsafe(ticket.changed.set)
        except RuntimeError:  # the loop is closed
            return False
        return True
