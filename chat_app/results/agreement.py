"""How far people agree on a survey's items: Krippendorff's alpha, nominal (Krippendorff 2011), by `krippendorff`."""

from collections.abc import Callable
from typing import Any

import krippendorff
import numpy as np

from heard.chat_app.results.records import Agreement
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell

Ints = np.ndarray[Any, np.dtype[Any]]

LIVE = "These are ballots in people's own conversations: no two people judged the same answers."
FEW = "No item was judged by two people or more."
ONE = "Everybody said the same, so there is no disagreement to set against chance."


def agreement(cells: list[Cell], cell: Ints, item: Ints, said: Callable[[Cell], str | None]) -> Agreement:
    """Alpha over items (units) and people (raters).

    `cell` and `item` have one entry for each vote: an index into `cells`, and the item's number or -1. `said` gives a
    cell's value, or None for no judgement (left out as a missing one, which alpha allows for).
    """
    values = [said(one) for one in cells]
    names = sorted({value for value in values if value is not None})
    codes = np.array([-1 if value is None else names.index(value) for value in values] or [-1], dtype=int)
    code = codes[cell] if len(cell) else np.zeros(0, dtype=int)
    judged = (code >= 0) & (item >= 0)
    if not judged.any():
        return Agreement(None, LIVE if len(item) and (item < 0).all() else FEW, 0, 0)
    counts = np.zeros((int(item[judged].max()) + 1, len(names)), dtype=int)
    np.add.at(counts, (item[judged], code[judged]), 1)
    counts = counts[counts.sum(axis=1) >= 2]
    items, judgements = len(counts), int(counts.sum())
    if items == 0:
        return Agreement(None, FEW, 0, 0)
    if (counts.sum(axis=0) > 0).sum() < 2:
        return Agreement(None, ONE, items, judgements)
    alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    return Agreement(float(alpha), None, items, judgements)


def most_of(cell: Cell) -> str | None:
    """What a vote says of the most empathetic answer: its source, or that there is none."""
    if cell.choice is Choice.RANKED and cell.most is not None:
        return f"source {cell.sources[cell.most - 1]}"
    return None if cell.choice is Choice.SKIPPED else cell.choice.value


def least_of(cell: Cell) -> str | None:
    """The source of the least empathetic answer, where one was marked."""
    return None if cell.least is None else cell.sources[cell.least - 1]
