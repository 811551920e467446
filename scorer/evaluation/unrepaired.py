"""What a scorer without repair makes of a spoiled reply, beside the repaired scores: the founding study's Figure 5.

A rater that reads a text as it is written, and intervals of the mean changes, so that the two can be held together.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from heard.scorer.evaluation.bootstrap import bounds
from heard.scorer.evaluation.sensitivity import Change, Summary
from heard.scorer.records import EmpathyScore
from heard.scorer.score import Scorer

Interval = tuple[float, float]
Intervals = Mapping[str, Mapping[str, Interval]]
"""By kind and score: the 95% interval of its mean change, -2..2. What has fewer than two replies is not there."""


class AsWritten:
    """Rates replies by a scorer's head and encoder, unrepaired (`Scorer.score_as_written`). Looks at no message."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def score(self, seeker: str, reply: str) -> EmpathyScore:
        """Rate `reply`. Never raises on any strings."""
        return self._scorer.score_as_written(reply)


def in_both(repaired: Iterable[Change], raw: Iterable[Change]) -> tuple[list[Change], list[Change]]:
    """Return the changes that have scores in both lists, which are of the same replies and kinds in the same order: so
    that a reply which only one of the scorers rates is in neither mean."""
    pairs = [(one, other) for one, other in zip(repaired, raw, strict=True) if one.by and other.by]
    return [one for one, _ in pairs], [other for _, other in pairs]


def intervals(found: Iterable[Change], summaries: Iterable[Summary]) -> Intervals:
    """Return the intervals of the summaries' means, by the percentile bootstrap over replies (Efron 1979)."""
    moves: dict[str, list[dict[str, float]]] = {}
    for change in found:
        if change.by and not change.same:
            moves.setdefault(change.kind, []).append(change.by)
    whole: dict[str, dict[str, Interval]] = {}
    for one in summaries:
        for name in one.mean:
            values = np.array([by[name] for by in moves[one.kind]])
            ends = bounds([(values, np.zeros(len(values)))], lambda after, before: float(np.mean(after - before)))
            if ends is not None:
                whole.setdefault(one.kind, {})[name] = ends
    return whole
