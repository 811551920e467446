"""A server's answer that is no success, before anybody reads its text."""

import email.utils
import time


class Refusal(Exception):
    """A server's answer was not a success; its text stays unread."""

    def __init__(self, status: int, retry_after: float | None) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.retry_after = retry_after
        """Seconds that the server asked to wait, if it did."""


def seconds_to_wait(value: str | None) -> float | None:
    """Seconds in a Retry-After header: a number or a date (RFC 9110, section 10.2.3). None for anything else."""
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
