"""Intervals of 95% for shares and means of observations that come in groups, such as the turns of one conversation.

What is said in one conversation is alike, so that it tells less than as many single messages. A share has Wilson's
score interval on the effective number of observations: their number divided by the design effect (Kish 1965), the ratio
of the variance between groups to that of independent observations. Where all observations are alike there is no
variance to measure, and the number of groups stands for it, which is the least that it can be. A mean has the
percentile bootstrap over groups.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import bootstrap, norm  # type: ignore[import-untyped]

from heard.chat_app.results.intervals import CONFIDENCE
from heard.chat_app.results.records import Share

Floats = np.ndarray[Any, np.dtype[Any]]
RESAMPLES = 2000
SEED = 0


def clustered_share(marks: Sequence[bool], groups: Sequence[str]) -> Share:
    """Return the share of true `marks`; `groups` names the group of each."""
    of, count = len(marks), sum(marks)
    if of == 0:
        return Share(0, 0, None, None, None)
    share = count / of
    effective = _effective_number(marks, groups)
    z = float(norm.ppf(0.5 + CONFIDENCE / 2))
    middle = (share + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z / (1 + z * z / effective) * sqrt(share * (1 - share) / effective + z * z / (4 * effective * effective))
    # At the ends the interval touches 0 or 1, which rounding must not miss.
    low = 0.0 if count == 0 else max(0.0, middle - half)
    high = 1.0 if count == of else min(1.0, middle + half)
    return Share(count, of, share, low, high)


def clustered_mean(values: Sequence[float], groups: Sequence[str]) -> tuple[float, float, float] | None:
    """Return mean, low and high; None for fewer than two groups."""
    sums, sizes = _totals(values, groups)
    if len(sizes) < 2:
        return None

    def mean(sums: Floats, sizes: Floats, axis: int = -1) -> Floats:
        return np.asarray(sums.sum(axis=axis) / sizes.sum(axis=axis))

    found = bootstrap(
        (sums, sizes), mean, paired=True, vectorized=True, n_resamples=RESAMPLES, method="percentile", rng=SEED
    ).confidence_interval
    return float(mean(sums, sizes)), float(found.low), float(found.high)


def _effective_number(marks: Sequence[bool], groups: Sequence[str]) -> float:
    sums, sizes = _totals([float(mark) for mark in marks], groups)
    of, number = len(marks), len(sizes)
    share = float(sums.sum()) / of
    if share in (0.0, 1.0):
        return float(number)
    if number < 2:
        return 1.0
    between = number / (number - 1) * float(((sums - share * sizes) ** 2).sum()) / of**2
    effect = between / (share * (1 - share) / of)
    return of / max(1.0, effect)


def _totals(values: Sequence[float], groups: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the sum and the size of each group."""
    names = {name: place for place, name in enumerate(dict.fromkeys(groups))}
    sums, sizes = np.zeros(len(names)), np.zeros(len(names))
    for value, group in zip(values, groups, strict=True):
        sums[names[group]] += value
        sizes[names[group]] += 1
    return sums, sizes
