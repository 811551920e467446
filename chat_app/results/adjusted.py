"""Strengths of sources with covariates held equal: position, length of the answer, and time on the ballot.

A covariate changes a choice only if it differs within the ballot. The length of an answer does: its effect is one
coefficient, per doubling of the words, for most and, with the opposite sign, for least, as with a strength. The time of
a ballot is the same for all its answers and cancels: it can only change how strong the sources are, so its effect is an
interaction, one coefficient of each source per doubling of the seconds; the strengths are those at the mean of the
logarithm of time. Intervals are of the two-way cluster-robust variance (`two_way.py`).
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heard.chat_app.results.choice_rows import Array, Fit
from heard.chat_app.results.choices import Choices, Layout, Pattern, pattern_of, why_not_connected
from heard.chat_app.results.conditions import why_not_pooled
from heard.chat_app.results.covariates import COVARIATES, Design, words_of
from heard.chat_app.results.kept_rows import KeptRows, kept_rows
from heard.chat_app.results.records import VoteFilter
from heard.chat_app.results.strengths import ALL_TIES, NOTHING
from heard.chat_app.results.two_way import Clusters, two_way_variance
from heard.db.answer_words import AnswerWords, answer_words
from heard.db.study_records import Choice
from heard.db.study_store import StudyStore
from heard.db.vote_reads import StudyVotes, read_votes

ENDLESS_ALL = (
    "The strengths have no finite estimate: some source is marked in one direction only. More votes may settle it; the "
    "shares hold as they are."
)
WHY = {
    "position": "Some position always goes with the same outcome or the same sources",
    "length": "The answers of each source are equally long, or length always goes with the same outcome",
    "time": "All ballots took equally long, or time always goes with the same outcome",
}
CANNOT = "{why}, so its effect cannot be told apart; the strengths are not adjusted for {name}."
NO_WORDS = "{number} ballots are left out here, because the length of an answer on them is not known."


@dataclass(frozen=True, slots=True)
class Coefficient:
    """An estimate in log-odds with its interval of 95%; None where `Adjusted.interval_reason` says why."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class AdjustedStrength:
    """The strength of one source without and with the covariates, from the same ballots; the mean of all is 0."""

    source: str
    words: float | None
    """Mean words of its answers over the ballots; None if not known."""
    plain: Coefficient
    adjusted: Coefficient
    change: Coefficient
    """Adjusted minus plain."""
    by_time: Coefficient | None
    """With time: what a doubling of the seconds adds to its strength; the mean of all is 0."""


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Adjusted strengths, or the reason why there are none."""

    study: str
    wanted: VoteFilter
    conditions: list[str]
    """All conditions among the votes."""
    asked: list[str]
    """The covariates that were asked for, of COVARIATES."""
    adjusted_for: list[str]
    """Those that could be estimated."""
    reason: str | None
    notes: list[str]
    """Why some could not, and what is left out."""
    interval_reason: str | None
    length: Coefficient | None
    """What a doubling of an answer's words adds to the log-odds of being marked as most."""
    sources: list[AdjustedStrength]
    """The strongest after adjustment first."""
    ballots: int
    people: int


async def adjusted(studies: StudyStore, study_id: str, wanted: VoteFilter, names: Collection[str]) -> Adjusted:
    """Return the strengths adjusted for some of COVARIATES. Raises StoreError."""
    votes = await read_votes(studies.engine, study_id, rows=True, details=True, min_seconds=wanted.min_seconds)
    words = await answer_words(studies.engine, study_id)
    return await asyncio.to_thread(compute_adjusted, study_id, votes, words, wanted, names)


