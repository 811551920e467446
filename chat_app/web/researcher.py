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

from heard.chat_app.common.identity import Identity, cookies_of

RESEARCHER_COOKIE = "heard_researcher"
SESSION_SECONDS = 12 * 3600
MOST_FAILURES = 10
"""Wrong tokens within FAILURE_SECONDS, from anybody, after which none is looked at. No address is kept to tell people
apart; whoever holds a cookie is not locked out."""
FAILURE_SECONDS = 300.0


@dataclass(slots=True)
class Researcher:
    """Lets in who knows the token."""

    token: str = field(repr=False)
    identity: Identity
    clock: Callable[[], float] = time.time
    failures: deque[float] = field(default_factory=deque)
    """Times of wrong guesses."""

    @property
    def enabled(self) -> bool:
        """Whether there is a token at all."""
        return bool(self.token)

    @property
    def locked_out(self) -> bool:
        """Whether there were too many wrong guesses just now."""
        while self.failures and self.failures[0] < self.clock() - FAILURE_SECONDS:
            self.failures.popleft()
        return len(self.failures) >= MOST_FAILURES

    def accepts(self, given: str) -> bool:
        """Whether this is the token, compared in constant time. A wrong one counts as a guess."""
        same = self.enabled and hmac.compare_digest(_digest(given), _digest(self.token))
        if not same:
            self.failures.append(self.clock())
        return same

    def cookie(self) -> str:
        """A cookie value that holds for SESSION_SECONDS."""
        return self.identity.seal(int(self.clock()) + SESSION_SECONDS, self._purpose)

    def is_signed_in(self, headers: Mapping[str, str]) -> bool:
        """Whether a request carries a cookie of ours that still holds. Never raises."""
        until = self.identity.unseal(cookies_of(headers).get(RESEARCHER_COOKIE, ""), self._purpose)
        return self.enabled and until is not None and until > self.clock()

    @property
    def _purpose(self) -> str:
        return f"heard-researcher-1 {_digest(self.token).hex()}"


def _digest(text: str) -> bytes:
    """Of one length whatever the text, so that not even the token's length can be timed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
