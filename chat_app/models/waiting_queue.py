"""First come, first served, for the engine's few slots; everyone in the line can see their place."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator


class Ticket:
    """One call's place: in the line, then holding a slot until `WaitingLine.leave`."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        self.admitted = False
        """It has a slot."""
        self.in_use = False
        """A worker runs on the slot and will leave for it, so nobody else may."""
        self.left = False


class WaitingLine:
    """`slots` calls at once, the others in order. Thread-safe, because slots are freed from worker threads."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._lock = threading.Lock()
        self._busy = 0
        self._line: deque[Ticket] = deque()

    @property
    def busy(self) -> int:
        """Slots in use, 0..slots."""
        return self._busy

    @property
    def waiting(self) -> int:
        """Calls in the line."""
        return len(self._line)

    def join(self) -> Ticket:
        """Take a free slot, else the last place. Every ticket must be given to `leave` in the end."""
        ticket = Ticket()
        with self._lock:
            if self._busy < self.slots and not self._line:
                self._busy += 1
                ticket.admitted = True
            else:
                self._line.append(ticket)
        return ticket

    async def places(self, ticket: Ticket) -> AsyncGenerator[int, None]:
        """The ticket's place (1 = next), now and each time that it changes; ends as soon as it has a slot."""
        told = 0
        while True:
            with self._lock:
                if ticket.admitted:
                    return
                ticket.changed.clear()
                place = self._line.index(ticket) + 1
            if place != told:
                told = place
                yield place
            await ticket.changed.wait()

    def leave(self, ticket: Ticket) -> None:
        """Give up the slot or the place, and let the next one in. A second call does nothing."""
        with self._lock:
            if ticket.left:
                return
            ticket.left = True
            if ticket.admitted:
                self._busy -= 1
            else:
                self._line.remove(ticket)
            while self._line and self._busy < self.slots:
                following = self._line.popleft()
                if self._wake(following):
                    following.admitted = True
                    self._busy += 1
                else:
                    following.left = True  # its event loop is gone, so nobody would ever leave for it
            for ticket_behind in self._line:
                self._wake(ticket_behind)

    @staticmethod
    def _wake(ticket: Ticket) -> bool:
        try:
            ticket.loop.call_soon_threadsafe(ticket.changed.set)
        except RuntimeError:  # the loop is closed
            return False
        return True
