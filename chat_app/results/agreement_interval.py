"""Agreement of pairs of people, and intervals for it and for Krippendorff's alpha.

Judgements of one person are alike, and so are those on one item; both were sampled, and another study would have other
people and other items. So the variance is that of a sum over both: each figure is a smooth function of weights of the
judgements, its derivatives by them are the judgements' influence, and the influence is summed by person and by item
(the infinitesimal jackknife, Efron 1982; for two crossed groupings Cameron, Gelbach & Miller 2011, eq. 2.9). The
bootstraps in use take one of the two for fixed: Hayes & Krippendorff (2007) draw pairs, others draw items, and both
intervals are too narrow where people differ in taste (`tests/bench/agreement_coverage.py`).
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from heard.chat_app.results.two_way import Clusters

Array = np.ndarray[Any, np.dtype[Any]]

NO_SPREAD = "All judgements tell the same of agreement, so that nothing bounds it."


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval of 95%; `low` and `high` are None where `reason` says why."""

    value: float
    low: float | None
    high: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of judgements on items that were judged twice or more."""

    pairs: int
    """Number of pairs of judgements of one item."""
    observed: Estimate
    """Share of these pairs that are equal, 0..1."""
    chance: float
    """Share of all pairs of judgements, of whatever items, that are equal, 0..1: Krippendorff's expected agreement."""
    alpha: Estimate


def pair_agreement(code: Array, item: Array, person: Array) -> PairAgreement | None:
    """Return the agreement of judgements, and its intervals.

    `code`, `item` and `person` have one entry for each judgement: its value, 0, 1, .., and who judged what. Judgements
    of items with a single one are not used. None if no item was judged twice, or if all judgements are equal.
    """
    _, item, sizes = np.unique(item, return_inverse=True, return_counts=True)
    twice = sizes[item] >= 2
    if not twice.any():
        return None
    code, item, person = code[twice], np.unique(item[twice], return_inverse=True)[1], person[twice]
    clusters = Clusters.of(person, item)
    counts = np.zeros((int(item.max()) + 1, int(code.max()) + 1))
    np.add.at(counts, (item, code), 1)
    size, of_value, number = counts.sum(axis=1), counts.sum(axis=0), len(code)
    equal, possible = (counts * (counts - 1)).sum(axis=1), size * (size - 1)
    chance = float((of_value * (of_value - 1)).sum() / (number * (number - 1)))
    if chance == 1:
        return None
    pairs, share = float(possible.sum()), float(equal.sum() / possible.sum())
    weighted = float((equal / (size - 1)).sum() / number)
    alpha = 1 - (1 - weighted) / (1 - chance)
    # Derivatives by the weight of each judgement, at weight 1. `alike`: share of the others on the item that are equal.
    alike = (counts[item, code] - 1) / (size[item] - 1)
    # A judgement is in pairs as one of two, an item with whole pairs: twice the latter is the sum of the former.
    by_pair = 2 * (counts[item, code] - 1 - share * (size[item] - 1)) / pairs
    by_item = (equal - share * possible) / pairs
    by_observed = (2 * alike - (equal / possible)[item] - weighted) / number
    by_chance = 2 * ((of_value[code] - 1) / (number - 1) - chance) / number
    by_alpha = (by_observed - (1 - alpha) * by_chance) / (1 - chance)
    # Alpha's chance counts pairs with an item or a person in common too, so alpha is a little low in a small study. The
    # interval lies about what it is without them.
    apart = 1 - (1 - weighted) / (1 - _chance_apart(code, clusters, chance))
    return PairAgreement(
        int(pairs) // 2,
        _estimate(share, by_pair, by_item, clusters, 0.0),
        chance,
        _estimate(alpha, by_alpha, np.bincount(item, weights=by_alpha), clusters, -1.0, middle=apart),
    )


def _estimate(
    value: float, influence: Array, of_items: Array, clusters: Clusters, least: float, middle: float | None = None
) -> Estimate:
    """Return the interval, of the influence of each judgement, and of each item."""
    if clusters.reason is not None:
        return Estimate(value, None, None, clusters.reason)
    by_person, by_item = _variance(np.bincount(clusters.person, weights=influence)), _variance(of_items)
    # What is of one judgement alone is in both sums. In a small sample the rest may be less than either: never below.
    variance = max(by_person + by_item - _variance(influence), by_person, by_item)
    if variance < 1e-18:
        return Estimate(value, None, None, NO_SPREAD)
    reach = clusters.quantile * sqrt(variance)
    middle = value if middle is None else min(max(middle, value - reach), value + reach)
    return Estimate(value, max(least, middle - reach), min(1.0, middle + reach), None)


def _variance(influence: Array) -> float:
    """Return the variance of the sum of independent influences, whose sum is 0."""
    number = len(influence)
    return number / (number - 1) * float((influence**2).sum())


def _chance_apart(code: Array, clusters: Clusters, otherwise: float) -> float:
    """Return the share of equal pairs among judgements of different items by different people."""
    equal = possible = 0.0
    for group, sign in ((np.zeros_like(code), 1), (clusters.item, -1), (clusters.person, -1), (clusters.pair, 1)):
        counts = np.bincount(group * (int(code.max()) + 1) + code).astype(float)
        equal += sign * float((counts**2).sum())
        possible += sign * float((np.bincount(group).astype(float) ** 2).sum())
    return equal / possible if possible and equal < possible else otherwise
