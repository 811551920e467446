"""Which votes count by default, and what became of every other one.

A ballot on which any answer gave its source away is left out as a whole: whoever recognised one author judged all the
others differently too, so that dropping the one answer would keep comparisons that were not blind.
"""

from collections import Counter
from collections.abc import Mapping

from heard.chat_app.results.records import Counted, Wanted
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell, VoteCounts

Cells = Mapping[Cell, int]


def select(counts: VoteCounts, wanted: Wanted) -> tuple[Cells, Counted]:
    """The votes that count, by cell, and where all rows went."""
    rest = Counter(counts.everybody)
    rows = rest.total()
    rest.subtract(counts.refusing)
    left: Counter[str] = Counter(no_consent=sum(counts.refusing.values()))
    kept: dict[Cell, int] = {}
    for cell, allowed in rest.items():
        failed = counts.failing.get(cell, 0)
        reason = why_not(cell, wanted)
        if reason in ("attention_items", "other_conditions"):
            left[reason] += allowed
            continue
        if wanted.passed_attention:
            left["failed_attention"] += failed
            allowed -= failed
        if reason is not None:
            left[reason] += allowed
        elif allowed:
            kept[cell] = allowed
    by_choice: Counter[str] = Counter()
    for cell, number in kept.items():
        by_choice[cell.choice.value] += number
    return kept, Counted(
        rows=rows,
        kept=by_choice.total(),
        **{choice.value: by_choice[choice.value] for choice in Choice},
        **{reason: left[reason] for reason in REASONS},
    )


REASONS = ("no_consent", "attention_items", "other_conditions", "failed_attention", "leaks")
"""Why votes are left out: fields of Counted, in their order."""


def why_not(cell: Cell, wanted: Wanted) -> str | None:
    """Why votes of this cell are left out, whoever cast them; None when they count."""
    if cell.attention is not None:
        return "attention_items"
    if wanted.condition is not None and cell.condition != wanted.condition:
        return "other_conditions"
    if cell.leaks and not wanted.with_leaks:
        return "leaks"
    return None


def allowed(counts: VoteCounts) -> Cells:
    """Votes of everybody who allows research, by cell."""
    rest = Counter(counts.everybody)
    rest.subtract(counts.refusing)
    return +rest
