"""Intervals of shares, and of the differences of two of them, for other people and other items (`two_way.py`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from heard.chat_app.results.intervals import newcombe_difference
from heard.chat_app.results.records import Interval, Share, ShareDifference, SourceShares
from heard.chat_app.results.two_way import NOTHING, Clusters, Spread, share_interval
from heard.db.study_records import Choice, asks_least
from heard.db.vote_reads import Cell

Floats = np.ndarray[Any, np.dtype[Any]]
Ints = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Marks:
    """What P shares count, of each of C cells: how many marks that could be given, and were. C x P each."""

    could: Floats
    given: Floats


class ShareIntervals:
    """The intervals of P shares of the same N votes, and of their differences."""

    def __init__(self, marks: Marks, cell: Ints, person: Ints, item: Ints) -> None:
        self._cell, self._person, self._item = cell, person, item
        votes = np.bincount(cell, minlength=len(marks.could)).astype(float)
        of, count = votes @ marks.could, votes @ marks.given
        self.shares = np.divide(count, of, out=np.full(len(of), np.nan), where=of > 0)
        at = np.nan_to_num(self.shares)
        self._scores = (marks.given - at * marks.could) / np.maximum(of, 1)
        self._could = marks.could > 0
        self._spreads: dict[bytes, tuple[Clusters, Spread | None]] = {}
        self._found: dict[int, Interval] = {}

    def share(self, number: int) -> Interval:
        """Return the interval of one share."""
        if number not in self._found:
            self._found[number] = self._share(number)
        return self._found[number]

    def _share(self, number: int) -> Interval:
        clusters, spread = self._spread(self._could[:, number])
        if spread is None:
            return Interval(reason=clusters.reason)
        weights = np.zeros(len(self.shares))
        weights[number] = 1
        return Interval(*share_interval(float(self.shares[number]), spread.variance(weights), clusters))

    def difference(self, first: int, second: int) -> tuple[float | None, Interval]:
        """Return share `first` minus share `second`, on the same ballots where both could be marked.

        Where nobody or everybody was marked the interval is Newcombe's (1998, method 10), from those of the two shares.
        """
        ends = [self.share(one) for one in (first, second)]
        a, b = (float(self.shares[one]) for one in (first, second))
        if np.isnan(a) or np.isnan(b):
            return None, Interval(reason=NOTHING)
        if reason := ends[0].reason or ends[1].reason:
            return a - b, Interval(reason=reason)
        clusters, spread = self._spread(self._could[:, first] | self._could[:, second])
        assert spread is not None
        weights = np.zeros(len(self.shares))
        weights[first], weights[second] = 1, -1
        found = spread.variance(weights)
        if found == 0 or {a, b} & {0.0, 1.0}:
            of = [Share(0, 0, share, one.low, one.high) for share, one in zip((a, b), ends, strict=True)]
            _, low, high = newcombe_difference(*of) or (None, None, None)
            return a - b, Interval(low, high)
        reach = clusters.quantile * sqrt(found)
        return a - b, Interval(max(-1.0, a - b - reach), min(1.0, a - b + reach))

    def _spread(self, could: Floats) -> tuple[Clusters, Spread | None]:
        """The clusters of the votes on which something could be marked; most shares have the same ones."""
        key = could.tobytes()
        if key not in self._spreads:
            of = could[self._cell]
            clusters = Clusters.of(self._person[of], self._item[of])
            spread = None if clusters.reason else Spread.of(self._scores[self._cell[of]], clusters)
            self._spreads[key] = clusters, spread
        return self._spreads[key]


def with_intervals(
    shares: Sequence[SourceShares], cells: Sequence[Cell], cell: Ints, person: Ints, item: Ints
) -> tuple[list[SourceShares], list[ShareDifference]]:
    """Return the shares with their intervals, and the differences of each pair of sources.

    For each vote `cell` has an index into `cells`, `person` and `item` the numbers of both.
    """
    names, size = [one.source for one in shares], len(shares)
    found = ShareIntervals(marks_of(cells, cell, names), cell, person, item)
    done = []
    for number, one in enumerate(shares):
        net, net_interval = found.difference(number, size + number)
        done.append(
            replace(
                one, most_interval=found.share(number), least_interval=found.share(size + number), net=net,
                net_interval=net_interval,
            )
        )  # fmt: skip
    pairs = [
        ShareDifference(names[a], names[b], *found.difference(a, b), *found.difference(size + a, size + b))
        for a, b in combinations(range(size), 2)
    ]
    return done, pairs


def marks_of(cells: Sequence[Cell], cell: Ints, names: Sequence[str]) -> Marks:
    """Return the marks of "most" of each source, and then those of "least", of the cells that occur in `cell`."""
    index, size = {name: number for number, name in enumerate(names)}, len(names)
    could, given = np.zeros((len(cells), 2 * size)), np.zeros((len(cells), 2 * size))
    for row in np.flatnonzero(np.bincount(cell, minlength=len(cells))).tolist():
        one = cells[row]
        if one.choice is Choice.SKIPPED:
            continue
        votable, sources = one.votable, one.sources
        least = asks_least(len(votable))
        for place in votable:
            at = index[sources[place - 1]]
            could[row, at] += 1
            could[row, size + at] += least
        for mark, start in ((one.most, 0), (one.least, size)):
            if mark is not None:
                given[row, start + index[sources[mark - 1]]] += 1
    return Marks(could, given)


def intervals_of(
    marks: Callable[[Cell], Sequence[tuple[int, bool]]],
    size: int,
    cells: Sequence[Cell],
    votes: tuple[Ints, Ints, Ints],
) -> list[Interval]:
    """Return the intervals of `size` shares. `marks` returns of a cell the numbers of those that it counts for, and
    whether it has their mark; `votes` are cell, person and item of each vote."""
    could, given = np.zeros((len(cells), size)), np.zeros((len(cells), size))
    for row in np.flatnonzero(np.bincount(votes[0], minlength=len(cells))).tolist():
        for number, marked in marks(cells[row]):
            could[row, number] += 1
            given[row, number] += marked
    found = ShareIntervals(Marks(could, given), *votes)
    return [found.share(number) for number in range(size)]
