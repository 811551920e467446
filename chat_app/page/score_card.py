"""The props of the score card: plain values for `public/elements/ScoreCard.jsx`, which only draws them."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from heard.chat_app.common.markdown import safe_final_markdown
from heard.scorer.records import COMPONENTS, NOTES, Level, level_of

ELEMENT = "ScoreCard"
"""File name below `public/elements/`, without its ending."""

PENDING: dict[str, Any] = {"pending": True}
"""A card that shows nothing yet. It is sent while the reply streams, so that the page has fetched and compiled the card
when there is a score: a tenth of a second less to wait."""

LABELS = {"cognitive": "Cognitive", "emotional": "Emotional", "behavioral": "Behavioral"}
MEANINGS = {
    "cognitive": "shows that it understands how you feel",
    "emotional": "shares some of the feeling",
    "behavioral": "encourages, asks or supports",
}
NOT_SCORED = "Not scored:"
"""Stands before the reason; some of the scorer's own reasons begin with it."""
PERCEIVED = {Level.LOW: "hardly", Level.MODERATE: "moderately", Level.HIGH: "very"}
"""How empathic people would call a reply, by level."""
LIMITS = (
    "An automatic estimate by a small model that learned from rated support replies. It cannot tell whether you feel "
    "heard, and it misses irony."
)


class Score(Protocol):
    """What the card shows: the scorer's own score, or a stored one."""

    @property
    def empathy(self) -> float | None:
        """The mean of the three, 1..3; None if there is no score."""

    @property
    def perceived(self) -> float | None:
        """How empathic people would call the reply, 1..3; None if the scorer does not say."""

    @property
    def reason(self) -> str | None:
        """Why there is no score."""

    @property
    def details(self) -> dict[str, Any] | None:
        """`notes`, `intervals` and `evidence`, as JSON values."""


def card_props(
    score: Score,
    text: str,
    drafts: Sequence[dict[str, Any]] = (),
    *,
    note: str | None = None,
    improved: str | Literal[False] = False,
) -> dict[str, Any]:
    """Return the properties of a reply's card. `drafts` are listed if there are several; `note` stands above them.

    `improved` says of a reply that was written again why it is this draft, in the folded card too; False of others.
    """
    return {
        "score": score_props(score) | {"words": evidence_words(score, text)},
        "improved": improved,
        "note": note,
        "drafts": list(drafts) if len(drafts) > 1 else [],
        "limits": LIMITS,
    }


def score_props(score: Score) -> dict[str, Any]:
    """Return one score: bars, words, and a sentence for screen readers; no numbers if there is no score."""
    empathy = score.empathy
    if empathy is None:
        reason = (score.reason or "This text cannot be scored.").removeprefix(NOT_SCORED).strip()
        spoken = f"{NOT_SCORED} {reason}"
        return {
            "scored": False, "line": spoken, "reason": reason[:1].upper() + reason[1:], "bars": [], "empathy": None,
            "perceived": None, "notes": [], "range": None, "spoken": spoken,
        }  # fmt: skip
    details = score.details or {}
    ends = details.get("intervals", {})
    bars = [_bar(LABELS[name], getattr(score, name), MEANINGS[name], ends.get(name)) for name in COMPONENTS]
    overall = _bar("Empathy", empathy, "mean of the three", ends.get("empathy"))
    notes = [NOTES.get(note, note) for note in details.get("notes", [])]
    between = "{:.1f} to {:.1f}".format(*ends["empathy"]) if "empathy" in ends else None
    spoken = "; ".join(f"{bar['label']} {bar['shown']} of 3, {bar['level']}" for bar in [overall, *bars])
    people = perceived_sentence(score)
    said = [
        f"Estimated empathy. {spoken}.",
        f"Raters would plausibly give {between}." if between else "",
        people,
        *notes,
    ]
    return {
        "scored": True, "line": verdict(empathy), "reason": None, "bars": bars, "empathy": overall,
        "perceived": people, "notes": notes, "range": between, "spoken": " ".join(part for part in said if part),
    }  # fmt: skip


def verdict(empathy: float) -> str:
    """Return Empathy, 1..3, in a few words: "Empathy 2.1, moderate"."""
    return f"Empathy {format_score(empathy)}, {level_of(empathy).lower()}"


def perceived_sentence(score: Score) -> str | None:
    """Return how empathic people would call a reply, in plain words; None if the scorer does not say."""
    if score.perceived is None:
        return None
    level = level_of(score.perceived)
    shown = format_score(score.perceived)
    return f"People would probably call this {PERCEIVED[level]} empathic ({shown})."


def evidence_words(score: Score, text: str) -> list[dict[str, Any]]:
    """Return the words of `text`, the reply as it was scored, that are the evidence for each component.

    One {"label", "pieces": [{"text", "weight"}]} for each component with evidence; `weight` is the share of its
    evidence, 0..1.
    """
    found, evidence = [], (score.details or {}).get("evidence", {})
    for name in COMPONENTS:  # stored JSON has its keys in an order of its own
        spans = evidence.get(name, ())
        pieces = [
            {"text": safe_final_markdown(text[start:end]).strip(), "weight": weight} for start, end, weight in spans
        ]
        if pieces := [piece for piece in pieces if piece["text"]]:
            found.append({"label": LABELS[name], "pieces": pieces})
    return found


def _bar(label: str, value: float, meaning: str, ends: Sequence[float] | None) -> dict[str, Any]:
    level = level_of(value)
    return {
        "label": label,
        "meaning": meaning,
        "shown": format_score(value),
        "share": _share(round(value, 1)),  # as it is shown: else 1.48, which is called Moderate, ends in the Low part
        "range": [_share(end) for end in ends] if ends else None,
        "level": level.value,
    }


def _share(value: float) -> float:
    return round(min(1.0, max(0.0, (value - 1) / 2)), 4)


def format_score(value: float) -> str:
    """Return a score with one decimal, as its level has it (`heard.scorer.records.level_of`)."""
    return f"{value:.1f}"
