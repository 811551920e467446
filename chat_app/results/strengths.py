"""Strengths of sources by a Bradley-Terry model (Bradley & Terry 1952) extended to ballots of two to five answers.

The probability that an answer is marked as most empathetic is proportional to exp(strength of its source + effect of
its position); that one of the rest is marked as least, to exp(-strength + another effect of its position). Both marks
share one strength. Intervals are of the two-way sandwich: the votes' gradients, clustered by people and by items
(`two_way.py`), between two inverses of the information (White 1982); that of the chance is on the scale of log-odds.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from heard.chat_app.results.choices import Choices, Layout, Pattern, pattern_of, why_not_connected
from heard.chat_app.results.records import PositionEffect, Strength, Strengths
from heard.chat_app.results.two_way import Clusters, Spread
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell

Floats = np.ndarray[Any, np.dtype[Any]]
Ints = np.ndarray[Any, np.dtype[Any]]

NOTHING = "No ballot here compares two sources."
ALL_TIES = "Every ballot here is a tie: nobody marked one answer before another, so there is no difference to estimate."
ALONE = (
    "Some position always goes with the same outcome or the same sources, so its effect cannot be told from theirs. "
    "The strengths are without position effects."
)


@threadpool_limits.wrap(limits=1)  # type: ignore[untyped-decorator]  # the matrices are small: more threads only wait for each other
def strengths(cells: Sequence[Cell], cell: Ints, person: Ints, item: Ints) -> Strengths:
    """Fit the votes. For each vote `cell` has an index into `cells`, and `person` and `item` the numbers of both; an
    item below 0 is one that nobody else judged."""
    patterns, row, used = patterns_of(cells, cell)
    person, item = person[used], item[used]
    people, items = (len(np.unique(one)) for one in (person, item[item >= 0]))
    if len(row) == 0:
        return _not_estimable(NOTHING, 0, 0, 0)
    every = np.bincount(row, minlength=len(patterns)).astype(float)
    choices, position_reason = choose_model(patterns)
    if isinstance(choices, str):
        return _not_estimable(choices, len(row), people, items)
    best = fit(choices, every)
    figures, errors, quantile, reason = _errors(choices, every, best, row, person, item)
    with_source = {
        name: int(sum(number for (slots, *_), number in zip(patterns, every, strict=True) if name in dict(slots)))
        for name in choices.layout.sources
    }
    low, high = (
        [None if error is None else float(figure + side * quantile * error)
         for figure, error in zip(figures, errors, strict=True)]
        for side in (-1, 1)
    )  # fmt: skip
    found = _record(choices.layout, figures, low, high, with_source)
    return Strengths(None, *found, position_reason, reason, len(row), people, items)


def patterns_of(cells: Sequence[Cell], cell: Ints) -> tuple[tuple[Pattern, ...], Ints, Ints]:
    """Return the R patterns of the votes that compare something, the pattern of each of them, and which they are."""
    patterns: dict[Pattern, int] = {}
    of_cell = np.full(max(len(cells), 1), -1)
    for number in np.flatnonzero(np.bincount(cell, minlength=1)).tolist():
        if (pattern := pattern_of(cells[number])) is not None:
            of_cell[number] = patterns.setdefault(pattern, len(patterns))
    row = of_cell[cell] if len(cell) else np.zeros(0, dtype=int)
    return tuple(patterns), row[row >= 0], row >= 0


def _errors(
    choices: Choices, every: Floats, best: Floats, row: Ints, person: Ints, item: Ints
) -> tuple[Floats, list[float | None], float, str | None]:
    """Return all figures (strengths and positions as in the layout, then log-odds of the chances), their standard
    errors, Student's quantile, and why there are no errors."""
    full, size = choices.layout.basis @ best, len(choices.layout.sources)
    power = np.exp(full[:size] - full[:size].max())
    chance = power / power.sum()
    figures = np.concatenate([full, np.log(chance) - np.log1p(-chance)])
    clusters = Clusters.of(person, item)
    if clusters.reason:
        return figures, [None] * len(figures), 0.0, clusters.reason
    # The log-odds of a chance rise with its own strength, and fall with each other's by its part of the rest.
    slopes = -chance[None, :] / (1 - chance[:, None])
    np.fill_diagonal(slopes, 1)
    basis = np.vstack([choices.layout.basis, slopes @ choices.layout.basis[:size]])
    gradients, information = gradients_of(choices, every, best)
    spread = Spread.of((gradients @ np.linalg.pinv(information) @ basis.T)[row], clusters)
    errors: list[float | None] = [sqrt(spread.variance(one)) for one in np.eye(len(figures))]
    return figures, errors, clusters.quantile, None


