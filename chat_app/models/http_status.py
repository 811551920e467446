"""The HTTP status of a server's error response, and what the server says of it."""

import email.utils
import json
import time
from dataclasses import dataclass, field
from typing import Any

MOST_BYTES = 65_536
"""Of the body of an error that is read."""


@dataclass(frozen=True, slots=True)
class ServerWords:
    """What the body of an error says. It may quote the person's words or a key."""

    codes: frozenset[str] = frozenset()
    """Its codes and types, in small letters, such as "insufficient_quota"."""
    message: str = field(default="", repr=False)


def words_of(body: bytes) -> ServerWords:
    """Return what an error's body says: in JSON of any provider's shape, else nothing, as of a web page."""
    try:
        found = json.loads(body)
    except ValueError:
        return ServerWords()
    while isinstance(found, list) and found:
        found = found[0]
    return _words_in(found)


def _words_in(value: Any) -> ServerWords:
    if isinstance(value, str):
        return ServerWords(message=value)
    if not isinstance(value, dict):
        return ServerWords()
    codes = {str(value[name]).casefold() for name in ("code", "type", "status") if isinstance(value.get(name), str)}
    if isinstance(inner := value.get("innererror"), dict):
        codes |= _words_in(inner).codes
    message = ""
    for name in ("error", "message", "detail", "details", "msg", "error_msg"):
        inside = value.get(name)
        if isinstance(inside, list) and inside:
            inside = inside[0]
        words = _words_in(inside)
        codes |= words.codes
        message = message or words.message
    return ServerWords(frozenset(codes), message)


class HttpStatusError(Exception):
    """A server's response had no 2xx status. What the server says of it is in no representation of this."""

    def __init__(self, status: int, retry_after: float | None, said: ServerWords | None = None) -> None:
        super().__init__(f"status {status}")
        self.said = said or ServerWords()
        self.status = status
        self.retry_after = retry_after
        """Seconds of the Retry-After header, if there is one."""


def seconds_to_wait(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date (RFC 9110, section 10.2.3); None if malformed."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return seconds if 0 <= seconds < 1e7 else None
