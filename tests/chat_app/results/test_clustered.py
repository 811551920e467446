"""Shares and means over groups, against formulas and against data whose groups are known to be alike."""

import pytest

from heard.chat_app.results.agreement import agreement_of_marks
from heard.chat_app.results.clustered import clustered_mean, clustered_share
from heard.chat_app.results.intervals import wilson_share


def test_groups_of_one_give_wilsons_interval() -> None:
    marks = [True] * 30 + [False] * 10
    found, plain = clustered_share(marks, [str(n) for n in range(40)]), wilson_share(30, 40)
    assert (found.count, found.of, found.share) == (30, 40, 0.75)
    # The variance between groups divides by n - 1 and that of independent marks by n: one observation in forty.
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.004)


def test_groups_that_are_alike_count_as_one_observation_each() -> None:
    marks = [mark for mark in [True] * 30 + [False] * 10 for _ in range(3)]
    found, single = clustered_share(marks, [str(n // 3) for n in range(120)]), wilson_share(30, 40)
    assert (found.low, found.high) == pytest.approx((single.low, single.high), abs=0.004)


def test_groups_that_differ_within_give_no_narrower_interval_than_single_marks() -> None:
    found, plain = clustered_share([True, False] * 20, [str(n // 2) for n in range(40)]), wilson_share(20, 40)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


@pytest.mark.parametrize(("mark", "end"), [(False, 0), (True, 1)])
def test_where_all_are_alike_the_groups_are_counted(mark: bool, end: int) -> None:
    found, single = clustered_share([mark] * 60, [str(n // 3) for n in range(60)]), wilson_share(20 * end, 20)
    assert found.share == end
    assert (found.low, found.high) == pytest.approx((single.low, single.high))


def test_nothing_gives_no_share_and_no_mean() -> None:
    assert clustered_share([], []).share is None
    assert clustered_mean([1.0, 2.0], ["a", "a"]) is None


def test_a_mean_has_the_bootstrap_over_groups() -> None:
    values = [float(n // 10) for n in range(100)]
    wide = clustered_mean(values, [str(n // 10) for n in range(100)])
    narrow = clustered_mean(values, [str(n) for n in range(100)])
    assert wide is not None
    assert narrow is not None
    assert wide[0] == narrow[0] == pytest.approx(4.5)
    assert wide[2] - wide[1] > 2 * (narrow[2] - narrow[1]) > 0


def test_agreement_of_readers() -> None:
    assert agreement_of_marks([(True, True), (False, False), (True, True)]).alpha == pytest.approx(1)
    # By hand: 4 items, 2 disagree; observed 2/4, expected by chance 2 * 4 * 4 / (8 * 7).
    mixed = agreement_of_marks([(True, True), (False, False), (True, False), (False, True)])
    assert mixed.alpha == pytest.approx(1 - (2 / 4) / (2 * 4 * 4 / (8 * 7)))
    assert agreement_of_marks([(True, True)]).alpha is None
    assert agreement_of_marks([]).reason == "No item was judged by two people or more."
