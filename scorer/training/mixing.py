"""How the three components are composed of facets: few weights, of known sign, that a person can read.

A facet learnt from thousands of labels says one narrow thing well; the rubric's components are wider, and only a few
hundred replies are rated on them. So the components are a linear mix of the facets (stacking, Wolpert 1992), fitted on
facets that were predicted for replies outside their training folds, with signs fixed by what each facet means.
"""

from typing import Any

import numpy as np

from heard.scorer.records import COMPONENTS
from heard.scorer.training.data import FACETS, Table

Floats = np.ndarray[Any, np.dtype[np.float32]]

AGAINST = {"harm": -1, "overdone": -1, "irony": -1, "cold": -1}
SIGNS: dict[str, dict[str, int]] = {
    "cognitive": {"cognitive": 1, "reflection": 1, "interpretation": 1, "self_talk": -1, **AGAINST},
    "emotional": {"emotional": 1, "reaction": 1, "affirmation": 1, **AGAINST},
    "behavioral": {"behavioral": 1, "exploration": 1, "question": 1, "advice": 1, **AGAINST},
}
"""Facets that may enter a component, and whether they raise or lower it."""

EPITOME_FACET = {"cognitive": "interpretation", "emotional": "reaction", "behavioral": "exploration"}
"""EPITOME's mechanism that stands nearest to each component."""

EPITOME_SHARE = {"cognitive": 0.0, "emotional": 0.2, "behavioral": 0.0}
"""Weight of EPITOME's labels in the fit, beside the own set's. Not 0 only where it and the rubric define the same."""

CALLED = {
    "both": {"emotional": 0.8},
    "everyday": {"cognitive": 1.0, "emotional": 2.0, "behavioral": 1.0},
}
"""By kind of head, how much of the facet "perceived" each component gets beside the fit, less its mean on everyday
talk. There people rate the sharing of a feeling, which is the Emotional component; a fit to their ratings would drown
it in the noise of one label a conversation. For "both" chosen on folds of .5, .8, 1, 1.5 and 2, as the least with which
Empathy follows everyday talk at .20; more costs on the own set. "everyday" follows everyday talk more, at that cost."""

WORTH = {
    "cognitive": {"esconv": {"reflection": 0.75, "self_talk": 0.0}, "annomi": {"reflection": 0.75}},
    "emotional": {"esconv": {"affirmation": 0.7}, "annomi": {}},
    "behavioral": {"esconv": {"advice": 0.9, "question": 0.8}, "annomi": {}},
}
"""What a strategy of the public sources is worth on the rubric, 0..1: near the means of such styles in the own set."""
WORTH_OF_OTHERS = 0.15
"""The same for a reply with none of them."""
SHARES = {"esconv": 0.2, "annomi": 0.7}
"""Weight of those in the fit, beside 1 for the own set less EPITOME's and ESConv's shares. They keep "me too" below a
reflection, and a counsellor's short reflection above everything that surrounds it."""


def fit_mixing(facets: Floats, table: Table, rows: np.ndarray[Any, Any], kind: str = "both") -> tuple[Floats, Floats]:
    """Mixing weights (3 x facets) and offsets (3), fitted on `rows` of the out-of-fold `facets` (all rows x facets).
    `kind` is one of CALLED."""
    mixing = np.zeros((len(COMPONENTS), len(FACETS)), np.float32)
    offset = np.zeros(len(COMPONENTS), np.float32)
    chosen = np.zeros(len(table.texts), bool)
    chosen[rows] = True
    everyday = table.sources == "everyday"
    for index, component in enumerate(COMPONENTS):
        own = table.targets[:, FACETS.index(component)]
        epitome = table.targets[:, FACETS.index(EPITOME_FACET[component])]
        parts = [
            (chosen & (table.sources == "project"), own, 1 - EPITOME_SHARE[component] - SHARES["esconv"]),
            (chosen & (table.sources == "epitome"), epitome, EPITOME_SHARE[component]),
        ]
        for source, worth in WORTH[component].items():
            parts += _strategies(table, chosen & (table.sources == source), worth, SHARES[source])
        columns = [FACETS.index(facet) for facet in SIGNS[component]]
        inputs = np.concatenate([facets[used][:, columns] for used, _, _ in parts])
        goals = np.concatenate([labels[used] for used, labels, _ in parts])
        weights = np.concatenate([np.full(used.sum(), share / max(1, used.sum())) for used, _, share in parts])
        known = ~np.isnan(goals)
        signs = np.array(list(SIGNS[component].values()), float)
        found = _signed_least_squares(inputs[known], goals[known], weights[known], signs)
        mixing[index, columns], offset[index] = found[:-1], found[-1]
    if (chosen & everyday).any():
        called = FACETS.index("perceived")
        mean = facets[chosen & everyday, called].mean()
        for component, weight in CALLED[kind].items():
            mixing[COMPONENTS.index(component), called] = weight
            offset[COMPONENTS.index(component)] -= weight * mean
    return mixing, offset


def _strategies(
    table: Table, rows: np.ndarray[Any, Any], worth: dict[str, float], share: float
) -> list[tuple[np.ndarray[Any, Any], Floats, float]]:
    """(rows, goal, weight) of each strategy, and of the replies with none of them."""
    if not worth:
        return []
    shown = {facet: rows & (np.nan_to_num(table.targets[:, FACETS.index(facet)]) > 0.5) for facet in worth}
    others = rows & ~np.any(list(shown.values()), axis=0)
    goals = [(shown[facet], value, 2 / 3 * share / len(worth)) for facet, value in worth.items()]
    goals.append((others, WORTH_OF_OTHERS, share / 3))
    return [(used, np.full(len(rows), goal, np.float32), weight) for used, goal, weight in goals]


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
