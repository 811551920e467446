"""Whether the place of an answer on the ballot sways the vote."""

from collections import Counter

from scipy.stats import chi2  # type: ignore[import-untyped]

from heard.chat_app.results.intervals import share_of
from heard.chat_app.results.records import PositionBias, PositionShare
from heard.chat_app.results.selection import Cells
from heard.db.study_records import Choice


def position_bias(cells: Cells) -> PositionBias:
    """Marks of "most empathetic" by position on ranked ballots, and Pearson's chi-square test of their evenness.

    On a ballot with k votable answers each position expects 1/k of a mark. Who stood where is balanced by design, so
    strong and weak sources do not look like a bias.
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
    rows = [PositionShare(place, share_of(marked[place], shown[place]), expected[place]) for place in places_found]
    degrees = max(len(rows) - 1, 0)
    if degrees == 0:
        return PositionBias(rows, None, degrees, None)
    statistic = sum((row.most.count - row.expected) ** 2 / row.expected for row in rows)
    return PositionBias(rows, statistic, degrees, float(chi2.sf(statistic, degrees)))
