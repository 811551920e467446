"""Select the votes that are included, and count the excluded ones by reason.

A ballot on which any answer gave its source away is excluded as a whole: whoever recognised one author judged all the
others differently too, so that dropping the one answer would keep comparisons that were not blind.
"""

from collections import Counter
from collections.abc import Mapping

from heard.chat_app.results.records import InclusionCounts, VoteFilter
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell, VoteCounts

Cells = Mapping[Cell, int]


def select_votes(counts: VoteCounts, wanted: VoteFilter) -> tuple[Cells, InclusionCounts]:
    """Return the included votes by cell, and the numbers of included and excluded ones."""
    rest = Counter(counts.everybody)
    rows = rest.total() + counts.too_fast
    rest.subtract(counts.refusing)
    rest.subtract(counts.excluded)
    left: Counter[str] = Counter(
        no_consent=sum(counts.refusing.values()), excluded_people=sum(counts.excluded.values())
    )
    kept: dict[Cell, int] = {}
    for cell, number in rest.items():
        failed = counts.failing.get(cell, 0)
        reason = exclusion_reason(cell, wanted)
        if reason in ("attention_items", "other_conditions"):
            left[reason] += number
            continue
        if wanted.passed_attention:
            left["failed_attention"] += failed
            number -= failed
        if reason is not None:
            left[reason] += number
        elif number:
            kept[cell] = number
    by_choice: Counter[str] = Counter()
    for cell, votes in kept.items():
        by_choice[cell.choice.value] += votes
    return kept, InclusionCounts(
        rows=rows,
        kept=by_choice.total(),
        **{choice.value: by_choice[choice.value] for choice in Choice},
        **{reason: left[reason] for reason in EXCLUSION_REASONS},
        too_fast=counts.too_fast,
    )


EXCLUSION_REASONS = (
    "no_consent", "excluded_people", "attention_items", "other_conditions", "failed_attention", "leaks",
)  # fmt: skip
"""Fields of InclusionCounts with excluded votes, in their order."""


def exclusion_reason(cell: Cell, wanted: VoteFilter) -> str | None:
    """Return why votes of this cell are excluded, whoever cast them; None if they are included."""
    if cell.attention is not None:
        return "attention_items"
    if wanted.condition is not None and cell.condition != wanted.condition:
        return "other_conditions"
    if cell.leaks and not wanted.with_leaks:
        return "leaks"
    return None


def votes_for_research(counts: VoteCounts) -> Cells:
    """Return the votes of all people who allow research and are not excluded, by cell."""
    rest = Counter(counts.everybody)
    rest.subtract(counts.refusing)
    rest.subtract(counts.excluded)
    return +rest
