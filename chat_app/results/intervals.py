"""Intervals of 95% for shares and their differences."""

from math import sqrt

from scipy.stats import binomtest  # type: ignore[import-untyped]

from heard.chat_app.results.records import Share

CONFIDENCE = 0.95


def wilson_share(count: int, of: int) -> Share:
    """Return a share with Wilson's score interval (Wilson 1927), which stays within 0..1, also for 0 and 1."""
    if of == 0:
        return Share(count, of, None, None, None)
    found = binomtest(count, of).proportion_ci(CONFIDENCE, method="wilson")
    return Share(count, of, count / of, float(found.low), float(found.high))


def newcombe_difference(first: Share, second: Share) -> tuple[float, float, float] | None:
    """Return first minus second with Newcombe's hybrid score interval (1998, method 10); None if either is empty."""
    ends = [(one.share, one.low, one.high) for one in (first, second)]
    known = [
        (share, low, high) for share, low, high in ends if share is not None and low is not None and high is not None
    ]
    if len(known) < 2:
        return None
    (a, a_low, a_high), (b, b_low, b_high) = known
    return a - b, a - b - sqrt((a - a_low) ** 2 + (b_high - b) ** 2), a - b + sqrt((a_high - a) ** 2 + (b - b_low) ** 2)
