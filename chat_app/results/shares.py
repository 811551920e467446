"""Shares of "most" and "least empathetic" marks by source: the founding study's Figure 3."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heard.chat_app.results.intervals import wilson_share
from heard.chat_app.results.records import Leak, SourceShares
from heard.chat_app.results.selection import Cells
from heard.chat_app.results.share_intervals import intervals_of
from heard.db.study_records import Choice, asks_least
from heard.db.vote_reads import Cell

Ints = np.ndarray[Any, np.dtype[Any]]


def shares(cells: Cells) -> list[SourceShares]:
    """Return the shares by source, over the ballots where it was votable; the most often marked source first.

    "About the same" and "none of these" mark no answer but count in the denominator, so the shares add up to less than
    1; skipped ballots do not count. The intervals here are Wilson's, as if votes were independent; `share_intervals.py`
    has those for other people and items.
    """
    shown, asked, most, least = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for cell, number in cells.items():
        if cell.choice is Choice.SKIPPED:
            continue
        places = cell.votable
        for place in places:
            shown[cell.sources[place - 1]] += number
            if asks_least(len(places)):
                asked[cell.sources[place - 1]] += number
        if cell.most is not None:
            most[cell.sources[cell.most - 1]] += number
        if cell.least is not None:
            least[cell.sources[cell.least - 1]] += number
    pairs = [
        SourceShares(name, wilson_share(most[name], shown[name]), wilson_share(least[name], asked[name]))
        for name in shown
    ]
    return sorted(pairs, key=lambda one: (-(one.most.share or 0), one.source))


def leaks(cells: Cells) -> list[Leak]:
    """Return the share of leaks by source; `cells` must include ballots with leaks."""
    shown, leaked = Counter[str](), Counter[str]()
    for cell, number in cells.items():
        for place, source in enumerate(cell.sources, 1):
            shown[source] += number
            if place in cell.leaks:
                leaked[source] += number
    return [Leak(source, wilson_share(leaked[source], shown[source])) for source in sorted(shown)]


def with_leak_intervals(found: Sequence[Leak], cells: Sequence[Cell], votes: tuple[Ints, Ints, Ints]) -> list[Leak]:
    """Return the leaks with their intervals; `votes` are cell, person and item of each vote."""
    index = {one.source: number for number, one in enumerate(found)}

    def marks(cell: Cell) -> list[tuple[int, bool]]:
        return [(index[source], place in cell.leaks) for place, source in enumerate(cell.sources, 1)]

    intervals = intervals_of(marks, len(found), cells, votes)
    return [replace(one, interval=interval) for one, interval in zip(found, intervals, strict=True)]
