"""The two-way bootstrap: percentiles over samples of people and of items, drawn with replacement and crossed.

A vote's weight is the number of times that its person was drawn times that of its item: the pigeonhole bootstrap (Owen
2007, "The pigeonhole bootstrap"). It counts the chance of single votes up to three times, so that its intervals are
wider where that is most of the variance, and it takes a fit for each sample: the intervals that are shown are those of
`two_way.py`. In a live study, where everybody writes their own messages, people alone are drawn.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from heard.chat_app.results.records import Bootstrap, BootstrapInterval
from heard.chat_app.results.share_intervals import marks_of
from heard.chat_app.results.strengths import choose_model, fit, patterns_of
from heard.chat_app.results.two_way import Clusters
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell

Floats = np.ndarray[Any, np.dtype[Any]]
Ints = np.ndarray[Any, np.dtype[Any]]

RESAMPLES = 200
SEED = 0
FEWEST_FINITE_FITS = 0.95
"""Least share of the resamples with a finite fit; with fewer, an interval would be too narrow."""


@threadpool_limits.wrap(limits=1)  # type: ignore[untyped-decorator]  # the matrices are small: more threads only wait for each other
def bootstrap(
    cells: Sequence[Cell],
    cell: Ints,
    person: Ints,
    item: Ints,
    *,
    resamples: int = RESAMPLES,
    progress: Callable[[int], None] = lambda done: None,
) -> Bootstrap:
    """Return percentile intervals of 95% for shares and strengths. `progress` is called with the number of samples."""
    clusters = Clusters.of(person, item)
    if clusters.reason:
        return Bootstrap(clusters.reason, 0, [])
    live = clusters.items == len(cell)
    generator = np.random.default_rng(SEED)
    names = sorted({name for row in np.unique(cell).tolist() for name in cells[row].sources})
    marks, size = marks_of(cells, cell, names), len(names)
    fitted = _Fits(cells, cell)
    shares = np.full((resamples, 2 * size), np.nan)
    strengths: list[Floats] = []
    for number in range(resamples):
        weights = _drawn(generator, clusters.people)[clusters.person]
        if not live:
            weights *= _drawn(generator, clusters.items)[clusters.item]
        votes = np.bincount(cell, weights=weights, minlength=len(cells))
        of = votes @ marks.could
        np.divide(votes @ marks.given, of, out=shares[number], where=of > 0)
        if (found := fitted.of(weights)) is not None:
            strengths.append(found)
        progress(number + 1)
    intervals = [
        BootstrapInterval(kind, name, *_bounds(shares[:, start + place], resamples))
        for kind, start in (("most", 0), ("least", size))
        for place, name in enumerate(names)
    ]
    every = np.array(strengths).reshape(-1, len(fitted.sources))
    intervals += [
        BootstrapInterval("strength", name, *_bounds(every[:, place], resamples))
        for place, name in enumerate(fitted.sources)
    ]
    return Bootstrap(None, resamples, intervals)


class _Fits:
    """The strengths of any weights of the votes; no sources where there is no finite fit of all."""

    def __init__(self, cells: Sequence[Cell], cell: Ints) -> None:
        patterns, self._row, self._used = patterns_of(cells, cell)
        choices, _ = choose_model(patterns)
        self.sources: list[str] = []
        if isinstance(choices, str):
            return
        self._choices, self.sources = choices, choices.layout.sources
        self._best = fit(choices, np.bincount(self._row, minlength=len(patterns)).astype(float))
        self._ranked = np.array([choice is not Choice.SAME for _, choice, *_ in patterns])
        self._known: dict[bytes, bool] = {}

    def of(self, weights: Floats) -> Floats | None:
        """Return the strengths, or None where this sample has no finite fit."""
        if not self.sources:
            return None
        choices = self._choices
        each = np.bincount(self._row, weights=weights[self._used], minlength=len(choices.patterns))
        seen = choices.seen(each)
        if (key := seen.tobytes()) not in self._known:
            self._known[key] = choices.has_finite_fit(seen)
        if not self._known[key] or not each[self._ranked].any():  # a sample of ties alone estimates nothing
            return None
        found: Floats = (choices.layout.basis @ fit(choices, each, self._best))[: len(self.sources)]
        return found


def _drawn(generator: np.random.Generator, size: int) -> Floats:
    """How often each of `size` clusters is drawn in a sample of as many."""
    return np.bincount(generator.integers(0, size, size), minlength=size).astype(float)


def _bounds(values: Floats, resamples: int) -> tuple[float | None, float | None]:
    values = values[~np.isnan(values)]
    if len(values) < FEWEST_FINITE_FITS * resamples:
        return None, None
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
