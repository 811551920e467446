"""Native threads of low priority: their work is wanted, but never before a page or a score."""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

NICENESS = 10
"""Such a thread gets a tenth of a core that it shares with a thread of niceness 0 (sched(7))."""

Built = TypeVar("Built")


def with_low_priority_threads(build: Callable[[], Built]) -> Built:
    """Return what `build` returns; the native threads that it starts get NICENESS, which their own threads inherit.

    The calling thread keeps its priority: it may hold the interpreter's lock while it builds, and with a low priority
    it would hold up everything else in this process for as long as other programs keep the machine busy.
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
