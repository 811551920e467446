"""The two-way variance against statsmodels, and against cases that are counted by hand."""

from typing import Any

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from heard.chat_app.results.two_way import ONE_ITEM, ONE_PERSON, Clusters, share_interval, two_way_variance

Votes = tuple[Any, Any, Any]


@pytest.fixture
def votes() -> Votes:
    """638 votes of 60 people on 20 items, unequal numbers each; marks that hang on both."""
    generator = np.random.default_rng(3)
    pairs = generator.permutation(60 * 20)[:638]
    person, item = pairs // 20, pairs % 20
    utility = generator.normal(0, 0.5, 60)[person] + generator.normal(0, 1.2, 20)[item]
    return (utility + generator.logistic(size=638) > 0).astype(float), person, item


def test_the_variance_of_a_mean_is_that_of_statsmodels(votes: Votes) -> None:
    marks, person, item = votes
    both, by_person, by_item = cov_cluster_2groups(OLS(marks, np.ones((638, 1))).fit(), person, item)
    assert both[0, 0] > max(by_person[0, 0], by_item[0, 0])
    scores = (marks - marks.mean()) / 638
    assert two_way_variance(scores, person, item) == pytest.approx(both[0, 0], rel=1e-12)
    # Numbered otherwise, with gaps, and as one of several figures.
    found = two_way_variance(np.column_stack([scores, 2 * scores]), 7 * person + 3, 1000 - item)
    assert found == pytest.approx([both[0, 0], 4 * both[0, 0]], rel=1e-12)


def test_the_variance_of_a_difference_is_that_of_statsmodels(votes: Votes) -> None:
    marks, person, item = votes
    design = np.column_stack([np.ones(638), item % 2])
    fitted = OLS(marks, design).fit()
    both = np.diag(cov_cluster_2groups(fitted, person, item)[0])
    scores = (design * fitted.resid[:, None]) @ np.linalg.inv(design.T @ design)
    # statsmodels' correction counts the parameters too: (N - 1) / (N - 2).
    assert two_way_variance(scores, person, item) * 637 / 636 == pytest.approx(both, rel=1e-12)


def test_it_is_never_less_than_that_of_independent_votes(votes: Votes) -> None:
    marks, person, item = votes
    fitted = OLS(marks, np.column_stack([np.ones(638), (person + item) % 2])).fit()
    both, by_person, by_item = (one[1, 1] for one in cov_cluster_2groups(fitted, person, item))
    pair = by_person + by_item - both
    assert both < pair
    design = np.column_stack([np.ones(638), (person + item) % 2])
    scores = ((design * fitted.resid[:, None]) @ np.linalg.inv(design.T @ design))[:, 1]
    assert two_way_variance(scores, person, item) * 637 / 636 == pytest.approx(pair, rel=1e-12)


def test_an_item_of_a_live_conversation_is_nobody_elses(votes: Votes) -> None:
    marks, person, _ = votes
    scores = (marks - marks.mean()) / 638
    alone = two_way_variance(scores, person, np.full(638, -1))
    assert alone == pytest.approx(two_way_variance(scores, person, np.arange(638)))
    sums = np.bincount(person, weights=scores)
    assert alone == pytest.approx(float((sums**2).sum()) * 60 / 59)  # over people alone


def test_one_person_or_one_item_has_a_reason_and_no_variance() -> None:
    scores = np.array([0.1, -0.1, 0.2])
    for person, item, reason in (([4, 4, 4], [1, 2, 3], ONE_PERSON), ([1, 2, 3], [5, 5, 5], ONE_ITEM)):
        assert Clusters.of(np.array(person), np.array(item)).reason == reason
        assert np.isnan(two_way_variance(scores, np.array(person), np.array(item)))
    assert Clusters.of(np.zeros(0, dtype=int), np.zeros(0, dtype=int)).reason is not None


def test_a_share_of_nothing_is_bounded_by_the_number_of_clusters() -> None:
    clusters = Clusters.of(np.repeat(np.arange(30), 20), np.tile(np.arange(20), 30))
    low, high = share_interval(0.0, 0.0, clusters)
    t = clusters.quantile
    assert clusters.degrees == pytest.approx(19)
    assert (low, high) == (0.0, pytest.approx(t * t / (20 + t * t)))
    assert share_interval(1.0, 0.0, clusters) == (pytest.approx(1 - high), 1.0)
