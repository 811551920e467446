"""Blocking work for visitors, in threads of its own: a queue of bounded length, in which nobody can hold up the others.

Each visitor has one place: of one visitor at most one piece of work runs, and few more wait. Who goes next is the
visitor for whom least was done lately, so that a newcomer goes before a thousand texts of somebody who never stops; and
when the queue is full it is the one with the most who has to come again.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")

MOST_WAITING = 256
"""Pieces of work that wait."""
MOST_OF_ONE = 16
"""Pieces of one visitor, the one that runs included: what a few open pages send at once."""
HALVED_SECONDS = 30.0
"""After which what was done for a visitor counts half."""
MOST_REMEMBERED = 10_000
"""Visitors whose use is remembered."""


class QueueFull(Exception):
    """The work was not done, because too much waits: of this visitor, or of those for whom less was done."""


@dataclass(slots=True, eq=False)
class _Job:
    visitor: str
    number: int
    work: Callable[[], Any]
    result: "asyncio.Future[Any]" = field(repr=False)


class FairQueue:
    """One queue with its threads. Belongs to one event loop."""

    def __init__(self, threads: int, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`name` is that of the threads. They start with the first work."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._threads, self._clock = threads, clock
        self._closed = False
        self._numbers = count()
        self._waiting: list[_Job] = []
        self._running: set[str] = set()
        self._of = Counter[str]()
        """Pieces of each visitor, waiting and running."""
        self._used: dict[str, tuple[float, float]] = {}
        """Visitor -> (seconds of a processor, when they were counted)."""

    async def run(self, visitor: str, work: Callable[[], T]) -> T:
        """Return `work()`, called in a thread when it is the visitor's turn. Raises QueueFull, and what `work` raises.

        Cancelled while it waits, it is never called.
        """
        if self._of[visitor] >= MOST_OF_ONE:
            raise QueueFull
        if len(self._waiting) >= MOST_WAITING:
            now = self._clock()
            heaviest = max(self._waiting, key=lambda job: self._precedence(job, now))
            if self._used_at(heaviest.visitor, now) <= self._used_at(visitor, now):
                raise QueueFull
            self._leave(heaviest)
            heaviest.result.set_exception(QueueFull())
        job = _Job(visitor, next(self._numbers), work, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._of[visitor] += 1
        self._start()
        try:
            result: T = await job.result
        except asyncio.CancelledError:
            if job in self._waiting:
                self._leave(job)
            raise
        return result

    def used(self, visitor: str) -> float:
        """Return the seconds of a processor that were spent on a visitor lately; what is long past counts less."""
        return self._used_at(visitor, self._clock())

    def close(self) -> None:
        """Begin no more work: what waits is cancelled, and what runs ends by itself."""
        self._closed = True
        for job in list(self._waiting):
            self._leave(job)
            job.result.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _used_at(self, visitor: str, now: float) -> float:
        seconds, at = self._used.get(visitor, (0.0, now))
        return float(seconds * 0.5 ** ((now - at) / HALVED_SECONDS))

    def _precedence(self, job: _Job, now: float) -> tuple[float, int]:
        return self._used_at(job.visitor, now), job.number

    def _leave(self, job: _Job) -> None:
        self._waiting.remove(job)
        self._count_down(job.visitor)

    def _count_down(self, visitor: str) -> None:
        self._of[visitor] -= 1
        if not self._of[visitor]:
            del self._of[visitor]

    def _start(self) -> None:
        while len(self._running) < self._threads and not self._closed:
            free = [job for job in self._waiting if job.visitor not in self._running]
            if not free:
                return
            now = self._clock()
            job = min(free, key=lambda job: self._precedence(job, now))
            self._waiting.remove(job)
            self._running.add(job.visitor)
            running = asyncio.get_running_loop().run_in_executor(self._pool, _timed, job.work)
            running.add_done_callback(lambda done, job=job: self._end(job, done))  # type: ignore[misc]

    def _end(self, job: _Job, done: "asyncio.Future[tuple[Any, BaseException | None, float]]") -> None:
        self._running.discard(job.visitor)
        self._count_down(job.visitor)
        if done.cancelled():  # closed
            job.result.cancel()
            return
        value, fault, seconds = done.result()
        self._remember(job.visitor, seconds)
        if not job.result.done():
            job.result.set_result(value) if fault is None else job.result.set_exception(fault)
        self._start()

    def _remember(self, visitor: str, seconds: float) -> None:
        now = self._clock()
        self._used[visitor] = (self._used_at(visitor, now) + seconds, now)
        if len(self._used) > MOST_REMEMBERED:
            least = sorted(self._used, key=lambda one: self._used_at(one, now))[: MOST_REMEMBERED // 2]
            for one in least:
                del self._used[one]


def _timed(work: Callable[[], T]) -> tuple[T | None, BaseException | None, float]:
    """Return what `work` returns or raises, and the seconds of this thread's processor that it took."""
    began = time.thread_time()
    try:
        return work(), None, time.thread_time() - began
    except Exception as fault:  # noqa: BLE001 - handed to whoever waits for the work
        return None, fault, time.thread_time() - began
