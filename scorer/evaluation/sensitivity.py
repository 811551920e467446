"""What perturbing a reply does to its scores: the change for each kind, of one reply or of many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Protocol

from heard.scorer.evaluation.perturb import Perturb
from heard.scorer.records import READINGS, EmpathyScore


class Rater(Protocol):
    """Anything that rates a reply as `heard.scorer.score.Scorer` does."""

    def score(self, seeker: str, reply: str) -> EmpathyScore:
        """Rate `reply`, the answer to `seeker`."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """One reply under one kind of perturbation."""

    kind: str
    text: str
    """The perturbed reply."""
    same: bool
    """Whether the kind found nothing to change in it."""
    score: EmpathyScore
    """Of the perturbed reply."""
    by: dict[str, float]
    """Of READINGS those that both scores have: perturbed less original, -2..2. Empty without both scores."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Many replies under one kind."""

    kind: str
    changed: int
    """Replies that the kind changed and that have a score before and after. The figures are over these."""
    same: int
    """Replies in which it found nothing to change."""
    lost: int
    """Replies that had a score and have none once perturbed."""
    mean: dict[str, float]
    """Mean change of each score, -2..2; empty without a changed reply."""
    spread: dict[str, float]
    """Standard deviation of the change; 0 with a single reply."""
    moved: float | None
    """Mean size of Empathy's change, whatever its sign, 0..2; None without a changed reply."""


def changes(
    rater: Rater, seeker: str, reply: str, kinds: Mapping[str, Perturb], seed: int = 0
) -> tuple[EmpathyScore, list[Change]]:
    """The score of `reply` as it is, and the reply under every kind, in the kinds' order."""
    original = rater.score(seeker, reply)
    found = []
    for kind, perturb in kinds.items():
        text = perturb(reply, seed)
        score = original if text == reply else rater.score(seeker, text)
        found.append(Change(kind, text, text == reply, score, _moves(original, score)))
    return original, found


def _moves(original: EmpathyScore, score: EmpathyScore) -> dict[str, float]:
    both = {name: (getattr(original, name), getattr(score, name)) for name in READINGS}
    return {name: after - before for name, (before, after) in both.items() if None not in (before, after)}


def summarise(found: Iterable[Change]) -> list[Summary]:
    """One summary for each kind, in the order in which the kinds are met; of replies that have a score as they are."""
    by_kind: dict[str, list[Change]] = {}
    for change in found:
        by_kind.setdefault(change.kind, []).append(change)
    return [_summary(kind, of_kind) for kind, of_kind in by_kind.items()]


def _summary(kind: str, found: Sequence[Change]) -> Summary:
    moves = [change.by for change in found if change.by and not change.same]
    names = [name for name in READINGS if moves and all(name in by for by in moves)]
    columns = {name: [by[name] for by in moves] for name in names}
    return Summary(
        kind,
        len(moves),
        sum(change.same for change in found),
        sum(not change.by for change in found),
        {name: fmean(values) for name, values in columns.items()},
        {name: stdev(values) if len(values) > 1 else 0.0 for name, values in columns.items()},
        fmean(abs(by["empathy"]) for by in moves) if moves else None,
    )
