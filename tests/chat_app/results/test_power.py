"""The simulation behind `heard study power`, against the intervals of `heard results` and known values."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from heard.chat_app.results.power import Estimate, Plan, _differences, power, simulated_study
from heard.chat_app.results.power_chart import power_chart
from heard.chat_app.results.share_intervals import with_intervals
from heard.chat_app.results.shares import shares
from heard.chat_app.results.simulate import Design, draw_sample, expected_shares, luce_choice
from tests.bench.simulated import Setting, draw

PLAN = Plan(3, (8, 20), (10, 30), effect=0.9, studies=40)


def test_the_interval_is_the_one_that_results_show() -> None:
    """With orders, least marks and all."""
    setting = Setting(items=12, people=15, sources=3, with_effect=True)
    drawn = draw(setting, np.random.default_rng(3))
    counts = dict(zip(drawn.cells, np.bincount(drawn.cell).tolist(), strict=True))
    _, pairs = with_intervals(shares(counts), drawn.cells, drawn.cell, drawn.person, drawn.item)
    shown = {(one.second, one.first): (-(one.most_interval.high or 0), -(one.most_interval.low or 0)) for one in pairs}
    shown |= {(one.first, one.second): (one.most_interval.low or 0, one.most_interval.high or 0) for one in pairs}
    most = np.array([setting.names.index(cell.sources[(cell.most or 0) - 1]) for cell in drawn.cells])[drawn.cell]
    for ends, other in zip(_differences(most, drawn.person, drawn.item, 3), ("s1", "s2"), strict=True):
        assert ends[0] < ends[1]
        np.testing.assert_allclose(ends, shown["s0", other])


def test_a_plan_is_found_more_often_with_more_people_and_nothing_is_found_without_effect() -> None:
    found = power(PLAN)
    of = {(one.items, one.people): one for one in found.sizes}
    assert of[20, 10].power.value < of[20, 30].power.value
    assert found.first_kind.value < 0.12
    assert (of[8, 10].first_kind.value, of[8, 10].first_kind.error) < (0.2, 0.1)
    best = found.fewest[20]
    assert best is None or (best.power.value >= PLAN.goal and best.people <= 30)
    assert power(replace(PLAN, items=(20,))).sizes == tuple(
        one for one in found.sizes if one.items == 20
    )  # by the seed
    assert power(replace(PLAN, items=(20,), seed=2)).sizes[0] != of[20, 10]
    easy = power(replace(PLAN, items=(20,), effect=4.0)).fewest[20]
    assert easy is not None
    assert easy.people < 10
    drawing = ElementTree.fromstring(power_chart(found))
    assert f"30 people, 20 items: {of[20, 30].power.value:.2f}" in "".join(drawing.itertext())


def test_one_pair_is_found_at_least_as_often_as_all_and_two_sources_are_a_pair() -> None:
    for number in range(5):
        every, pair = (simulated_study(replace(PLAN, every=one), 20, (30,), number) for one in (True, False))
        assert every[0, 0] <= pair[0, 0]
    two = replace(PLAN, sources=2)
    np.testing.assert_array_equal(
        simulated_study(two, 20, (30,), 1), simulated_study(replace(two, every=False), 20, (30,), 1)
    )


def test_the_first_people_are_a_smaller_study_and_judge_what_the_fewest_have_judged() -> None:
    large, small = (
        draw_sample(Design((0.0, 0.0), 12, people, per_person=4), np.random.default_rng(1)) for people in (9, 3)
    )
    np.testing.assert_array_equal(large.item[:12], small.item)
    assert sorted(small.item.tolist()) == list(range(12))
    assert large.utility.shape == (36, 2)


def test_choices_and_shares_follow_the_utilities() -> None:
    chosen = luce_choice(np.random.default_rng(0), np.tile([np.log(3.0), 0.0], (20_000, 1)))
    assert abs((chosen == 0).mean() - 0.75) < 0.01
    np.testing.assert_allclose(expected_shares((np.log(3.0), 0.0), 0, 0), [0.75, 0.25])
    assert Estimate.of(np.ones(100)).error > 0
