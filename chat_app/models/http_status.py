"""The HTTP status of a server's error response, whose text is never read."""

import email.utils
import time


class HttpStatusError(Exception):
    """A server's response had no 2xx status. Its text is not read."""

    def __init__(self, status: int, retry_after: float | None) -> None:
        super().__init__(f"status {status}")
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
