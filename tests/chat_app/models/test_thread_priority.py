"""The embedded engine stands back, and never holds the interpreter while it does."""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator

import pytest

from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.thread_priority import NICENESS, with_low_priority_threads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a niceness for each thread")


def niceness(thread: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, thread)


def nice_threads() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/task") if niceness(int(name)) == NICENESS}


@pytest.fixture
def engine(weights: Weights) -> Iterator[Engine]:
    made = Engine(weights.chat_model)
    yield made
    made.close()


async def test_the_engine_s_threads_stand_back_and_no_thread_of_python_does(engine: Engine) -> None:
    before = nice_threads()
    await asyncio.gather(engine.start(), asyncio.to_thread(pow, 3, 3))
    hello = [{"role": "user", "content": "Hello"}]
    assert [item async for item in engine.stream(hello, max_tokens=4, temperature=0)]
    assert nice_threads() - before
    known = {thread.native_id for thread in threading.enumerate()} - {None}
    assert not known & nice_threads()


def test_what_is_built_is_built_in_ordinary_priority() -> None:
    assert with_low_priority_threads(lambda: niceness(threading.get_native_id())) == niceness(os.getpid())


def test_a_thread_of_python_that_starts_meanwhile_does_not_stand_back() -> None:
    done = threading.Event()
    ours = threading.Thread(target=done.wait)
    with_low_priority_threads(ours.start)
    try:
        assert ours.native_id
        assert niceness(ours.native_id) == niceness(os.getpid())
    finally:
        done.set()
        ours.join()
