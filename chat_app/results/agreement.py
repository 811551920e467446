"""Agreement of people on a survey's items, or of readers on marks: nominal Krippendorff's alpha (2011), by the library
`krippendorff`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import krippendorff
import numpy as np

from heard.chat_app.results.agreement_interval import PairAgreement, pair_agreement
from heard.chat_app.results.records import Agreement
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell

Ints = np.ndarray[Any, np.dtype[Any]]

LIVE = "These are ballots in people's own conversations: no two people judged the same answers."
FEW = "No item was judged by two people or more."
ONE = "Everybody said the same, so there is no disagreement to set against chance."


def agreement(
    cells: list[Cell], cell: Ints, item: Ints, value_of: Callable[[Cell], str | None], person: Ints | None = None
) -> Agreement:
    """Return alpha over items (units) and people (raters); with `person` also the agreement of pairs, and intervals.

    `cell`, `item` and `person` have one entry for each vote: an index into `cells`, the item's number or -1, and the
    person's number. `value_of` returns the value of a cell, or None for a missing one, which alpha allows.
    """
    values = [value_of(one) for one in cells]
    names = sorted({value for value in values if value is not None})
    codes = np.array([-1 if value is None else names.index(value) for value in values] or [-1], dtype=int)
    code = codes[cell] if len(cell) else np.zeros(0, dtype=int)
    judged = (code >= 0) & (item >= 0)
    if not judged.any():
        return Agreement(None, LIVE if len(item) and (item < 0).all() else FEW, 0, 0)
    counts = np.zeros((int(item[judged].max()) + 1, len(names)), dtype=int)
    np.add.at(counts, (item[judged], code[judged]), 1)
    found = _alpha(counts)
    if person is None or found.alpha is None:
        return found
    pairs = pair_agreement(code[judged], item[judged], person[judged])
    return found if pairs is None else with_pairs(found, pairs)


def with_pairs(found: Agreement, pairs: PairAgreement) -> Agreement:
    """Return the agreement with that of pairs, and with intervals."""
    alpha, equal = pairs.alpha, pairs.observed
    return replace(
        found,
        low=alpha.low,
        high=alpha.high,
        interval_reason=alpha.reason or equal.reason,
        pairs=pairs.pairs,
        equal=equal.value,
        equal_low=equal.low,
        equal_high=equal.high,
        by_chance=pairs.chance,
    )


def agreement_of_marks(marks: Sequence[tuple[bool, ...]]) -> Agreement:
    """Return alpha over items, each with the yes-or-no marks that it was given by different people or at different
    times."""
    if not marks:
        return Agreement(None, FEW, 0, 0)
    return _alpha(np.array([[sum(item), len(item) - sum(item)] for item in marks], dtype=int))


def _alpha(counts: Ints) -> Agreement:
    """Return alpha of the number of judgements by item and value."""
    counts = counts[counts.sum(axis=1) >= 2]
    items, judgements = len(counts), int(counts.sum())
    if items == 0:
        return Agreement(None, FEW, 0, 0)
    if (counts.sum(axis=0) > 0).sum() < 2:
        return Agreement(None, ONE, items, judgements)
    alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    return Agreement(float(alpha), None, items, judgements)


def most_value(cell: Cell) -> str | None:
    """Return the source of the answer marked as most empathetic, or the choice that marks none; None for a skip."""
    if cell.choice is Choice.RANKED and cell.most is not None:
        return f"source {cell.sources[cell.most - 1]}"
    return None if cell.choice is Choice.SKIPPED else cell.choice.value


def least_value(cell: Cell) -> str | None:
    """Return the source of the answer marked as least empathetic, or None."""
    return None if cell.least is None else cell.sources[cell.least - 1]
