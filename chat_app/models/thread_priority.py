"""Native threads that stand back: what they work out is wanted, but never before a page or a score."""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

NICENESS = 10
"""Beside a thread of niceness 0 on the same core one of these gets a tenth of it (sched(7))."""

Built = TypeVar("Built")


def with_low_threads(build: Callable[[], Built]) -> Built:
    """What `build` makes; the native threads that it starts get NICENESS, which those that they start inherit.

    The caller's own thread does not: while it builds it may hold the interpreter, and in low priority it would hold up
    everything else in this process for as long as other programs keep the machine busy.
    """
    if sys.platform != "linux":  # only there has each thread a niceness; elsewhere this would slow the whole server
        return build()
    known = _threads()
    built = build()
    while new := _threads() - known:
        time.sleep(0.01)  # in which a thread of Python's that is only just starting tells its number
        for thread in new - {thread.native_id for thread in threading.enumerate()}:
            with suppress(ProcessLookupError):  # it has ended
                os.setpriority(os.PRIO_PROCESS, thread, NICENESS)
        known |= new
    return built


def _threads() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/task")}
