"""The score card of a turn: the newest score with the drafts that led to it, while it runs and when it is stored."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from heard.chat_app.common.markdown import safe_final_markdown
from heard.chat_app.page.score_card import Score, card_props, score_props
from heard.chat_app.page.wording import AIMS
from heard.db.records import AskedBy, DraftRecord, DraftStatus
from heard.scorer.records import EmpathyScore

WITHHELD = (DraftStatus.CAUGHT, DraftStatus.EMPTY)
"""Drafts that nobody may read on the page."""
REWRITTEN = "Rewritten; this draft scored highest"
REWRITTEN_LOWER = "Rewritten; this draft was kept"
"""Of a draft whose Empathy is not the highest: the policy watches another number, or none could be scored."""


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
    improved: str | Literal[False] = False
    note = None
    if kept is not at_once[0]:
        numbers = [draft.score.empathy for draft in at_once if draft.score and draft.score.empathy is not None]
        improved = REWRITTEN if numbers and kept.score.empathy == max(numbers) else REWRITTEN_LOWER
    elif len(at_once) > 1:
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
    if score is not None:
        said = score_props(score)["line"]
    elif status is not DraftStatus.COMPLETE:
        said = "broke off, not scored" if status is DraftStatus.BROKEN else "stopped, not scored"
    else:
        said = "not scored"
    return {"number": number, "text": safe_final_markdown(text), "verdict": said, "kept": kept}
