"""The randomised trial of auto-improve: its effect on votes, by intention to treat.

Answers are compared by their assignment, whether or not they came out low and were rewritten: comparing the rewritten
ones with the rest would compare replies that started low with replies that did not.
"""

from collections import Counter
from collections.abc import Sequence

from heard.chat_app.results.intervals import newcombe_difference, wilson_share
from heard.chat_app.results.records import TrialArm, VoteFilter
from heard.db.vote_reads import TrialCount


def trial(counts: Sequence[TrialCount], wanted: VoteFilter) -> list[TrialArm]:
    """Return the effect on the share of most, for all sources together and for each; empty without a trial."""
    showings: Counter[tuple[str | None, bool]] = Counter()
    marked: Counter[tuple[str | None, bool]] = Counter()
    for one in counts:
        if (
            (one.leak and not wanted.with_leaks)
            or (one.failing and wanted.passed_attention)
            or (wanted.condition is not None and one.condition != wanted.condition)
        ):
            continue
        for source in (None, one.source):
            showings[source, one.assigned] += one.showings
            marked[source, one.assigned] += one.showings * one.most
    names = sorted({source for source, _ in showings if source is not None})
    return [_arm(source, showings, marked) for source in ([None, *names] if showings else [])]


def _arm(
    source: str | None, showings: Counter[tuple[str | None, bool]], marked: Counter[tuple[str | None, bool]]
) -> TrialArm:
    assigned, control = (wilson_share(marked[source, arm], showings[source, arm]) for arm in (True, False))
    gap, low, high = newcombe_difference(assigned, control) or (None, None, None)
    return TrialArm(source, assigned, control, gap, low, high)
