"""How the three components are composed of facets: few weights, of known sign, that a person can read.

A facet learnt from thousands of labels says one narrow thing well; the rubric's components are wider, and only a few
hundred replies are rated on them. So the components are a linear mix of the facets (stacking, Wolpert 1992), fitted on
facets that were predicted for replies outside their training folds, with signs fixed by what each facet means.
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

EPITOME_SHARE = {"cognitive": 0.2, "emotional": 0.6, "behavioral": 0.2}
"""Weight of EPITOME's labels in the fit, of 1 in all. High only where it and the rubric define the same thing."""

STRATEGIES = {"cognitive": {"reflection": 0.7, "self_talk": 0.2}, "behavioral": {"advice": 0.8}}
"""What an ESConv strategy is worth on the rubric, 0..1: rounded means of the same styles in the project's own set."""

STRATEGY_SHARE = 0.1
"""Weight of those in the fit. They keep "me too" below a reflection, which EPITOME's labels turn round."""


def fit_mixing(facets: Floats, table: Table, rows: np.ndarray[Any, Any]) -> tuple[Floats, Floats]:
    """Mixing weights (3 x facets) and offsets (3), fitted on `rows` of the out-of-fold `facets` (all rows x facets)."""
    mixing = np.zeros((len(COMPONENTS), len(FACETS)), np.float32)
    offset = np.zeros(len(COMPONENTS), np.float32)
    chosen = np.zeros(len(table.texts), bool)
    chosen[rows] = True
    for index, component in enumerate(COMPONENTS):
        own = table.targets[:, FACETS.index(component)]
        epitome = table.targets[:, FACETS.index(EPITOME_FACET[component])]
        parts = [
            (chosen & (table.sources == "project"), own, 1 - EPITOME_SHARE[component]),
            (chosen & (table.sources == "epitome"), epitome, EPITOME_SHARE[component]),
        ]
        worth = STRATEGIES.get(component, {})
        for facet, value in worth.items():
            used = chosen & (table.sources == "esconv") & (table.targets[:, FACETS.index(facet)] == 1)
            parts.append((used, np.full(len(own), value, np.float32), STRATEGY_SHARE / len(worth)))
        columns = [FACETS.index(facet) for facet in SIGNS[component]]
        inputs = np.concatenate([facets[used][:, columns] for used, _, _ in parts])
        goals = np.concatenate([labels[used] for used, labels, _ in parts])
        weights = np.concatenate([np.full(used.sum(), share / max(1, used.sum())) for used, _, share in parts])
        known = ~np.isnan(goals)
        signs = np.array(list(SIGNS[component].values()), float)
        found = _signed_least_squares(inputs[known], goals[known], weights[known], signs)
        mixing[index, columns], offset[index] = found[:-1], found[-1]
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
