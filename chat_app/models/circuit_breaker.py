"""Servers that are down are left alone for a while, so that nobody waits in vain and nobody adds to their load.

A circuit breaker (M. Nygard, "Release It!", 2007): after MOST_IN_A_ROW failed calls in a row a server rests, and calls
fail at once; after REST_SECONDS one call is let through to try it, and decides. Times are of `time.monotonic`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

MOST_IN_A_ROW = 5
"""Failed calls, each with all its attempts. Fewer would be a bad moment of a server that is up."""
REST_SECONDS = 30.0
TRIAL_SECONDS = 0.2
"""Told as the wait while a trial is under way, as nobody knows how long that takes."""


class Resting(Exception):
    """A call was not made, because its server rests."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"rests for {seconds:.1f} s")
        self.seconds = seconds
        """Until another try makes sense; above 0."""


class Breaker:
    """What is known of one server. For one event loop."""

    def __init__(self, most: int, rest_seconds: float) -> None:
        self._most, self._rest_seconds = most, rest_seconds
        self._failures = 0
        self._until: float | None = None
        """When its rest is over; None while calls pass."""
        self._trying = False

    @property
    def wait(self) -> float:
        """Seconds until a call may be let through; 0 if one is now."""
        if self._until is None:
            return 0.0
        left = max(0.0, self._until - time.monotonic())
        return max(left, TRIAL_SECONDS) if self._trying else left

    @contextmanager
    def call(self, is_down: Callable[[Exception], bool]) -> Iterator[None]:
        """Around one call, up to its first token. Raises Resting in its place.

        `is_down` tells the failures of the server. Any other exception shows that it is there, and a cancellation shows
        nothing.
        """
        if seconds := self.wait:
            raise Resting(seconds)
        trial = self._trying = self._until is not None
        try:
            yield
        except Exception as error:
            if is_down(error):
                self._failed(trial)
            else:
                self._answered()
            raise
        except BaseException:
            if trial:
                self._trying = False  # the next call is the trial
            raise
        self._answered()

    def _failed(self, trial: bool) -> None:
        self._failures += 1
        # Calls that were under way when the rest began do not prolong it.
        if trial or (self._until is None and self._failures >= self._most):
            self._until, self._trying = time.monotonic() + self._rest_seconds, False

    def _answered(self) -> None:
        self._failures, self._until, self._trying = 0, None, False


class Breakers:
    """A breaker for each server that is called."""

    def __init__(self, most: int = MOST_IN_A_ROW, rest_seconds: float = REST_SECONDS) -> None:
        self._most, self._rest_seconds = most, rest_seconds
        self._breakers: dict[str, Breaker] = {}

    def of(self, url: str) -> Breaker:
        """The breaker of the server at this address, whatever the path."""
        parts = urlsplit(url)
        return self._breakers.setdefault(
            f"{parts.scheme}://{parts.netloc}".lower(), Breaker(self._most, self._rest_seconds)
        )
