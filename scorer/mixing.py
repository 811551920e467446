"""How the three components are composed of facets: few weights, of known sign, that a person can read.

A facet learnt from thousands of labels says one narrow thing well; the rubric's components are wider, and only a few
hundred
replies are rated on them. So the components are a linear mix of the facets (stacking, Wolpert 1992), fitted on facets
that
were predicted for replies outside their training folds, with signs fixed by what each facet means.
"""

from typing import Any

import numpy as np

from scorer.data import FACETS, Table
from scorer.records import COMPONENTS

Floats = np.ndarray[Any, np.dtype[np.float32]]

SIGNS: dict[str, dict[str, int]] = {
    "cognitive": {"cognitive": 1, "reflection": 1, "interpretation": 1, "self_talk": -1, "harm": -1},
    "emotional": {"emotional": 1, "reaction": 1, "affirmation": 1, "harm": -1},
    "behavioral": {"behavioral": 1, "exploration": 1, "advice": 1, "harm": -1},
}
"""Facets that may enter a component, and whether they raise or lower it."""

EPITOME_FACET = {"cognitive": "interpretation", "emotional": "reaction", "behavioral": "exploration"}
"""EPITOME's mechanism that stands nearest to each component."""

EPITOME_SHARE = {"cognitive": 0.2, "emotional": 0.5, "behavioral": 0.2}
"""Weight of EPITOME's labels beside the project's ratings in the fit. Highest where both define the same thing."""


def fit_mixing(facets: Floats, table: Table, rows: np.ndarray[Any, Any]) -> tuple[Floats, Floats]:
    """Mixing weights (3 x facets) and offsets (3) from the out-of-fold `facets` (all rows x facets), fitted on
    `rows`."""
    mixing = np.zeros((len(COMPONENTS), len(FACETS)), np.float32)
    offset = np.zeros(len(COMPONENTS), np.float32)
    chosen = np.zeros(len(table.texts), bool)
    chosen[rows] = True
    for index, component in enumerate(COMPONENTS):
        own = chosen & (table.sources == "project")
        other = chosen & (table.sources == "epitome")
        used = [FACETS.index(facet) for facet in SIGNS[component]]
        signs = np.array(list(SIGNS[component].values()), float)
        goals = np.concatenate(
            [table.targets[own, FACETS.index(component)], table.targets[other, FACETS.index(EPITOME_FACET[component])]]
        )
        inputs = np.concatenate([facets[own][:, used], facets[other][:, used]])
        share = EPITOME_SHARE[component] if other.any() else 0.0
        weights = np.concatenate(
            [np.full(own.sum(), (1 - share) / max(1, own.sum())), np.full(other.sum(), share / max(1, other.sum()))]
        )
        known = ~np.isnan(goals)
        found = _signed_least_squares(inputs[known], goals[known], weights[known], signs)
        mixing[index, used], offset[index] = found[:-1], found[-1]
    return mixing, offset


def _signed_least_squares(x: Floats, y: Floats, weights: Floats, signs: Floats, ridge: float = 1e-3) -> Floats:
    """Weighted ridge regression whose slopes keep their `signs` (0 where they would not); the last number is the
    offset.

    Coordinate descent on the normal equations, which converges for this convex problem (Franc et al. 2005).
    """
    design = np.column_stack([x * signs, np.ones(len(x))]).astype(float)
    gram = design.T @ (design * weights[:, None]) + ridge * np.diag([1.0] * len(signs) + [0.0])
    goal = design.T @ (weights * y)
    found = np.zeros(len(goal))
    for _ in range(2_000):
        for at in range(len(goal)):
            step = (goal[at] - gram[at] @ found) / gram[at, at]
            found[at] = found[at] + step if at == len(signs) else max(0.0, found[at] + step)
    found[:-1] *= signs
    result: Floats = found.astype(np.float32)
    return result
