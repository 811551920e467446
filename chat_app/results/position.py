"""Position bias: whether the place of an answer on the ballot influences the vote."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import chi2  # type: ignore[import-untyped]

from heard.chat_app.results.intervals import wilson_share
from heard.chat_app.results.records import PositionBias, PositionShare
from heard.chat_app.results.selection import Cells
from heard.chat_app.results.share_intervals import intervals_of
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell

Ints = np.ndarray[Any, np.dtype[Any]]


def position_bias(cells: Cells) -> PositionBias:
    """Return the marks of "most empathetic" by position on ranked ballots, with Pearson's chi-square test.

    On a ballot with k votable answers the expected number of marks is 1/k for each position. Positions are balanced by
    design, so differences between sources do not look like a bias.
    """
    shown, marked, expected = Counter[int](), Counter[int](), dict[int, float]()
    for cell, number in cells.items():
        if cell.choice is not Choice.RANKED or cell.most is None:
            continue
        places = cell.votable
        for place in places:
            shown[place] += number
            expected[place] = expected.get(place, 0.0) + number / len(places)
        marked[cell.most] += number
    places_found = sorted(shown)
    rows = [PositionShare(place, wilson_share(marked[place], shown[place]), expected[place]) for place in places_found]
    degrees = max(len(rows) - 1, 0)
    if degrees == 0:
        return PositionBias(rows, None, degrees, None)
    statistic = sum((row.most.count - row.expected) ** 2 / row.expected for row in rows)
    return PositionBias(rows, statistic, degrees, float(chi2.sf(statistic, degrees)))


def with_position_intervals(bias: PositionBias, cells: Sequence[Cell], votes: tuple[Ints, Ints, Ints]) -> PositionBias:
    """Return the shares with their intervals; `votes` are cell, person and item of each vote."""
    index = {one.position: number for number, one in enumerate(bias.positions)}

    def marks(cell: Cell) -> list[tuple[int, bool]]:
        if cell.choice is not Choice.RANKED or cell.most is None:
            return []
        return [(index[place], place == cell.most) for place in cell.votable]

    intervals = intervals_of(marks, len(bias.positions), cells, votes)
    positions = [replace(one, interval=interval) for one, interval in zip(bias.positions, intervals, strict=True)]
    return replace(bias, positions=positions)
