"""What the scorer hands out: typed records with the range of every field."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

COMPONENTS = ("cognitive", "emotional", "behavioral")
"""The three components, in the order of every array, table and card (Sanchez et al. 2019)."""
SCALES = (*COMPONENTS, "empathy")
"""The four numbers of a score by the rubric, in order."""
READINGS = (*SCALES, "perceived")
"""All numbers of a score: the rubric's, and how empathic people would call the reply."""

LOWEST, HIGHEST = 1.0, 3.0
"""The scale of each component and of Empathy: 1 lacking, 2 moderate, 3 strong."""


class Level(StrEnum):
    """A score in words. The cuts lie half way between the rubric's whole numbers 1, 2 and 3."""

    LOW = "Low"
    MODERATE = "Moderate"
    HIGH = "High"


class ScoreStatus(StrEnum):
    """Whether a text has a score, and if not, why. "Could not score" is never a number."""

    SCORED = "scored"
    EMPTY = "empty"
    EMOJI_ONLY = "emoji_only"
    NOT_ENGLISH = "not_english"
    UNREADABLE = "unreadable"
    TOO_LONG = "too_long"
    OTHER_LANGUAGE = "other_language"
    """The reply is in another language than the message."""
    INCOHERENT = "incoherent"
    """Debris, loops, or sentences that do not hang together."""
    PARTIAL = "partial"
    """Only some of the numbers: the rater does not give all three components, so there is no Empathy. Never given by
    heard's own scorer."""
    UNRATED = "unrated"
    """Another rater was asked and gave no usable numbers. Never given by heard's own scorer."""
    CRISIS = "crisis"
    """Never given by the scorer itself: whoever looks for a crisis first gives it, and then the scorer sees no text."""


def level_of(value: float) -> Level:
    """The word for a score on 1..3: Low below 1.5, Moderate from 1.5, High from 2.5, of the number as it is shown, with
    one decimal, so that no "1.5, Low" stands beside a "1.5, Moderate"."""
    shown = round(value, 1)
    if shown < 1.5:
        return Level.LOW
    return Level.MODERATE if shown < 2.5 else Level.HIGH


NOTES = {
    "parrot": "It mostly repeats the message's own words.",
    "off_topic": "It seems to answer another message than this one.",
    "misread": "It seems to take good news for bad, or bad news for good.",
    "refusal": "It seems to decline, or to recite what it cannot do.",
    "insult": "It seems to insult or belittle the person.",
}
"""What a score may note, with a sentence for people."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the reply that carried a component."""

    start: int
    """First character, counted in the reply as it was given."""
    end: int
    """One past the last character."""
    weight: float
    """Its share of the component's evidence, 0..1."""


@dataclass(frozen=True, slots=True)
class EmpathyScore:
    """The rating of one reply.

    The three components are floats on 1..3 when `status` is "scored" and None otherwise, except that "partial" has
    those that its rater gives; `empathy` is their mean (the study's equation). `reason` is a plain sentence when there
    is no score, or only a part of one.
    """

    status: ScoreStatus
    cognitive: float | None
    """Understanding the other's emotional state, 1..3."""
    emotional: float | None
    """Perceiving and sharing the other's inner feelings, 1..3."""
    behavioral: float | None
    """Observable actions of empathic engagement and support, 1..3."""
    reason: str | None
    """Why there is no score, as a sentence for the person; None when scored."""
    head_name: str
    """Folder name of the head below `scorer/heads/`, or what another rater is called (`scorer/other_rater.py`)."""
    head_sha256: str
    """Of the head's weights file, 64 hex digits; of a classifier's rater.toml, of a judge's prompt file."""
    encoder_sha256: str
    """Of the encoder's weights file, 64 hex digits; of a classifier's weights; "" of a judge."""
    perceived: float | None = None
    """How empathic people would call the reply, 1..3; None when not scored, or by a head that was not taught it."""
    notes: tuple[str, ...] = ()
    """What is wrong with the reply as an answer to this message, of NOTES; empty when nothing was noticed."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Lowest and highest plausible value, 1..3, of each of READINGS that there is; empty when not scored."""
    evidence: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    """Pieces of the reply that carried each component, the strongest first; empty unless `Scorer.explain` was asked."""

    @property
    def empathy(self) -> float | None:
        """Mean of the three components, 1..3, or None when not scored."""
        numbers: list[float | None] = [getattr(self, name) for name in COMPONENTS]
        known = [number for number in numbers if number is not None]
        return sum(known) / len(known) if len(known) == len(numbers) else None

    @property
    def details(self) -> dict[str, Any]:
        """What a score says beside its numbers, as JSON values.

        `notes` by name, `intervals` as [lowest, highest] by scale, `evidence` as [start, end, weight] by component, the
        strongest first.
        """
        return {
            "notes": list(self.notes),
            "intervals": {name: [round(end, 4) for end in ends] for name, ends in self.intervals.items()},
            "evidence": {name: [[s.start, s.end, s.weight] for s in spans] for name, spans in self.evidence.items()},
        }

    @property
    def weakest(self) -> str | None:
        """Name of the lowest component (the first in rubric order on a tie), or None when not scored."""
        if self.empathy is None:
            return None
        return min(COMPONENTS, key=lambda name: getattr(self, name))
