"""The randomised trial of auto-improve: its effect on votes, by intention to treat.

Answers are compared by their assignment, whether or not they came out low and were rewritten: comparing the rewritten
ones with the rest would compare replies that started low with replies that did not.

Chance assigns answers and not showings, so the answer is the unit: an answer that ten people judge was assigned once.
Sources are compared within themselves, as a strong one may by chance have more assigned answers than a weak one. The
variance is that between the answers of each arm (Neyman 1923), and of people where what they mark on one ballot and the
next hangs together (`two_way.py`); degrees of freedom are Welch's (1947) over the arms, at most those of the people.
Beside it stands the randomisation p value (Fisher 1935), which supposes nothing but the assignment.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t as student  # type: ignore[import-untyped]

from heard.chat_app.results.intervals import CONFIDENCE, newcombe_difference, wilson_share
from heard.chat_app.results.records import TrialArm, VoteFilter
from heard.chat_app.results.two_way import ONE_PERSON, Clusters
from heard.db.vote_reads import TrialRows

Floats = np.ndarray[Any, np.dtype[Any]]
Ints = np.ndarray[Any, np.dtype[Any]]

SEED = 0
MOST_ASSIGNMENTS, FEWEST_ASSIGNMENTS, WORK = 1999, 199, 4_000_000
"""Assignments drawn for the p value: as many as keep them times answers under WORK."""
CHUNK = 200
"""Assignments drawn at a time."""
FEW_ANSWERS = "In no source were two answers or more assigned and two or more not, so nothing tells how answers differ."


@dataclass(frozen=True, slots=True)
class Showings:
    """N showings of answers; numbers from 0."""

    source: Ints
    answer: Ints
    person: Ints
    assigned: Ints
    """0 or 1; the same for all showings of an answer."""
    most: Ints
    """0 or 1."""

    def take(self, which: Any) -> "Showings":
        """Those at these indexes, or under this mask."""
        return Showings(
            self.source[which], self.answer[which], self.person[which], self.assigned[which], self.most[which]
        )


def trial(rows: TrialRows, wanted: VoteFilter) -> list[TrialArm]:
    """Return the effect on the share of most, for all sources together and for each; empty without a trial."""
    columns = (rows.source, rows.answer, rows.person, rows.assigned, rows.most)
    source, *others = (np.array(column, dtype=int) for column in columns)
    listed = sorted(rows.sources)  # so that what chance draws does not hang on the order in which rows were read
    showings = Showings(np.array([listed.index(name) for name in rows.sources], dtype=int)[source], *others)
    keep = np.ones(len(showings.source), dtype=bool)
    if not wanted.with_leaks:
        keep &= np.array(rows.leak, dtype=int) == 0
    if wanted.passed_attention:
        keep &= np.array(rows.failing, dtype=int) == 0
    if wanted.condition is not None:
        named = [number for number, name in enumerate(rows.conditions) if name == wanted.condition]
        keep &= np.isin(np.array(rows.condition, dtype=int), named)
    showings = showings.take(keep)
    known = np.unique(showings.source).tolist()
    of_each = [effect(listed[number], showings.take(showings.source == number)) for number in known]
    return [effect(None, showings), *of_each] if known else []


def effect(name: str | None, showings: Showings) -> TrialArm:
    """Return the effect over the sources in `showings`, within each of them."""
    arms = [showings.take(showings.assigned == arm) for arm in (1, 0)]
    assigned, control = (wilson_share(int(arm.most.sum()), len(arm.most)) for arm in arms)
    answers = [len(np.unique(arm.answer)) for arm in arms]

    def found(
        difference: float | None, low: float | None, high: float | None, p: float | None, reason: str | None
    ) -> TrialArm:
        return TrialArm(name, assigned, control, answers[0], answers[1], difference, low, high, p, reason)

    fewest = {source: min(_answers(showings.take(showings.source == source))) for source in np.unique(showings.source)}
    usable = [source for source, number in fewest.items() if number >= 2]
    kept = showings.take(np.isin(showings.source, usable or [one for one, number in fewest.items() if number]))
    if len(kept.source) == 0:
        return found(None, None, None, None, FEW_ANSWERS)
    difference, scores, parts = _within_sources(kept)
    if not usable:
        return found(difference, None, None, None, FEW_ANSWERS)
    p = _randomisation_p(kept)
    clusters = Clusters.of(kept.person, kept.answer)
    if clusters.people < 2:
        return found(difference, None, None, p, ONE_PERSON)
    between, person, pair = (
        float((np.bincount(group, weights=scores) ** 2).sum())
        for group in (clusters.item, clusters.person, clusters.pair)
    )
    spread = max(between + person * clusters.people / (clusters.people - 1) - pair, between)
    if spread == 0:  # every answer of an arm was marked every time, or never
        ends = [wilson_share(round(number * (arm.share or 0)), number)
                for arm, number in zip((assigned, control), answers, strict=True)]  # fmt: skip
        _, low, high = newcombe_difference(*ends) or (None, None, None)
        return found(difference, low, high, p, None)
    welch = sum(part for part, _ in parts) ** 2 / sum(part**2 / (size - 1) for part, size in parts)
    reach = float(student.ppf(0.5 + CONFIDENCE / 2, min(welch, clusters.people - 1))) * sqrt(spread)
    return found(difference, max(-1.0, difference - reach), min(1.0, difference + reach), p, None)


def _answers(showings: Showings) -> tuple[int, int]:
    """How many answers are assigned, and not."""
    every = len(np.unique(showings.answer))
    treated = len(np.unique(showings.answer[showings.assigned == 1]))
    return treated, every - treated


def _within_sources(showings: Showings) -> tuple[float, Floats, list[tuple[float, int]]]:
    """Return the mean of the sources' differences by their showings, each showing's part of its error (with G / (G - 1)
    of the answers of its arm), and the variance and the number of answers of each arm."""
    difference, scores, parts = 0.0, np.zeros(len(showings.source)), []
    for source in np.unique(showings.source):
        inside = showings.source == source
        for arm, sign in ((1, 1.0), (0, -1.0)):
            here = inside & (showings.assigned == arm)
            weight = inside.mean() / here.sum()
            mean = showings.most[here].mean()
            _, answer = np.unique(showings.answer[here], return_inverse=True)
            size = int(answer.max()) + 1
            scores[here] = sign * weight * (showings.most[here] - mean) * sqrt(size / max(size - 1, 1))
            parts.append((float((np.bincount(answer, weights=scores[here]) ** 2).sum()), size))
            difference += sign * float(inside.mean() * mean)
    return difference, scores, parts


def _randomisation_p(showings: Showings) -> float:
    """Return how often a new assignment of as many answers of each source gives a difference at least as large."""
    generator = np.random.default_rng(SEED)
    answers = len(np.unique(showings.answer))
    number = min(max(WORK // answers, FEWEST_ASSIGNMENTS), MOST_ASSIGNMENTS)
    seen, drawn = 0.0, np.zeros(number)
    for source in np.unique(showings.source):
        inside = showings.take(showings.source == source)
        _, first, answer = np.unique(inside.answer, return_index=True, return_inverse=True)
        arm, marks, shown = inside.assigned[first], np.bincount(answer, weights=inside.most), np.bincount(answer)
        order = np.lexsort((arm, shown, marks))
        arm, marks, shown = arm[order], marks[order], shown[order]
        weight = len(inside.source) / len(showings.source)
        seen += weight * float(_gap(arm[None, :], marks, shown)[0])
        for start in range(0, number, CHUNK):
            end = min(start + CHUNK, number)
            arms = generator.permuted(np.tile(arm, (end - start, 1)), axis=1)
            drawn[start:end] += weight * _gap(arms, marks, shown)
    return float((1 + (np.abs(drawn) >= abs(seen) - 1e-12).sum()) / (number + 1))


def _gap(arms: Ints, marks: Floats, shown: Ints) -> Floats:
    """Return the difference of shares under each row of `arms` (D x answers)."""
    treated, of = arms @ marks, arms @ shown
    result: Floats = treated / of - (marks.sum() - treated) / (shown.sum() - of)
    return result
