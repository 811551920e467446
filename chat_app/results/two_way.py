"""Variances of figures whose votes hang together twice: those of one person, and those on one item.

What a person marks is alike from item to item, and what an item gets is alike from person to person, because the same
answers were shown. The variance is that of Cameron, Gelbach & Miller (2011, "Robust inference with multiway
clustering", eq. 2.9): between people, plus between items, minus between the pairs of both, which both of these hold. By
chance that can come out too small, or below 0; it is taken as at least the last of the three, that of votes as if
independent. Quantiles are Student's, on one degree of freedom less than the smaller number of clusters.
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t as student  # type: ignore[import-untyped]

from heard.chat_app.results.intervals import CONFIDENCE

Floats = np.ndarray[Any, np.dtype[Any]]
Ints = np.ndarray[Any, np.dtype[Any]]

NOTHING = "No vote counts here."
ONE_PERSON = "All votes come from one person, so nothing tells how people differ."
ONE_ITEM = "All votes are on one item, so nothing tells how items differ."


@dataclass(frozen=True)
class Clusters:
    """Who cast each vote, and on what. N votes."""

    person: Ints
    """N numbers from 0, without gaps."""
    item: Ints
    """N numbers from 0, without gaps."""
    pair: Ints
    """N numbers from 0, without gaps: one for each person and item that occur together."""
    people: int
    items: int
    pairs: int

    @classmethod
    def of(cls, person: Ints, item: Ints) -> "Clusters":
        """Number them anew. An item below 0 is a message of a live conversation, which nobody else answered: each is
        an item of its own."""
        person, people = _renumbered(person)
        alone = item < 0
        if alone.any():
            item = np.where(alone, item.max(initial=0) + 1 + np.arange(len(item)), item)
        item, items = _renumbered(item)
        if items == len(item):
            return cls(person, item, item, people, items, items)
        pair, pairs = _renumbered(person.astype(np.int64) * items + item)
        return cls(person, item, pair, people, items, pairs)

    @property
    def reason(self) -> str | None:
        """Why there can be no interval; None if there can."""
        if self.people == 0:
            return NOTHING
        if self.people == 1:
            return ONE_PERSON
        return ONE_ITEM if self.items == 1 else None

    @cached_property
    def degrees(self) -> float:
        """Degrees of freedom: the smaller effective number of clusters less one, at least 1. Clusters of unequal size
        count as (sum of sizes)^2 / sum of squares of sizes (Kish 1965; Carter, Schnepel & Steigerwald 2017)."""
        effective = min(_effective(self.person), _effective(self.item))
        return max(effective - 1.0, 1.0)

    @cached_property
    def quantile(self) -> float:
        """Student's quantile for intervals of 95%."""
        return float(student.ppf(0.5 + CONFIDENCE / 2, self.degrees))


@dataclass(frozen=True, slots=True)
class Spread:
    """Covariances of P figures (P x P each): between people, between items, and between pairs of both."""

    person: Floats
    item: Floats
    pair: Floats

    @classmethod
    def of(cls, scores: Floats, clusters: Clusters) -> "Spread":
        """Of N x P scores, as `two_way_variance` takes them. There must be two clusters or more of each kind."""
        parts = ((clusters.person, clusters.people), (clusters.item, clusters.items), (clusters.pair, clusters.pairs))
        return cls(*(_between(scores, group, groups) for group, groups in parts))

    def variance(self, weights: Floats) -> float:
        """Return the variance of the figures' sum with these P weights."""
        person, item, pair = (float(weights @ one @ weights) for one in (self.person, self.item, self.pair))
        return max(person + item - pair, pair, 0.0)


def two_way_variance(scores: Floats, person: Ints, item: Ints) -> Floats:
    """Return the variance of the sum of each column of `scores` (N x P, or N for one figure): P of them, or one.

    A row has what one vote adds to the error of each figure: for a mean of N votes (value - mean) / N, for parameters
    of a model the vote's gradient times the inverse of the information. `person` and `item` number who cast each vote
    and on which item; an item below 0 is one that nobody else judged. NaN where there are fewer than two people or
    items.
    """
    clusters = Clusters.of(person, item)
    if clusters.reason is not None:
        return np.full(scores.shape[1:], np.nan)
    spread = Spread.of(scores if scores.ndim == 2 else scores[:, None], clusters)
    found = np.array([spread.variance(one) for one in np.eye(len(spread.pair))])
    result: Floats = found if scores.ndim == 2 else found[0]
    return result


def _between(scores: Floats, group: Ints, groups: int) -> Floats:
    """Return the products of the groups' sums, times G / (G - 1) because the errors are about an estimate."""
    sums = np.stack([np.bincount(group, weights=column, minlength=groups) for column in scores.T])
    products: Floats = sums @ sums.T * groups / (groups - 1)
    return products


def _renumbered(numbers: Ints) -> tuple[Ints, int]:
    """Return numbers without gaps, and how many there are."""
    top = int(numbers.max(initial=-1)) + 1
    if top > 50_000_000:  # a table of all would take more memory than sorting takes time
        found, again = np.unique(numbers, return_inverse=True)
        return again, len(found)
    seen = np.bincount(numbers, minlength=top) > 0
    return (np.cumsum(seen) - 1)[numbers], int(seen.sum())


def _effective(group: Ints) -> float:
    sizes = np.bincount(group).astype(float)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def share_interval(share: float, variance: float, clusters: Clusters) -> tuple[float, float]:
    """Return Wilson's score interval on the effective number of votes, share * (1 - share) / variance (Dean & Pagano
    2015 for surveys), with Student's quantile. It stays within 0..1.

    Where nobody or everybody was marked no variance can be seen, and the smaller number of clusters stands for the
    number of votes, which is the least that it can be.
    """
    effective = clusters.degrees + 1 if share in (0.0, 1.0) or variance <= 0 else share * (1 - share) / variance
    t = clusters.quantile
    middle = (share + t * t / (2 * effective)) / (1 + t * t / effective)
    half = t / (1 + t * t / effective) * sqrt(share * (1 - share) / effective + t * t / (4 * effective * effective))
    low = 0.0 if share == 0 else max(0.0, middle - half)  # at the ends it touches 0 or 1, which rounding must not miss
    high = 1.0 if share == 1 else min(1.0, middle + half)
    return low, high
