"""The queue of blocking work: fair between visitors, bounded, and nothing lost when somebody leaves."""

import asyncio
import threading
import time

import pytest

from heard.chat_app.common import fair_queue
from heard.chat_app.common.fair_queue import MOST_OF_ONE, FairQueue, QueueFull


class Gate:
    """Work that waits until it is let go, and tells the order in which it was begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.open = threading.Event()

    def work(self, name: str) -> str:
        self.begun.append(name)
        self.open.wait(10)
        return name


def spin(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0.005)


async def test_a_newcomer_goes_before_many_texts_of_somebody_else() -> None:
    queue, gate = FairQueue(1, "test"), Gate()
    await queue.run("flood", lambda: spin(0.02))
    first = asyncio.create_task(queue.run("flood", lambda: gate.work("flood 0")))
    await settle()
    flood = [asyncio.create_task(queue.run("flood", lambda n=n: gate.work(f"flood {n}"))) for n in (1, 2, 3)]
    await settle()
    honest = asyncio.create_task(queue.run("honest", lambda: gate.work("honest")))
    await settle()
    assert gate.begun == ["flood 0"]
    gate.open.set()
    await asyncio.gather(first, *flood, honest)
    assert gate.begun == ["flood 0", "honest", "flood 1", "flood 2", "flood 3"]
    queue.close()


async def test_of_one_visitor_one_piece_runs_though_a_thread_is_free() -> None:
    queue, gate = FairQueue(2, "test"), Gate()
    both = [asyncio.create_task(queue.run("one", lambda n=n: gate.work(str(n)))) for n in range(2)]
    await settle()
    assert gate.begun == ["0"]
    other = asyncio.create_task(queue.run("other", lambda: gate.work("other")))
    await settle()
    assert gate.begun == ["0", "other"]
    gate.open.set()
    assert await asyncio.gather(*both, other) == ["0", "1", "other"]
    queue.close()


async def test_a_visitor_with_too_many_is_refused_and_nobody_else() -> None:
    queue, gate = FairQueue(1, "test"), Gate()
    own = [asyncio.create_task(queue.run("one", lambda: gate.work("one"))) for _ in range(MOST_OF_ONE)]
    await settle()
    with pytest.raises(QueueFull):
        await queue.run("one", lambda: None)
    other = asyncio.create_task(queue.run("other", lambda: gate.work("other")))
    gate.open.set()
    assert await other == "other"
    assert await asyncio.gather(*own) == ["one"] * MOST_OF_ONE
    assert await queue.run("one", lambda: 1) == 1  # and the place is free again
    queue.close()


async def test_in_a_full_queue_the_heaviest_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "MOST_WAITING", 2)
    queue, gate = FairQueue(1, "test"), Gate()
    await queue.run("heavy", lambda: spin(0.02))
    running = asyncio.create_task(queue.run("somebody", lambda: gate.work("somebody")))
    await settle()
    heavy = [asyncio.create_task(queue.run("heavy", lambda: gate.work("heavy"))) for _ in range(2)]
    await settle()
    honest = asyncio.create_task(queue.run("honest", lambda: gate.work("honest")))
    await settle()
    assert [task.done() for task in heavy] == [False, True]  # the one that came last
    with pytest.raises(QueueFull):
        await heavy[1]
    with pytest.raises(QueueFull):  # for nobody who waits was as much done
        await queue.run("heavy", lambda: None)
    gate.open.set()
    assert await asyncio.gather(running, heavy[0], honest) == ["somebody", "heavy", "honest"]
    queue.close()


async def test_who_leaves_frees_the_place_and_the_work_is_not_done() -> None:
    queue, gate = FairQueue(1, "test"), Gate()
    running = asyncio.create_task(queue.run("a", lambda: gate.work("a")))
    await settle()
    left = asyncio.create_task(queue.run("b", lambda: gate.work("b")))
    await settle()
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    running.cancel()  # what runs cannot be broken off, and its thread is waited for
    await asyncio.gather(running, return_exceptions=True)
    next_one = asyncio.create_task(queue.run("c", lambda: gate.work("c")))
    await settle()
    assert gate.begun == ["a"]
    gate.open.set()
    assert await next_one == "c"
    assert gate.begun == ["a", "c"]
    queue.close()


async def test_a_fault_reaches_whoever_asked_and_the_queue_goes_on() -> None:
    queue = FairQueue(1, "test")

    def fail() -> None:
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        await queue.run("one", fail)
    assert await queue.run("one", lambda: 2) == 2
    queue.close()


async def test_what_is_long_past_counts_less_and_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "MOST_REMEMBERED", 4)
    now = 100.0
    queue = FairQueue(1, "test", clock=lambda: now)
    await queue.run("heavy", lambda: spin(0.03))
    used = queue.used("heavy")
    for number in range(20):
        await queue.run(f"light {number}", lambda: None)
    assert queue.used("heavy") == used > 0  # whoever used most is remembered longest
    now += fair_queue.HALVED_SECONDS
    assert queue.used("heavy") == pytest.approx(used / 2)
    queue.close()


async def test_what_waits_at_the_end_is_cancelled() -> None:
    queue, gate = FairQueue(1, "test"), Gate()
    running = asyncio.create_task(queue.run("a", lambda: gate.work("a")))
    waiting = asyncio.create_task(queue.run("b", lambda: gate.work("b")))
    await settle()
    queue.close()
    gate.open.set()
    assert await running == "a"
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert gate.begun == ["a"]
