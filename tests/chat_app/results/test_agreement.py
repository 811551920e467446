"""Agreement of pairs against pairs counted one by one, and its intervals against studies whose truth is known."""

from itertools import combinations

import numpy as np
import pytest

from heard.chat_app.results.agreement import ONE, agreement, most_value
from heard.chat_app.results.agreement_interval import NO_SPREAD, pair_agreement
from heard.chat_app.results.two_way import ONE_ITEM, ONE_PERSON
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell
from tests.bench.agreement_coverage import Design, coverage, judgements


def cell(source: str) -> Cell:
    return Cell(("a", "b", "c"), (), (), Choice.RANKED, "abc".index(source) + 1, None, None, None)


CELLS = [cell(source) for source in "abc"]


def test_pairs_are_those_counted_one_by_one() -> None:
    code, item, person = judgements(Design(9, 7, 4, 0.5, 0.5), np.random.default_rng(3))
    code = code % 3
    found = agreement(CELLS, code, item, most_value, person)
    rows = list(zip(code.tolist(), item.tolist(), strict=True))
    lone = {one for _, one in rows if [other for _, other in rows].count(one) < 2}
    rows = [row for row in rows if row[1] not in lone]
    pairs = [a == b for (a, i), (b, j) in combinations(rows, 2) if i == j]
    every = [a == b for (a, _), (b, _) in combinations(rows, 2)]
    assert (found.pairs, found.equal) == (len(pairs), pytest.approx(sum(pairs) / len(pairs)))
    assert found.by_chance == pytest.approx(sum(every) / len(every))
    exact = pair_agreement(code, item, person)
    assert exact is not None
    assert exact.alpha.value == pytest.approx(found.alpha)  # of the library
    assert None not in (found.low, found.high, found.equal_low, found.equal_high)


def test_intervals_hold_the_truth_and_those_over_items_alone_do_not() -> None:
    found = coverage(Design(40, 20, 10, 0.5, 0.8), 300, 300_000)
    assert 0.91 <= found.alpha <= 0.985
    assert 0.91 <= found.pairs <= 0.985
    assert found.over_items < 0.85


def test_where_there_is_no_interval_there_is_a_reason() -> None:
    zeros, two = np.zeros(4, dtype=int), np.array([0, 0, 1, 1])
    nobody = agreement(CELLS, zeros[:0], zeros[:0], most_value, zeros[:0])
    assert (nobody.alpha, nobody.equal, bool(nobody.reason)) == (None, None, True)
    same = agreement(CELLS, zeros, two, most_value, np.arange(4))
    assert (same.alpha, same.equal, same.reason) == (None, None, ONE)
    for item, person, reason in ((zeros, np.arange(4), ONE_ITEM), (two, zeros, ONE_PERSON)):
        found = agreement(CELLS, np.array([0, 1, 1, 0]), item, most_value, person)
        assert found.alpha is not None
        assert (found.interval_reason, found.low, found.equal_low) == (reason, None, None)
    full = agreement(CELLS, two, two, most_value, np.array([0, 1, 0, 1]))
    assert (full.alpha, full.equal, full.low, full.interval_reason) == (1.0, 1.0, None, NO_SPREAD)