@lru_cache(maxsize=4)  # a page that is read again while votes come in has the same patterns, seldom a new one
def choose_model(patterns: tuple[Pattern, ...]) -> tuple[Choices | str, str | None]:
    """Return the choices under the largest model with a finite fit of votes of these patterns, or why there is none;
    and why positions are left out, if they are."""
    every = np.ones(len(patterns))
    sources = sorted({source for slots, *_ in patterns for source, _ in slots})
    if len(sources) < 2:
        return NOTHING, None
    if all(choice is Choice.SAME for _, choice, *_ in patterns):
        return ALL_TIES, None
    places = sorted({place for slots, *_ in patterns for _, place in slots})
    with_least = any(least is not None for _, _, _, least in patterns) or any(
        choice is Choice.SAME and len(slots) > 2 for slots, choice, *_ in patterns
    )
    full = Choices(patterns, Layout.of(sources, places if len(places) > 1 else [], with_least))
    if reason := why_not_connected(full.wins(every), sources):
        return reason, None
    if len(places) > 1 and full.has_finite_fit(full.seen(every)):
        return full, None
    return Choices(patterns, Layout.of(sources, [], False)), ALONE


def fit(choices: Choices, weights: Floats, start: Floats | None = None) -> Floats:
    """Return the free parameters of maximum likelihood, by Newton's method; the likelihood is concave.

    The result has no meaning unless `choices.has_finite_fit` holds.
    """
    times, chosen = choices.totals(weights)
    used = times > 0
    features, present, times = choices.features[used], choices.present[used], times[used]
    flat = features.reshape(-1, features.shape[2])
    now = np.zeros(features.shape[2]) if start is None else start
    value, gradient, curvature, _ = _likelihood(features, flat, present, times, chosen, now)
    for _ in range(50):
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-6:
            tried = now + size * step
            new = _likelihood(features, flat, present, times, chosen, tried)
            if new[0] >= value - 1e-9 * abs(value):
                break
            size /= 2
        now, (value, gradient, curvature, _) = tried, new
        if np.abs(size * step).max(initial=0) < 1e-8:
            break
    return now


def _likelihood(
    features: Floats, flat: Floats, present: Floats, times: Floats, chosen: Floats, now: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Return log-likelihood, gradient and negative Hessian at `now`, and the mean features of each choice set."""
    utility = np.where(present, features @ now, -np.inf)
    top = utility.max(axis=1, keepdims=True)
    power = np.exp(utility - top)
    total = power.sum(axis=1, keepdims=True)
    weight = power / total * times[:, None]
    value = float(chosen @ now - times @ (top + np.log(total))[:, 0])
    means = np.einsum("sk,skp->sp", power / total, features)
    gradient = chosen - times @ means
    curvature = (flat * weight.reshape(-1, 1)).T @ flat - (means * times[:, None]).T @ means
    return value, gradient, curvature, means


def gradients_of(choices: Choices, weights: Floats, now: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of one vote of each pattern (R x P) and the information of all (P x P) at `now`."""
    features, present = choices.features, choices.present
    times, chosen = choices.totals(weights)
    _, _, curvature, means = _likelihood(
        features, features.reshape(-1, features.shape[2]), present, times, chosen, now
    )  # fmt: skip
    return choices.scores(means), curvature


def _record(
    layout: Layout, figures: Floats, low: list[float | None], high: list[float | None], with_source: Mapping[str, int]
) -> tuple[list[Strength], list[PositionEffect]]:
    size, start = len(layout.sources), len(layout.basis)

    def chance(bound: float | None) -> float | None:
        return None if bound is None else float(expit(bound))

    found = [
        Strength(
            name, float(figures[i]), low[i], high[i], float(expit(figures[start + i])), chance(low[start + i]),
            chance(high[start + i]), with_source[name],
        )
        for i, name in enumerate(layout.sources)
    ]  # fmt: skip
    positions = []
    for i, place in enumerate(layout.places):
        a, b = size + i, size + len(layout.places) + i
        least = (float(figures[b]), low[b], high[b]) if layout.with_least else (None, None, None)
        positions.append(PositionEffect(place, float(figures[a]), low[a], high[a], *least))
    return sorted(found, key=lambda one: -one.strength), positions


def _not_estimable(reason: str, ballots: int, people: int, items: int) -> Strengths:
    return Strengths(reason, [], [], None, None, ballots, people, items)
