"""Circuit breakers (M. Nygard, "Release It!", 2007): a server that is down gets no calls for a while.

After FAILURE_THRESHOLD failed calls in a row a server cools down, and calls to it fail at once. After COOLDOWN_SECONDS
one trial call is let through, whose outcome decides. Times are of `time.monotonic`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

FAILURE_THRESHOLD = 5
"""Failed calls in a row, each with all its attempts. Fewer may be a bad moment of a server that is up."""
COOLDOWN_SECONDS = 30.0
TRIAL_SECONDS = 0.2
"""The reported wait while a trial call is running, whose length is unknown."""


class CoolingDown(Exception):
    """A call was not made, because its server is cooling down."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"cools down for {seconds:.1f} s")
        self.seconds = seconds
        """Seconds until another try makes sense; above 0."""


class CircuitBreaker:
    """The circuit breaker of one server. For one event loop."""

    def __init__(self, failure_threshold: int, cooldown_seconds: float) -> None:
        self._failure_threshold, self._cooldown_seconds = failure_threshold, cooldown_seconds
        self._failures = 0
        self._cooldown_ends: float | None = None
        """When the cool-down ends; None while calls are let through."""
        self._trial_running = False

    @property
    def seconds_left(self) -> float:
        """Seconds until a call is let through; 0 if one is now."""
        if self._cooldown_ends is None:
            return 0.0
        left = max(0.0, self._cooldown_ends - time.monotonic())
        return max(left, TRIAL_SECONDS) if self._trial_running else left

    @contextmanager
    def guard(self, is_down: Callable[[Exception], bool]) -> Iterator[None]:
        """Return a context manager for one call, up to its first token. Raises CoolingDown if the call may not be made.

        `is_down` says which exceptions mean that the server is down. Any other exception counts as an answer of the
        server, and a cancellation as nothing.
        """
        if seconds := self.seconds_left:
            raise CoolingDown(seconds)
        trial = self._trial_running = self._cooldown_ends is not None
        try:
            yield
        except Exception as error:
            if is_down(error):
                self._record_failure(trial)
            else:
                self._record_success()
            raise
        except BaseException:
            if trial:
                self._trial_running = False  # the next call is the trial
            raise
        self._record_success()

    def _record_failure(self, trial: bool) -> None:
        self._failures += 1
        # Calls that were running when the cool-down began do not prolong it.
        if trial or (self._cooldown_ends is None and self._failures >= self._failure_threshold):
            self._cooldown_ends, self._trial_running = time.monotonic() + self._cooldown_seconds, False

    def _record_success(self) -> None:
        self._failures, self._cooldown_ends, self._trial_running = 0, None, False


class CircuitBreakers:
    """A circuit breaker for each server."""

    def __init__(self, failure_threshold: int = FAILURE_THRESHOLD, cooldown_seconds: float = COOLDOWN_SECONDS) -> None:
        self._failure_threshold, self._cooldown_seconds = failure_threshold, cooldown_seconds
        self._breakers: dict[str, CircuitBreaker] = {}

    def of(self, url: str) -> CircuitBreaker:
        """Return the breaker of the server at this address, whatever the path."""
        parts = urlsplit(url)
        return self._breakers.setdefault(
            f"{parts.scheme}://{parts.netloc}".lower(), CircuitBreaker(self._failure_threshold, self._cooldown_seconds)
        )
