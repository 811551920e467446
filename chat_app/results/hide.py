"""Leave sources out of what is shown. No vote is left out with them: every figure is computed from all rows first."""

import re
from collections.abc import Collection
from dataclasses import replace

from heard.chat_app.results.records import StudyResults

WITH_HIDDEN = "The comparisons with a hidden source leave no finite estimate. Show all sources to read why."

NOT_POOLED_HIDDEN = (
    "People of different conditions had different sources to choose from, so the conditions are not taken together."
)


def sources_of(results: StudyResults) -> list[str]:
    """Return the names of all sources in the lists, sorted."""
    lists = (results.shares, results.leaks, results.strengths.sources)
    return sorted(
        {one.source for some in lists for one in some} | {one for part in results.parts for one in sources_of(part)}
    )


def hide(results: StudyResults, names: Collection[str]) -> StudyResults:
    """Return the results without these sources in the lists of shares, strengths, leaks and the trial.

    All other figures stay: numbers of votes, the strengths of the others (their mean is still 0 with the hidden ones),
    positions and agreement. Names that are no source hide nothing.
    """
    hidden = [name for name in sources_of(results) if name in names]
    fitted = results.strengths
    reason = fitted.reason or ""
    named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", reason) for name in hidden)
    return replace(
        results,
        hidden=hidden,
        shares=[one for one in results.shares if one.source not in hidden],
        strengths=replace(
            fitted,
            reason=NOT_POOLED_HIDDEN if named and results.not_pooled else WITH_HIDDEN if named else fitted.reason,
            sources=[one for one in fitted.sources if one.source not in hidden],
        ),
        leaks=[one for one in results.leaks if one.source not in hidden],
        trial=[arm for arm in results.trial if arm.source not in hidden],
        differences=[one for one in results.differences if not {one.first, one.second} & set(hidden)],
        bootstrap=results.bootstrap
        and replace(
            results.bootstrap, intervals=[one for one in results.bootstrap.intervals if one.source not in hidden]
        ),
        not_pooled=NOT_POOLED_HIDDEN if results.not_pooled and hidden else results.not_pooled,
        parts=[hide(part, names) for part in results.parts],
    )
