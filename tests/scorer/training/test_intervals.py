"""Intervals: their widths from residuals, and what a score carries of them."""

import numpy as np
import pytest

from heard.scorer.head import CONFIDENCE
from heard.scorer.records import READINGS
from heard.scorer.score import Scorer
from heard.scorer.training.intervals import FEWEST, coverage, half_widths


def test_new_ratings_of_the_same_kind_lie_within_as_often_as_meant() -> None:
    generator = np.random.default_rng(3)
    predicted = generator.uniform(1.5, 2.5, (2_000, 3))
    rated = predicted + generator.normal(0, 0.15, (2_000, 3))
    widths = half_widths(predicted[:1_000], rated[:1_000])
    for share in coverage(predicted[1_000:], rated[1_000:], widths):
        assert share == pytest.approx(CONFIDENCE, abs=0.03)
    assert widths[3] < min(widths[:3])  # a mean of three is surer than each


def test_a_missing_rating_is_left_out_and_too_few_give_none() -> None:
    predicted = np.full((FEWEST, 3), 2.0)
    rated = np.linspace(1, 3, FEWEST)[:, None].repeat(3, 1)
    assert len(half_widths(predicted, rated)) == 4
    rated[0, 0] = np.nan
    assert half_widths(predicted, rated) == []


def test_a_score_carries_its_intervals_within_the_scale(scorer: Scorer) -> None:
    score = scorer.score("", "I'm so sorry, that must hurt so much. What happened?")
    assert set(score.intervals) == set(READINGS)
    for name, (low, high) in score.intervals.items():
        assert 1 <= low <= getattr(score, name) <= high <= 3
    assert scorer.score("", "").intervals == {}
