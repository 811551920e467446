"""Figures of a comparison: means with intervals; each strategy against plain, examples against none, and each source
against people, on the same questions.

Intervals are of 95%, by the percentile bootstrap over questions (Efron 1979). A difference is paired: only questions
that both have answered with a score count. Several human answers to a question count as their mean, so that
questions stay the sampling unit. Its test is Wilcoxon's signed-rank test (1945), two-sided; over all
strategies (or all sources with examples) that are compared, the p values of one score are corrected by Holm's step-down
method (1979).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import bootstrap, wilcoxon  # type: ignore[import-untyped]

from heard.chat_app.comparing.answers import HUMAN_SOURCE, Answer, by_source, measures_of, question_scores
from heard.chat_app.comparing.plan import WITHOUT_EXAMPLES

Floats = np.ndarray[Any, np.dtype[Any]]

RESAMPLES = 2000
SEED = 0
BASELINE = "plain"
"""The strategy that adds nothing, to which the others are compared."""
ALL = "all"
"""Stands for all models or personas."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its interval."""

    n: int
    """Number of questions."""
    value: float | None
    """None if `n` is 0."""
    low: float | None = None
    """None if `n` is less than 2."""
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a strategy to BASELINE, of examples to none, or of a source to people, in one score, with one
    model and persona or over ALL of them."""

    model: str
    persona: str
    strategy: str
    measure: str
    """A score, by its name in `answers.MEASURES`."""
    estimate: Estimate
    """Strategy minus plain, with examples minus without, or source minus human, -2..2; `n` counts the pairs."""
    p: float | None
    """None if no pair differs, or there is none."""
    p_holm: float | None = None


def mean_estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of a score over questions, with its interval."""
    if len(values) < 2:
        return Estimate(len(values), values[0] if values else None)
    data = (np.array(values, dtype=float),)
    found = bootstrap(data, np.mean, n_resamples=RESAMPLES, method="percentile", rng=SEED).confidence_interval
    return Estimate(len(values), float(np.mean(data[0])), float(found.low), float(found.high))


def differences(answers: Iterable[Answer]) -> list[Difference]:
    """Return the difference of each strategy to BASELINE: by model and persona, and over ALL if there are several.

    Over ALL, a question's difference is the mean of its differences, so that questions stay the sampling unit.
    """
    answers = list(answers)
    scores = dict(by_source(answers))
    scores.pop(HUMAN_SOURCE, None)
    strategies = list(dict.fromkeys(strategy for _, _, strategy in scores if strategy != BASELINE))
    pairs = list(dict.fromkeys((model, persona) for model, persona, strategy in scores if strategy == BASELINE))
    found: list[Difference] = []
    for measure in measures_of(answers):
        single, pooled = [], []
        for strategy in strategies:
            by_pair: list[dict[str, float]] = []
            for model, persona in pairs:
                paired = _paired_differences(
                    scores[model, persona, BASELINE], scores.get((model, persona, strategy), []), measure
                )
                single.append(_difference(model, persona, strategy, measure, list(paired.values())))
                by_pair.append(paired)
            pooled.append(_difference(ALL, ALL, strategy, measure, _question_means(by_pair)))
        found += _with_holm(single)
        if len(pairs) > 1:
            found += _with_holm(pooled)
    return found


def example_differences(answers: Iterable[Answer]) -> list[Difference]:
    """Return the difference of each source that was tried with and without examples: with minus without, and over ALL
    if there are several."""
    answers = list(answers)
    scores = dict(by_source(answers))
    pairs = {
        source: other
        for source in scores
        if (other := (source[0], f"{source[1]}{WITHOUT_EXAMPLES}", source[2])) in scores
    }
    found: list[Difference] = []
    for measure in measures_of(answers):
        by_pair = [_paired_differences(scores[other], scores[source], measure) for source, other in pairs.items()]
        found += _with_holm(
            [
                _difference(*source, measure, list(paired.values()))
                for source, paired in zip(pairs, by_pair, strict=True)
            ]
        )
        if len(pairs) > 1:
            found.append(_difference(ALL, ALL, ALL, measure, _question_means(by_pair)))
    return found


def human_differences(answers: Iterable[Answer]) -> list[Difference]:
    """Return the difference of each source to the human answers; none without those."""
    answers = list(answers)
    scores = dict(by_source(answers))
    people = scores.pop(HUMAN_SOURCE, [])
    found: list[Difference] = []
    for measure in measures_of(answers) if people else ():
        found += _with_holm(
            [
                _difference(*source, measure, list(_paired_differences(people, group, measure).values()))
                for source, group in scores.items()
            ]
        )
    return found


def holm(values: Sequence[float]) -> list[float]:
    """Return p values corrected by Holm's step-down method, in the same order; each at most 1."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    corrected, highest = [0.0] * len(values), 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[index]))
        corrected[index] = highest
    return corrected


def _question_means(by_pair: Iterable[Mapping[str, float]]) -> list[float]:
    """The mean difference of each question over pairs of sources."""
    of_question: dict[str, list[float]] = {}
    for paired in by_pair:
        for question, value in paired.items():
            of_question.setdefault(question, []).append(value)
    return [float(np.mean(values)) for values in of_question.values()]


def _paired_differences(before: Iterable[Answer], after: Iterable[Answer], measure: str) -> dict[str, float]:
    first, second = question_scores(before, measure), question_scores(after, measure)
    return {question: value - first[question] for question, value in second.items() if question in first}


def _difference(model: str, persona: str, strategy: str, measure: str, values: Sequence[float]) -> Difference:
    p = float(wilcoxon(values).pvalue) if any(values) else None
    return Difference(model, persona, strategy, measure, mean_estimate(values), p)


def _with_holm(family: Sequence[Difference]) -> list[Difference]:
    corrected = iter(holm([one.p for one in family if one.p is not None]))
    return [one if one.p is None else replace(one, p_holm=next(corrected)) for one in family]
