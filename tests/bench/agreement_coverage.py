"""How often intervals of agreement hold the true value: on simulated studies with people and items of known spread.

The truth is the agreement of two people drawn at random on an item drawn at random, and alpha from that; each simulated
study has other people and other items of the same kind. Beside the intervals of `heard results` stand those of a
bootstrap over items alone, which takes the people for fixed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from heard.chat_app.results.agreement_interval import pair_agreement
from tests.bench.table import Row

Array = np.ndarray[Any, np.dtype[Any]]
STRENGTHS = np.array([0.7, 0.5, 0.3, 0.0, -1.5])
SEED = 0
LEAST, MOST = 0.92, 0.98
"""Bounds of a coverage that is called met: 95% and what a few hundred studies leave open."""


@dataclass(frozen=True)
class Design:
    """A study: how many judge how many items, and how far items and people differ, in log-odds of each source."""

    people: int
    items: int
    each: int
    of_items: float
    of_people: float

    def __str__(self) -> str:
        return f"{self.people} people, {self.each} of {self.items} items each, spread {self.of_items}/{self.of_people}"


DESIGNS = (
    Design(60, 20, 10, 0.5, 0.8),
    Design(100, 100, 10, 0.5, 0.8),
    Design(30, 30, 10, 0.5, 0.0),
    Design(200, 50, 10, 1.0, 0.5),
)


@dataclass(frozen=True)
class Coverage:
    """Shares of the simulated studies whose interval holds the truth."""

    alpha: float
    pairs: float
    over_items: float
    """Of alpha, by a bootstrap over items alone."""


def agreement_coverage(studies: int = 1000) -> list[Row]:
    """The coverage of the intervals of alpha and of equal pairs, for several designs."""
    rows = []
    for design in DESIGNS:
        found = coverage(design, studies)
        for what, seen in (("alpha", found.alpha), ("equal pairs", found.pairs)):
            met, beside = LEAST <= seen <= MOST, f"over items alone {found.over_items:.1%}" if what == "alpha" else ""
            target = f"{LEAST:.0%} to {MOST:.0%}"
            rows.append(Row(f"coverage of {what}: {design}", round(100 * seen, 1), "%", target, met, beside))
    return rows


def coverage(design: Design, studies: int, draws: int = 500_000) -> Coverage:
    """Simulate studies of a design; the truth is measured on `draws` pairs of people."""
    generator = np.random.default_rng(SEED)
    equal, alpha = truth(design, generator, draws)
    hits = np.zeros(3)
    for _ in range(studies):
        code, item, person = judgements(design, generator)
        found = pair_agreement(code, item, person)
        if found is None or found.alpha.low is None or found.alpha.high is None:
            continue  # no interval is no hit
        if found.observed.low is None or found.observed.high is None:
            continue
        low, high = bootstrap_over_items(code, item, generator)
        hits += (
            found.alpha.low <= alpha <= found.alpha.high,
            found.observed.low <= equal <= found.observed.high,
            low <= alpha <= high,
        )
    return Coverage(*(hits / studies).tolist())


def truth(design: Design, generator: np.random.Generator, draws: int) -> tuple[float, float]:
    """Return the share of equal pairs, and alpha, of all people and items that there might be."""
    size = (draws, len(STRENGTHS))
    of_items = STRENGTHS + generator.normal(0, design.of_items, size)
    one, other = (
        np.argmax(of_items + generator.normal(0, design.of_people, size) + generator.gumbel(size=size), axis=1)
        for _ in range(2)
    )
    shares = (np.bincount(one, minlength=size[1]) + np.bincount(other, minlength=size[1])) / (2 * draws)
    equal = float((one == other).mean())
    return equal, float(1 - (1 - equal) / (1 - (shares**2).sum()))


def judgements(design: Design, generator: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return value, item and person of the judgements of one study."""
    of_items = generator.normal(0, design.of_items, (design.items, len(STRENGTHS)))
    of_people = generator.normal(0, design.of_people, (design.people, len(STRENGTHS)))
    drawn = [generator.choice(design.items, design.each, replace=False) for _ in range(design.people)]
    item, person = np.concatenate(drawn), np.repeat(np.arange(design.people), design.each)
    noise = generator.gumbel(size=(len(item), len(STRENGTHS)))
    return np.argmax(STRENGTHS + of_items[item] + of_people[person] + noise, axis=1), item, person


def bootstrap_over_items(
    code: Array, item: Array, generator: np.random.Generator, resamples: int = 300
) -> tuple[float, float]:
    """Return the percentile interval of alpha over resampled items."""
    counts = np.zeros((int(item.max()) + 1, len(STRENGTHS)))
    np.add.at(counts, (item, code), 1)
    counts = counts[counts.sum(axis=1) >= 2]
    size, equal = counts.sum(axis=1), (counts * (counts - 1)).sum(axis=1)
    weight = generator.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), resamples)
    number, of_value = weight @ size, weight @ counts
    observed = weight @ (equal / (size - 1)) / number
    chance = (of_value * (of_value - 1)).sum(axis=1) / (number * (number - 1))
    low, high = np.percentile(1 - (1 - observed) / (1 - chance), [2.5, 97.5])
    return float(low), float(high)
