"""All results of one study from one snapshot of its votes."""

import asyncio

import numpy as np

from heard.chat_app.results.agreement import agreement, least_of, most_of
from heard.chat_app.results.position import position_bias
from heard.chat_app.results.records import StudyResults, Wanted
from heard.chat_app.results.selection import allowed, select, why_not
from heard.chat_app.results.shares import leaks, shares
from heard.chat_app.results.strengths import strengths
from heard.chat_app.results.trial import trial
from heard.db.study_store import StudyStore
from heard.db.vote_reads import StudyVotes, read_votes


async def study_results(studies: StudyStore, study_id: str, wanted: Wanted) -> StudyResults:
    """Read and compute; the computing runs in a thread. A study without votes gives figures that are None.

    Raises StoreError.
    """
    votes = await read_votes(studies.engine, study_id, rows=True)
    return await asyncio.to_thread(results_of, study_id, votes, wanted)


def results_of(study_id: str, votes: StudyVotes, wanted: Wanted) -> StudyResults:
    """Everything about one study, of votes that were read with their rows."""
    cells, counted = select(votes.counts, wanted)
    shown = allowed(votes.counts)
    rows = votes.rows
    cell, person, item = (np.array(column, dtype=int) for column in (rows.cell, rows.person, rows.item))
    counts = np.array([why_not(one, wanted) is None for one in rows.cells] or [False])
    keep = counts[cell] if len(cell) else np.zeros(0, dtype=bool)
    if wanted.passed_attention:
        keep &= ~np.isin(person, list(rows.failing))
    cell, person, item = cell[keep], person[keep], item[keep]
    return StudyResults(
        study=study_id,
        wanted=wanted,
        counted=counted,
        people=len(np.unique(person)),
        conditions=sorted({one.condition for one in shown if one.condition is not None}),
        shares=shares(cells),
        strengths=strengths(rows.cells, cell, person),
        agreement_most=agreement(rows.cells, cell, item, most_of),
        agreement_least=agreement(rows.cells, cell, item, least_of),
        position=position_bias(cells),
        leaks=leaks({one: number for one, number in shown.items() if one.attention is None}),
        trial=trial(votes.trial, wanted),
    )
