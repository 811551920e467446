"""People, items and votes drawn with known truth, in which votes of one person and on one item hang together.

The utility of an answer is the strength of its source, plus what this item's answer of that source adds for everybody
(normal, `item_sd`), plus what this person adds to that source on every item (normal, `person_sd`). Marks are Luce's
choice of it (Luce 1959): the largest of utility plus Gumbel noise. People judge `per_person` items each, those that the
fewest have judged first, as a survey gives them. Every figure of spread is in log-odds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

ITEM_SD, PERSON_SD = 0.7, 0.5
"""Standard deviations over items and over people of what they add to a source, in log-odds."""
PER_PERSON = 10
"""Items that a person judges."""
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Design:
    """A study: its sources, its size and how far items and people differ."""

    betas: tuple[float, ...]
    """Strengths of the S sources in log-odds."""
    items: int
    people: int
    per_person: int = PER_PERSON
    """Items that a person judges; all, if there are fewer."""
    item_sd: float = ITEM_SD
    person_sd: float = PERSON_SD


@dataclass(frozen=True, slots=True)
class Sample:
    """The people and items of one study. Its N ballots stand in the order of the people, who came one by one."""

    person: Array
    """N numbers from 0."""
    item: Array
    """N numbers from 0."""
    utility: Array
    """Of each answer of each ballot, before the chance of the single mark: N x S, in log-odds."""


def draw_sample(design: Design, generator: np.random.Generator) -> Sample:
    """Draw new people and new items. The first of the people, with their ballots, are a smaller study on its own."""
    item = _assigned_items(design, generator)
    person = np.repeat(np.arange(design.people), len(item) // design.people)
    size = len(design.betas)
    answers = generator.normal(0, design.item_sd, (design.items, size))
    tastes = generator.normal(0, design.person_sd, (design.people, size))
    return Sample(person, item, np.array(design.betas) + answers[item] + tastes[person])


def luce_choice(generator: np.random.Generator, utility: Array) -> Array:
    """Return the index along the last axis that is chosen with a probability proportional to exp(utility)."""
    chosen: Array = np.argmax(utility + generator.gumbel(size=utility.shape), axis=-1)
    return chosen


def most_and_least(generator: np.random.Generator, for_most: Array, for_least: Array) -> tuple[Array, Array]:
    """Return the indices along the last axis of the marks as most, and as least among the rest.

    `for_most` is the utility, `for_least` the negative of it; either may have an effect of the position added.
    """
    most = luce_choice(generator, for_most)
    against = for_least + generator.gumbel(size=for_least.shape)
    np.put_along_axis(against, np.expand_dims(most, -1), -np.inf, axis=-1)
    return most, np.argmax(against, axis=-1)


def _assigned_items(design: Design, generator: np.random.Generator) -> Array:
    judged = np.zeros(design.items)
    found = []
    for _ in range(design.people):
        mine = np.lexsort((generator.random(design.items), judged))[: design.per_person]
        judged[mine] += 1
        found.append(mine)
    return np.concatenate(found)


def expected_shares(betas: tuple[float, ...], item_sd: float, person_sd: float, draws: int = 100_000) -> Array:
    """Return the share of each of the S sources as most, on 0..1, over people and items; by `draws` random ballots."""
    generator = np.random.default_rng(0)
    power = np.exp(np.array(betas) + generator.normal(0, np.hypot(item_sd, person_sd), (draws, len(betas))))
    shares: Array = (power / power.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares
