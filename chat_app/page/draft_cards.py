"""The score card of a turn: the newest score with the drafts that led to it, while it runs and when it is stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from heard.chat_app.common.markdown import safe_final_markdown
from heard.chat_app.page.score_card import Score, card_props, format_score
from heard.chat_app.page.wording import AIMS
from heard.db.records import AskedBy, DraftRecord, DraftStatus
from heard.scorer.records import EmpathyScore, level_of

WITHHELD = (DraftStatus.CAUGHT, DraftStatus.EMPTY)
"""Drafts that nobody may read on the page."""


def live_props(
    scores: Mapping[int, EmpathyScore], texts: Mapping[int, str], guidance: str | None, *, rewriting: bool
) -> dict[str, Any]:
    """Return the card's properties while a turn runs: the newest score, and the drafts so far.

    `scores` and `texts` are by draft number, `guidance` is the component that a running rewrite aims at.
    """
    newest = max(scores)
    drafts = [_draft_props(number, texts[number], scores[number], kept=number == newest) for number in sorted(scores)]
    note = f"Writing it again, {AIMS[guidance]}." if rewriting and guidance in AIMS else None
    return card_props(scores[newest], texts[newest], drafts, note=note)


def final_props(drafts: Sequence[DraftRecord]) -> dict[str, Any] | None:
    """Return the card's properties for a stored reply; None for a reply without a score entry (stopped or broken)."""
    kept = next((draft for draft in drafts if draft.kept), None)
    if kept is None or kept.score is None or kept.status is not DraftStatus.COMPLETE:
        return None
    shown = [draft for draft in drafts if draft.status not in WITHHELD]
    draft_props = [
        _draft_props(draft.number, draft.text, draft.score, kept=draft.kept, status=draft.status) for draft in shown
    ]
    at_once = _written_with(kept, shown)
    improved = kept is not at_once[0]
    note = None
    if len(at_once) > 1 and not improved:
        note = "It was written again, but the first draft scored best and was kept."
    return card_props(kept.score, kept.text, draft_props, note=note, improved=improved)


def _written_with(kept: DraftRecord, drafts: Sequence[DraftRecord]) -> list[DraftRecord]:
    """Return the drafts among which a policy chose the kept one: none that the person asked for before or after."""
    asked = [draft.number for draft in drafts if draft.asked_by == AskedBy.PERSON]
    first = max((number for number in asked if number <= kept.number), default=0)
    end = min((number for number in asked if number > kept.number), default=kept.number + len(drafts))
    return [draft for draft in drafts if first <= draft.number < end]


def _draft_props(
    number: int, text: str, score: Score | None, *, kept: bool, status: DraftStatus = DraftStatus.COMPLETE
) -> dict[str, Any]:
    if score is not None and score.empathy is not None:
        level = level_of(score.empathy)
        verdict = f"Empathy {format_score(score.empathy)}, {level.value}"
    elif status is not DraftStatus.COMPLETE:
        verdict = "broke off, not scored" if status is DraftStatus.BROKEN else "stopped, not scored"
    else:
        verdict = "not scored"
    return {"number": number, "text": safe_final_markdown(text), "verdict": verdict, "kept": kept}
