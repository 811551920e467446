"""The votes that count, row by row."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from heard.chat_app.results.records import VoteFilter
from heard.chat_app.results.selection import exclusion_reason
from heard.db.vote_reads import Cell, VoteRows

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Votes that count: arrays of equal length with one entry for each, as in `VoteRows`."""

    cells: list[Cell]
    cell: Array
    person: Array
    item: Array
    seconds: Array
    row: Array
    """Place of the vote in the `VoteRows`."""

    def where(self, keep: Array) -> "KeptRows":
        """Return the votes that are marked in `keep`."""
        return KeptRows(
            self.cells, self.cell[keep], self.person[keep], self.item[keep], self.seconds[keep], self.row[keep]
        )


def counting(rows: VoteRows, wanted: VoteFilter) -> Array:
    """Return which of the votes count: a boolean for each."""
    cell = np.array(rows.cell, dtype=int)
    counts = np.array([exclusion_reason(one, wanted) is None for one in rows.cells] or [False])
    keep: Array = counts[cell] if len(cell) else np.zeros(0, dtype=bool)
    if wanted.passed_attention:
        keep &= ~np.isin(np.array(rows.person, dtype=int), list(rows.failing))
    return keep


def kept_rows(rows: VoteRows, wanted: VoteFilter) -> KeptRows:
    """Return the votes of `heard results` under a filter; `rows` were read with its `min_seconds`."""
    cell, person, item = (np.array(column, dtype=int) for column in (rows.cell, rows.person, rows.item))
    keep = counting(rows, wanted)
    seconds = np.array(rows.seconds, dtype=float)
    return KeptRows(rows.cells, cell[keep], person[keep], item[keep], seconds[keep], np.flatnonzero(keep))
