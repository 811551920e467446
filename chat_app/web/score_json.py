"""A score as plain JSON values, for other programs."""

from typing import Any

from heard.scorer.records import COMPONENTS, NOTES, EmpathyScore, level_of

SCALES = (*COMPONENTS, "empathy")
"""The four numbers of a score, in order."""
CRISIS = "This text is not scored, because it reads like a crisis. Please turn to people: see the help page."


def as_json(score: EmpathyScore) -> dict[str, Any]:
    """A score's fields: numbers on 1..3, or null together with a `reason`.

    `levels` is "Low", "Moderate" or "High" by scale, `intervals` the lowest and highest plausible value by scale (both
    empty when there are none), `notes` what was noticed, by name with a sentence.
    """
    values = {name: getattr(score, name) for name in SCALES}
    return {
        "status": score.status.value,
        "reason": score.reason,
        **values,
        "levels": {name: level_of(value).value for name, value in values.items() if value is not None},
        "intervals": {name: list(ends) for name, ends in score.intervals.items()},
        "notes": {name: NOTES.get(name, name) for name in score.notes},
        "head_name": score.head_name,
        "head_sha256": score.head_sha256,
        "encoder_sha256": score.encoder_sha256,
    }


def crisis_json() -> dict[str, Any]:
    """In place of a score: a text with suicidal or self-harm meaning never reaches the scorer."""
    nothing = dict.fromkeys(SCALES)
    return {
        "status": "crisis", "reason": CRISIS, **nothing, "levels": {}, "intervals": {}, "notes": {}, "help": "/help"
    }  # fmt: skip
