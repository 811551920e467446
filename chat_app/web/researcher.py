"""The researcher's role: one long token from the settings, asked for once, then a signed cookie for half a day.

It has nothing to do with who a visitor is: a participant's cookie never opens it, and the researcher's says only until
when it holds. Another token, or another secret of the server, ends every cookie at once.
"""

import hashlib
import hmac
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from heard.chat_app.common.identity import Identity

RESEARCHER_COOKIE = "heard_researcher"
SESSION_SECONDS = 12 * 3600
GUESSER_COOKIE = "heard_guesser"
"""Tells browsers behind one address apart that have sent a wrong token."""
MOST_FAILURES = 10
"""Wrong tokens of one browser within FAILURE_SECONDS, after which none of it is looked at."""
MOST_OF_ADDRESS = 100
"""The same of one address, whichever browsers they say they are. Addresses are in memory alone, and no longer."""
FAILURE_SECONDS = 300.0
MOST_SENDERS = 10_000
"""Senders whose failures are remembered."""


@dataclass(slots=True)
class Researcher:
    """Lets in who knows the token."""

    token: str = field(repr=False)
    identity: Identity
    clock: Callable[[], float] = time.time
    failures: dict[str, deque[float]] = field(default_factory=dict)
    """Sender -> times of wrong guesses."""

    @property
    def enabled(self) -> bool:
        """Whether there is a token at all."""
        return bool(self.token)

    def locked_out(self, browser: str = "", address: str = "") -> bool:
        """Whether there were too many wrong guesses of this sender just now; `browser` is "" for one not met yet."""
        by_browser = bool(browser) and self._recent(f"browser {browser}") >= MOST_FAILURES
        return by_browser or self._recent(f"address {address}") >= MOST_OF_ADDRESS

    def accepts(self, given: str, browser: str = "", address: str = "") -> bool:
        """Whether this is the token, compared in constant time. A wrong one counts as a guess of its sender."""
        same = self.enabled and same_text(given, self.token)
        for sender in () if same else (f"browser {browser}", f"address {address}"):
            self.failures.setdefault(sender, deque()).append(self.clock())
        while len(self.failures) > MOST_SENDERS:
            del self.failures[next(iter(self.failures))]
        return same

    def guesser(self, headers: Mapping[str, str]) -> str | None:
        """The browser of a request that has sent a wrong token before, or None. Never raises."""
        found = self.identity.unseal(self.identity.cookie(headers, GUESSER_COOKIE), GUESSER_COOKIE)
        return found if isinstance(found, str) else None

    def _recent(self, sender: str) -> int:
        times = self.failures.get(sender, deque())
        while times and times[0] < self.clock() - FAILURE_SECONDS:
            times.popleft()
        if not times:
            self.failures.pop(sender, None)
        return len(times)

    def cookie(self) -> str:
        """A cookie value that holds for SESSION_SECONDS."""
        return self.identity.seal(int(self.clock()) + SESSION_SECONDS, self._purpose)

    def is_signed_in(self, headers: Mapping[str, str]) -> bool:
        """Whether a request carries a cookie of ours that still holds. Never raises."""
        until = self.identity.unseal(self.identity.cookie(headers, RESEARCHER_COOKIE), self._purpose)
        return self.enabled and until is not None and until > self.clock()

    @property
    def _purpose(self) -> str:
        return f"heard-researcher-1 {_digest(self.token).hex()}"


def same_text(given: str, secret: str) -> bool:
    """Whether both are the same, compared in constant time."""
    return hmac.compare_digest(_digest(given), _digest(secret))


def _digest(text: str) -> bytes:
    """Of one length whatever the text, so that not even the token's length can be timed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
