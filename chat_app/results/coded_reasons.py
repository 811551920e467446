"""What coded reasons say: how far raters agree on each code, and how often a code is given, by source.

A reason carries a code if every rater who has coded it gives that code; what they differ on is listed, to be talked
over and handed in again. Agreement is nominal Krippendorff's alpha (2011) of each code's yes and no. Shares have
intervals for other people and other items (`two_way.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heard.chat_app.results.agreement import agreement_of_marks
from heard.chat_app.results.records import Agreement, Interval
from heard.chat_app.results.two_way import Clusters, share_interval, two_way_variance
from heard.db.reason_reads import Reason

Coding = Mapping[str, frozenset[str]]
"""The codes that one rater gave, by ballot; without the reasons that the rater has not coded."""


@dataclass(frozen=True, slots=True)
class CodeShare:
    """How many of the reasons for one source carry a code."""

    source: str
    count: int
    of: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class CodeFigures:
    """One code."""

    code: str
    by_rater: tuple[int, ...]
    """Reasons to which each rater gave it."""
    settled: int
    """Reasons to which every rater who coded them gave it."""
    agreement: Agreement
    """Over the reasons that two raters or more have coded."""
    shares: tuple[CodeShare, ...]
    """By the source that was marked as most empathetic, in alphabetical order."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A reason whose raters do not agree."""

    reason: Reason
    by_rater: tuple[frozenset[str] | None, ...]
    """The codes of each rater; None for one who has not coded it."""


@dataclass(frozen=True, slots=True)
class CodedReasons:
    """All figures."""

    codes: tuple[CodeFigures, ...]
    coded: int
    """Reasons that a rater has coded."""
    of: int
    """All reasons."""
    differences: tuple[Difference, ...]


def coded_reasons(reasons: Sequence[Reason], raters: Sequence[Coding], codes: Sequence[str]) -> CodedReasons:
    """Return the figures of these codes, in their order."""
    coded = [reason for reason in reasons if any(reason.ballot in rater for rater in raters)]
    given = [tuple(rater.get(reason.ballot) for rater in raters) for reason in coded]
    settled = [frozenset.intersection(*(one for one in by_rater if one is not None)) for by_rater in given]
    differences = [
        Difference(reason, by_rater)
        for reason, by_rater in zip(coded, given, strict=True)
        if len({one for one in by_rater if one is not None}) > 1
    ]
    figures = []
    for code in codes:
        marks = [tuple(code in one for one in by_rater if one is not None) for by_rater in given]
        has = np.array([code in one for one in settled], dtype=bool)
        figures.append(
            CodeFigures(
                code,
                tuple(sum(code in one for one in rater.values()) for rater in raters),
                int(has.sum()),
                agreement_of_marks([one for one in marks if len(one) > 1]),
                _shares(coded, has),
            )
        )
    return CodedReasons(tuple(figures), len(coded), len(reasons), tuple(differences))


def _shares(reasons: Sequence[Reason], has: np.ndarray) -> tuple[CodeShare, ...]:
    people = {one: number for number, one in enumerate(dict.fromkeys(reason.participant for reason in reasons))}
    items = {one: number for number, one in enumerate(dict.fromkeys(reason.item for reason in reasons if reason.item))}
    person = np.array([people[reason.participant] for reason in reasons], dtype=int)
    item = np.array([items[reason.item] if reason.item else -1 for reason in reasons], dtype=int)
    found = []
    for source in sorted({reason.source for reason in reasons if reason.source is not None}):
        here = np.array([reason.source == source for reason in reasons])
        share = float(has[here].mean())
        clusters = Clusters.of(person[here], item[here])
        interval = Interval(reason=clusters.reason)
        if clusters.reason is None:
            variance = float(two_way_variance((has[here] - share) / here.sum(), person[here], item[here]))
            interval = Interval(*share_interval(share, variance, clusters))
        found.append(CodeShare(source, int(has[here].sum()), int(here.sum()), interval))
    return tuple(found)
