"""Token buckets: how often each of many senders may do something."""

import time
from collections import OrderedDict
from collections.abc import Callable

MOST_SENDERS = 50_000
"""Buckets that are kept; of more, those that were used longest ago are forgotten."""


class TokenBuckets:
    """One bucket for each sender: it holds what is allowed at once, and is filled again evenly."""

    def __init__(self, most: int, *, seconds: float = 60, clock: Callable[[], float] = time.monotonic) -> None:
        """`most`: how often in so many seconds; 0 sets no limit."""
        self._most, self._seconds, self._clock = most, seconds, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Sender -> (tokens, when they were counted)."""

    def seconds_to_wait(self, sender: str) -> float:
        """Take one, and return 0; where there is none, take nothing and return after how many seconds there is one."""
        return self._take(sender, debt=False)

    def seconds_to_pause(self, sender: str) -> float:
        """Take one, of those to come if there is none, and return how many seconds to wait before going on."""
        return self._take(sender, debt=True)

    def _take(self, sender: str, *, debt: bool) -> float:
        if not self._most:
            return 0.0
        now, each = self._clock(), self._seconds / self._most
        tokens, at = self._buckets.pop(sender, (float(self._most), now))
        tokens = min(self._most, tokens + (now - at) / each) - 1
        wait = max(0.0, -tokens * each)
        self._buckets[sender] = (tokens if debt or not wait else tokens + 1, now)
        if len(self._buckets) > MOST_SENDERS:
            self._buckets.popitem(last=False)
        return wait
