"""Figures of a comparison: means with intervals, and each strategy against plain on the same questions.

Intervals are of 95%, by the percentile bootstrap over questions (Efron 1979). A difference is paired: only questions
that both have answered with a score count. Its test is Wilcoxon's signed-rank test (1945), two-sided; over all
strategies that are compared, the p values of one score are corrected by Holm's step-down method (1979).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import bootstrap, wilcoxon  # type: ignore[import-untyped]

from heard.chat_app.comparing.answers import MEASURES, Answer, score_of

Floats = np.ndarray[Any, np.dtype[Any]]

RESAMPLES = 2000
SEED = 0
PLAIN = "plain"
"""The strategy that changes nothing: what the others are held against."""
ALL = "all"
"""In the place of a model and a persona: over all of them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its interval."""

    n: int
    """Of so many questions."""
    value: float | None
    """None of nothing."""
    low: float | None = None
    """None of fewer than two."""
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """What a strategy adds to one score over plain, with one model and persona or over ALL of them."""

    model: str
    persona: str
    strategy: str
    measure: str
    """One of MEASURES."""
    by: Estimate
    """Strategy minus plain, -2..2; `n` counts the pairs."""
    p: float | None
    """None where no pair differs, or there is none."""
    p_holm: float | None = None


def mean(values: Sequence[float]) -> Estimate:
    """The mean of a score over questions."""
    if len(values) < 2:
        return Estimate(len(values), values[0] if values else None)
    data = (np.array(values, dtype=float),)
    found = bootstrap(data, np.mean, n_resamples=RESAMPLES, method="percentile", rng=SEED).confidence_interval
    return Estimate(len(values), float(np.mean(data[0])), float(found.low), float(found.high))


def differences(answers: Iterable[Answer]) -> list[Difference]:
    """Every strategy against plain: by model and persona, and over ALL where there is more than one such pair.

    Over ALL, a question's difference is the mean of its differences, so that questions stay what is drawn.
    """
    scores: dict[tuple[str, str, str], dict[str, Answer]] = {}
    for answer in answers:
        question, model, persona, strategy, _ = answer.key
        scores.setdefault((model, persona, strategy), {})[question] = answer
    strategies = list(dict.fromkeys(strategy for _, _, strategy in scores if strategy != PLAIN))
    pairs = list(dict.fromkeys((model, persona) for model, persona, strategy in scores if strategy == PLAIN))
    found: list[Difference] = []
    for measure in MEASURES:
        single, pooled = [], []
        for strategy in strategies:
            of_question: dict[str, list[float]] = {}
            for model, persona in pairs:
                by = _paired(scores[model, persona, PLAIN], scores.get((model, persona, strategy), {}), measure)
                single.append(_difference(model, persona, strategy, measure, list(by.values())))
                for question, value in by.items():
                    of_question.setdefault(question, []).append(value)
            means = [float(np.mean(values)) for values in of_question.values()]
            pooled.append(_difference(ALL, ALL, strategy, measure, means))
        found += _corrected(single)
        if len(pairs) > 1:
            found += _corrected(pooled)
    return found


def holm(values: Sequence[float]) -> list[float]:
    """p values corrected by Holm's step-down method, in their order; each at most 1."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    corrected, highest = [0.0] * len(values), 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[index]))
        corrected[index] = highest
    return corrected


def _paired(plain: dict[str, Answer], other: dict[str, Answer], measure: str) -> dict[str, float]:
    found = {}
    for question, answer in other.items():
        if question in plain:
            before, after = score_of(plain[question], measure), score_of(answer, measure)
            if before is not None and after is not None:
                found[question] = after - before
    return found


def _difference(model: str, persona: str, strategy: str, measure: str, values: Sequence[float]) -> Difference:
    p = float(wilcoxon(values).pvalue) if any(values) else None
    return Difference(model, persona, strategy, measure, mean(values), p)


def _corrected(family: Sequence[Difference]) -> list[Difference]:
    corrected = iter(holm([one.p for one in family if one.p is not None]))
    return [one if one.p is None else replace(one, p_holm=next(corrected)) for one in family]
