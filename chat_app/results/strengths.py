"""Strengths of sources by a Bradley-Terry model (Bradley & Terry 1952) extended to ballots of two to five answers.

The probability that an answer is marked as most empathetic is proportional to exp(strength of its source + effect of
its position); that one of the rest is marked as least, to exp(-strength + another effect of its position). Both marks
share one strength. Intervals are percentiles of a bootstrap over people, as votes of one person are correlated.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from heard.chat_app.results.choices import Choices, Layout, Pattern, pattern_of, why_not_connected
from heard.chat_app.results.records import PositionEffect, Strength, Strengths
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell

Floats = np.ndarray[Any, np.dtype[Any]]

RESAMPLES = 200
SEED = 0
FEWEST_FINITE_FITS = 0.95
"""Least share of the resamples with a finite fit; with fewer, an interval would be too narrow."""

NOTHING = "No ballot here compares two sources."
ALL_TIES = "Every ballot here is a tie: nobody marked one answer before another, so there is no difference to estimate."
ONE_PERSON = "All votes come from one person, and intervals are over people."
ALONE = (
    "Some position always goes with the same outcome or the same sources, so its effect cannot be told from theirs. "
    "The strengths are without position effects."
)


@threadpool_limits.wrap(limits=1)  # type: ignore[untyped-decorator]  # the matrices are small: more threads only wait for each other
def strengths(cells: Sequence[Cell], cell: Floats, person: Floats, resamples: int = RESAMPLES) -> Strengths:
    """Fit the votes. For each vote, `cell` has an index into `cells`, and `person` the number of the person."""
    patterns: dict[Pattern, int] = {}
    of_cell = np.full(max(len(cells), 1), -1)
    for number in np.unique(cell):
        if (pattern := pattern_of(cells[number])) is not None:
            of_cell[number] = patterns.setdefault(pattern, len(patterns))
    row = of_cell[cell] if len(cell) else np.zeros(0, dtype=int)
    row, person = row[row >= 0], person[row >= 0]
    if len(row) == 0:
        return _not_estimable(NOTHING, 0, 0)
    _, person = np.unique(person, return_inverse=True)
    people = int(person.max()) + 1
    every = np.bincount(row, minlength=len(patterns)).astype(float)
    choices, position_reason = _choose_model(list(patterns), every)
    if isinstance(choices, str):
        return _not_estimable(choices, len(row), people)
    best = fit(choices, every)
    drawn = _bootstrap(choices, row, person, people, best, resamples) if people > 1 else []
    reason = ONE_PERSON if people == 1 else None
    if people > 1 and len(drawn) < FEWEST_FINITE_FITS * resamples:
        reason = (
            f"Only {len(drawn)} of {resamples} bootstrap samples of people have a finite fit: too few votes to bound "
            "the strengths."
        )
    with_source = {
        name: int(sum(number for (slots, *_), number in zip(patterns, every, strict=True) if name in dict(slots)))
        for name in choices.layout.sources
    }
    kept = [] if reason else drawn
    return _record(choices.layout, best, kept, position_reason, reason, with_source, len(row), people, len(drawn))


def _choose_model(patterns: list[Pattern], every: Floats) -> tuple[Choices | str, str | None]:
    """Return the choices under the largest model with a finite fit, or why there is none; and why positions are left
    out, if they are."""
    sources = sorted({source for slots, *_ in patterns for source, _ in slots})
    if len(sources) < 2:
        return NOTHING, None
    bare = Choices(patterns, Layout.of(sources, [], False))
    if all(choice is Choice.SAME for _, choice, *_ in patterns):
        return ALL_TIES, None
    if reason := why_not_connected(bare.wins(every), sources):
        return reason, None
    places = sorted({place for slots, *_ in patterns for _, place in slots})
    with_least = any(least is not None for _, _, _, least in patterns) or any(
        choice is Choice.SAME and len(slots) > 2 for slots, choice, *_ in patterns
    )
    if len(places) > 1:
        full = Choices(patterns, Layout.of(sources, places, with_least))
        if full.has_finite_fit(full.seen(every)):
            return full, None
    return bare, ALONE


def fit(choices: Choices, weights: Floats, start: Floats | None = None) -> Floats:
    """Return the free parameters of maximum likelihood, by Newton's method; the likelihood is concave.

    The result has no meaning unless `choices.has_finite_fit` holds.
    """
    times, chosen = choices.totals(weights)
    used = times > 0
    features, present, times = choices.features[used], choices.present[used], times[used]
    flat = features.reshape(-1, features.shape[2])
    now = np.zeros(features.shape[2]) if start is None else start
    value, gradient, curvature = _likelihood(features, flat, present, times, chosen, now)
    for _ in range(50):
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-6:
            tried = now + size * step
            new = _likelihood(features, flat, present, times, chosen, tried)
            if new[0] >= value - 1e-9 * abs(value):
                break
            size /= 2
        now, (value, gradient, curvature) = tried, new
        if np.abs(size * step).max(initial=0) < 1e-8:
            break
    return now


def _likelihood(
    features: Floats, flat: Floats, present: Floats, times: Floats, chosen: Floats, now: Floats
) -> tuple[float, Floats, Floats]:
    """Return log-likelihood, gradient and negative Hessian at `now`."""
    utility = np.where(present, features @ now, -np.inf)
    top = utility.max(axis=1, keepdims=True)
    power = np.exp(utility - top)
    total = power.sum(axis=1, keepdims=True)
    weight = power / total * times[:, None]
    value = float(chosen @ now - times @ (top + np.log(total))[:, 0])
    means = np.einsum("sk,skp->sp", power / total, features)
    gradient = chosen - times @ means
    curvature = (flat * weight.reshape(-1, 1)).T @ flat - (means * times[:, None]).T @ means
    return value, gradient, curvature


def _bootstrap(
    choices: Choices, row: Floats, person: Floats, people: int, best: Floats, resamples: int
) -> list[Floats]:
    """Return the fits of bootstrap samples of people, of those with a finite one."""
    generator = np.random.default_rng(SEED)
    found = []
    known: dict[bytes, bool] = {}
    ranked = np.array([choice is not Choice.SAME for _, choice, *_ in choices.patterns])
    for _ in range(resamples):
        drawn = np.bincount(generator.integers(0, people, people), minlength=people).astype(float)
        weights = np.bincount(row, weights=drawn[person], minlength=len(choices.chosen))
        seen = choices.seen(weights)
        if (key := seen.tobytes()) not in known:
            known[key] = choices.has_finite_fit(seen)
        if known[key] and weights[ranked].any():  # a sample of ties alone estimates nothing, as above
            found.append(fit(choices, weights, best))
    return found


def _record(
    layout: Layout,
    best: Floats,
    drawn: list[Floats],
    position_reason: str | None,
    interval_reason: str | None,
    with_source: Mapping[str, int],
    ballots: int,
    people: int,
    resamples: int,
) -> Strengths:
    size, full = len(layout.sources), layout.basis @ best
    every = np.array([layout.basis @ one for one in drawn]).reshape(-1, len(full))
    low, high = _bounds(every, len(full))
    chance_low, chance_high = _bounds(_chances(every[:, :size]), size)
    chance = _chances(full[None, :size])[0]
    found = [
        Strength(
            name, float(full[i]), low[i], high[i], float(chance[i]), chance_low[i], chance_high[i], with_source[name]
        )
        for i, name in enumerate(layout.sources)
    ]
    positions = []
    for i, place in enumerate(layout.places):
        a, b = size + i, size + len(layout.places) + i
        least = (float(full[b]), low[b], high[b]) if layout.with_least else (None, None, None)
        positions.append(PositionEffect(place, float(full[a]), low[a], high[a], *least))
    found.sort(key=lambda one: -one.strength)
    return Strengths(None, found, positions, position_reason, interval_reason, ballots, people, resamples)


def _bounds(every: Floats, size: int) -> tuple[list[float | None], list[float | None]]:
    if len(every) == 0:
        return [None] * size, [None] * size
    low, high = np.percentile(every, [2.5, 97.5], axis=0)
    return [float(value) for value in low], [float(value) for value in high]


def _chances(strength: Floats) -> Floats:
    power = np.exp(strength - strength.max(axis=1, keepdims=True)) if len(strength) else strength
    result: Floats = power / power.sum(axis=1, keepdims=True)
    return result


def _not_estimable(reason: str, ballots: int, people: int) -> Strengths:
    return Strengths(reason, [], [], None, None, ballots, people, 0)