def compute_adjusted(
    study_id: str, votes: StudyVotes, words: AnswerWords, wanted: VoteFilter, names: Collection[str]
) -> Adjusted:
    """Return the same from votes that were read with their rows."""
    kept = kept_rows(votes.rows, wanted)
    compares = np.array([pattern_of(one) is not None for one in kept.cells] or [False])
    kept = kept.where(compares[kept.cell])
    asked = [name for name in COVARIATES if name in names]
    conditions = sorted({one.condition for one in votes.rows.cells if one.condition is not None})
    length, known = words_of(kept, votes.rows, words)
    notes = []
    if "length" in asked and not known.all():
        notes.append(NO_WORDS.format(number=int((~known).sum())))
        kept, length = kept.where(known), length[known]
    people = len(np.unique(kept.person))
    empty = Adjusted(
        study_id, wanted, conditions, asked, [], None, notes, None, None, [], len(kept.cell), people
    )  # fmt: skip
    cells = {kept.cells[number]: int(votes) for number, votes in enumerate(np.bincount(kept.cell)) if votes}
    not_pooled = None if wanted.pooled or wanted.condition is not None else why_not_pooled(cells)
    return replace(empty, reason=not_pooled) if not_pooled else _fitted(empty, kept, length)


def _fitted(empty: Adjusted, kept: KeptRows, words: Array) -> Adjusted:
    if reason := _why_not(kept):
        return replace(empty, reason=reason)
    design = Design(kept, words)
    plain = design.fit(())
    if isinstance(plain, str):
        return replace(empty, reason=ENDLESS_ALL)
    names, notes = list(empty.asked), list(empty.notes)
    full = design.fit(names)
    if isinstance(full, str):  # one by one, to say which of them; then the last of those that do not go together
        for name in [one for one in names if isinstance(design.fit((one,)), str)]:
            names.remove(name)
            notes.append(CANNOT.format(why=WHY[name], name=name))
        while isinstance(full := design.fit(names), str):
            name = names.pop()
            notes.append(CANNOT.format(why=WHY[name], name=name))
    return _record(replace(empty, adjusted_for=names, notes=notes), design, plain, full)


def _why_not(kept: KeptRows) -> str | None:
    """Return why the strengths without covariates have no finite estimate; None if they have one."""
    patterns: dict[Pattern, int] = {}
    for number, votes in enumerate(np.bincount(kept.cell, minlength=len(kept.cells)).tolist()):
        pattern = pattern_of(kept.cells[number]) if votes else None
        if pattern is not None:
            patterns[pattern] = patterns.get(pattern, 0) + votes
    sources = sorted({source for slots, *_ in patterns for source, _ in slots})
    if len(sources) < 2:
        return NOTHING
    if all(choice is Choice.SAME for _, choice, *_ in patterns):
        return ALL_TIES
    bare = Choices(list(patterns), Layout.of(sources, [], False))
    return why_not_connected(bare.wins(np.array(list(patterns.values()), dtype=float)), sources)


def _record(empty: Adjusted, design: Design, plain: Fit, full: Fit) -> Adjusted:
    clusters = Clusters.of(design.kept.person, design.kept.item)

    def coefficients(values: Array, influence: Array) -> list[Coefficient]:
        if clusters.reason is not None:
            return [Coefficient(float(value), None, None) for value in values]
        reach = clusters.quantile * np.sqrt(two_way_variance(influence, design.kept.person, design.kept.item))
        return [
            Coefficient(float(value), float(value - one), float(value + one))
            for value, one in zip(values, reach, strict=True)
        ]

    before, after = (design.strengths(one) for one in (plain, full))
    with_time = "time" in empty.adjusted_for
    slope = design.length(full, with_time=with_time) if "length" in empty.adjusted_for else None
    time: Sequence[Coefficient | None] = [None] * len(design.sources)
    if with_time:
        time = coefficients(*design.by_time(full))
    rows = [
        AdjustedStrength(source, design.mean_words(source), plain_one, adjusted_one, change, by_time)
        for source, plain_one, adjusted_one, change, by_time in zip(
            design.sources,
            coefficients(*before),
            coefficients(*after),
            coefficients(after[0] - before[0], after[1] - before[1]),
            time,
            strict=True,
        )
    ]
    rows.sort(key=lambda one: -one.adjusted.value)
    return replace(
        empty,
        sources=rows,
        length=coefficients(*slope)[0] if slope else None,
        interval_reason=clusters.reason,
    )
