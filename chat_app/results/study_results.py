"""All results of one study from one snapshot of its votes."""

import asyncio

import numpy as np

from heard.chat_app.results.agreement import agreement, least_value, most_value
from heard.chat_app.results.position import position_bias
from heard.chat_app.results.records import StudyResults, VoteFilter
from heard.chat_app.results.selection import exclusion_reason, select_votes, votes_for_research
from heard.chat_app.results.shares import leaks, shares
from heard.chat_app.results.strengths import strengths
from heard.chat_app.results.trial import trial
from heard.db.study_store import StudyStore
from heard.db.vote_reads import StudyVotes, read_votes


async def study_results(studies: StudyStore, study_id: str, wanted: VoteFilter) -> StudyResults:
    """Read the votes and compute the results in a thread. Without votes the figures are None.

    Raises StoreError.
    """
    votes = await read_votes(studies.engine, study_id, rows=True, min_seconds=wanted.min_seconds)
    return await asyncio.to_thread(compute_results, study_id, votes, wanted)


def compute_results(study_id: str, votes: StudyVotes, wanted: VoteFilter) -> StudyResults:
    """Return all results of one study from votes that were read with their rows."""
    cells, counted = select_votes(votes.counts, wanted)
    research_votes = votes_for_research(votes.counts)
    rows = votes.rows
    cell, person, item = (np.array(column, dtype=int) for column in (rows.cell, rows.person, rows.item))
    counts = np.array([exclusion_reason(one, wanted) is None for one in rows.cells] or [False])
    keep = counts[cell] if len(cell) else np.zeros(0, dtype=bool)
    if wanted.passed_attention:
        keep &= ~np.isin(person, list(rows.failing))
    cell, person, item = cell[keep], person[keep], item[keep]
    return StudyResults(
        study=study_id,
        wanted=wanted,
        counted=counted,
        people=len(np.unique(person)),
        conditions=sorted({one.condition for one in research_votes if one.condition is not None}),
        shares=shares(cells),
        strengths=strengths(rows.cells, cell, person),
        agreement_most=agreement(rows.cells, cell, item, most_value, person),
        agreement_least=agreement(rows.cells, cell, item, least_value, person),
        position=position_bias(cells),
        leaks=leaks({one: number for one, number in research_votes.items() if one.attention is None}),
        trial=trial(votes.trial, wanted),
    )
