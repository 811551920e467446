"""All results of one study from one snapshot of its votes."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from heard.chat_app.results.agreement import agreement, least_value, most_value
from heard.chat_app.results.bootstrap import bootstrap
from heard.chat_app.results.conditions import why_not_pooled
from heard.chat_app.results.kept_rows import counting
from heard.chat_app.results.position import position_bias, with_position_intervals
from heard.chat_app.results.records import StudyResults, VoteFilter
from heard.chat_app.results.selection import Cells, select_votes, votes_for_research
from heard.chat_app.results.share_intervals import with_intervals
from heard.chat_app.results.shares import leaks, shares, with_leak_intervals
from heard.chat_app.results.strengths import strengths
from heard.chat_app.results.trial import trial
from heard.db.study_store import StudyStore
from heard.db.vote_reads import StudyVotes, read_votes


async def study_results(
    studies: StudyStore, study_id: str, wanted: VoteFilter, bootstrap_progress: Callable[[int], None] | None = None
) -> StudyResults:
    """Read the votes and compute the results in a thread. Without votes the figures are None.

    With `bootstrap_progress`, which is called with the number of samples done, the two-way bootstrap is computed too.
    Raises StoreError.
    """
    votes = await read_votes(studies.engine, study_id, rows=True, min_seconds=wanted.min_seconds)
    return await asyncio.to_thread(compute_results, study_id, votes, wanted, bootstrap_progress)


def compute_results(
    study_id: str,
    votes: StudyVotes,
    wanted: VoteFilter,
    bootstrap_progress: Callable[[int], None] | None = None,
) -> StudyResults:
    """Return all results of one study from votes that were read with their rows.

    Where people of different conditions had different sources, and neither one condition nor all of them together are
    asked for, the figures stand in `parts`, by condition, and those of all are None.
    """
    cells, counted = select_votes(votes.counts, wanted)
    research_votes = votes_for_research(votes.counts)
    rows = votes.rows
    cell, person, item = (np.array(column, dtype=int) for column in (rows.cell, rows.person, rows.item))
    keep = counting(rows, wanted)
    every = np.array([one.attention is None for one in rows.cells] or [False])
    every = every[cell] if len(cell) else np.zeros(0, dtype=bool)
    not_pooled = None if wanted.pooled or wanted.condition is not None else why_not_pooled(cells)
    people, conditions = len(np.unique(person[keep])), _conditions(research_votes)
    parts = []
    if not_pooled:
        parts = [
            compute_results(study_id, votes, replace(wanted, condition=name), bootstrap_progress) for name in conditions
        ]
        cells, keep = {}, np.zeros(len(keep), dtype=bool)
    not_items = {one: number for one, number in research_votes.items() if one.attention is None}
    leaks_found = with_leak_intervals(leaks(not_items), rows.cells, (cell[every], person[every], item[every]))
    cell, person, item = cell[keep], person[keep], item[keep]
    shares_found, differences = with_intervals(shares(cells), rows.cells, cell, person, item)
    fitted = strengths(rows.cells, cell, person, item)
    return StudyResults(
        study=study_id,
        wanted=wanted,
        counted=counted,
        people=people,
        conditions=conditions,
        shares=shares_found,
        strengths=replace(fitted, reason=not_pooled) if not_pooled else fitted,
        agreement_most=agreement(rows.cells, cell, item, most_value, person),
        agreement_least=agreement(rows.cells, cell, item, least_value, person),
        position=with_position_intervals(position_bias(cells), rows.cells, (cell, person, item)),
        leaks=leaks_found,
        trial=[] if not_pooled else trial(votes.trial, wanted),
        differences=differences,
        bootstrap=(
            bootstrap(rows.cells, cell, person, item, progress=bootstrap_progress)
            if bootstrap_progress and not not_pooled
            else None
        ),
        not_pooled=not_pooled,
        parts=parts,
    )


def _conditions(cells: Cells) -> list[str]:
    return sorted({one.condition for one in cells if one.condition is not None})
