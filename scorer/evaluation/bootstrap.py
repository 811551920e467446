"""Intervals of a figure: how far it would move had other replies been drawn (by the bootstrap), or other raters."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

Floats = np.ndarray[Any, np.dtype[Any]]
Measure = Callable[[Floats, Floats], float]
Parts = Sequence[tuple[Floats, Floats]]

RESAMPLES = 500


def bounds(parts: Parts, measure: Measure) -> tuple[float, float] | None:
    """95% percentile interval of the mean of `measure` over the parts, of which each is (predictions, labels).

    The rows of each part are resampled on their own, RESAMPLES times, with the seed 0; a mean over folds keeps its
    folds. None where a part has fewer than two rows.
    """
    if not parts or min(len(truth) for _, truth in parts) < 2:
        return None

    def mean(*chosen: Floats) -> float:
        drawn = [rows.astype(int) for rows in chosen]
        found = [measure(a[rows], b[rows]) for (a, b), rows in zip(parts, drawn, strict=True)]
        known = [value for value in found if not np.isnan(value)]  # a resample may lack one kind
        return float(np.mean(known)) if known else 0.0

    rows = tuple(np.arange(len(truth)) for _, truth in parts)
    found = stats.bootstrap(rows, mean, n_resamples=RESAMPLES, vectorized=False, method="percentile", rng=0)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def interval_text(parts: Parts, measure: Measure) -> str:
    """` [0.66, 0.70]`, or nothing where there are too few rows."""
    found = bounds(parts, measure)
    return "" if found is None else f" [{found[0]:.2f}, {found[1]:.2f}]"


def over_raters(each: Sequence[float]) -> str:
    """Mean over raters and its 95% interval."""
    mean, error = float(np.mean(each)), float(stats.sem(each))
    low, high = stats.t.interval(0.95, len(each) - 1, mean, error)
    return f"{mean:.3f} [{low:.2f}, {high:.2f}]"


def share(found: Floats) -> str:
    """A share in percent with Wilson's interval of 95%."""
    if not len(found):
        return "none"
    interval = stats.binomtest(int(found.sum()), len(found)).proportion_ci(method="wilson")
    return f"{np.mean(found):.1%} [{interval.low:.1%}, {interval.high:.1%}] of {len(found)}"
