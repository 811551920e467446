"""Results by item, by condition and by source."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heard.chat_app.results.agreement import least_value, most_value
from heard.chat_app.results.agreement_interval import Array
from heard.chat_app.results.intervals import wilson_share
from heard.chat_app.results.kept_rows import KeptRows, kept_rows
from heard.chat_app.results.records import Share, SourceShares, StudyResults, VoteFilter
from heard.chat_app.results.selection import select_votes, votes_for_research
from heard.chat_app.results.shares import shares
from heard.chat_app.results.study_results import compute_results
from heard.db.study_records import Choice, ItemRecord, asks_least
from heard.db.study_store import StudyStore
from heard.db.vote_reads import Cell, StudyVotes, read_votes

NO_ITEMS = "These are ballots in people's own conversations, each on a message of its own. There is no table by item."
NO_CONDITIONS = "This study has no conditions: all people are one group."
NO_VOTES = "No vote counts yet."


@dataclass(frozen=True, slots=True)
class ItemResults:
    """The votes on one item. Each is of another person."""

    number: int
    """In the order of the study's file, from 1."""
    message: str
    ballots: int
    """Votes that count; `ranked`, `same`, `none` and `skipped` add up to it."""
    ranked: int
    same: int
    none: int
    skipped: int
    sources: list[SourceShares]
    """In the order of `Breakdown.sources`, those that could be chosen on this item."""
    agree_most: Share
    """Pairs of people who said the same of it about most, of all pairs; without an interval."""
    agree_least: Share


@dataclass(frozen=True, slots=True)
class ConditionResults:
    """The results of the people in one condition."""

    name: str
    results: StudyResults


@dataclass(frozen=True, slots=True)
class Meeting:
    """How often one source was marked before another, of the ranked ballots that say which of the two is before."""

    other: str
    won: Share


@dataclass(frozen=True, slots=True)
class SourceResults:
    """One source's part in the ballots that were not skipped."""

    shares: SourceShares
    """As in `heard results`, whose intervals are those to report."""
    unmarked: int
    """Ballots on which it could be marked and was neither; with most and least they add up to `shares.most.of`."""
    not_votable: int
    """Ballots that showed it and did not let it be chosen."""
    items: int
    """Items on which it could be marked."""
    items_led: int
    """Of those, items on which no source has more marks as most, and it has one at least."""
    meetings: list[Meeting]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One of the three tables; `reason` says why there are no rows."""

    study: str
    by: str
    """"item", "condition" or "source"."""
    wanted: VoteFilter
    conditions: list[str]
    """All conditions among the votes."""
    sources: list[str]
    """All sources, the most often marked as most first: the order in every row."""
    reason: str | None
    items: list[ItemResults]
    """Those that people agree on most first, those that fewer than two judged last."""
    by_condition: list[ConditionResults]
    by_source: list[SourceResults]


KINDS = ("item", "condition", "source")


async def breakdown(studies: StudyStore, study_id: str, wanted: VoteFilter, by: str) -> Breakdown:
    """Return the table of a study by one of KINDS. Raises StoreError."""
    votes = await read_votes(studies.engine, study_id, rows=True, details=True, min_seconds=wanted.min_seconds)
    items = await studies.items(study_id, answers=False)
    return await asyncio.to_thread(compute_breakdown, study_id, votes, items, wanted, by)


def compute_breakdown(
    study_id: str, votes: StudyVotes, items: Sequence[ItemRecord], wanted: VoteFilter, by: str
) -> Breakdown:
    """Return the table from votes that were read with their rows."""
    whole = shares(select_votes(votes.counts, wanted)[0])
    kept = kept_rows(votes.rows, wanted)
    conditions = sorted({one.condition for one in votes_for_research(votes.counts) if one.condition is not None})
    found = Breakdown(
        study_id, by, wanted, conditions, [one.source for one in whole], None if len(kept.cell) else NO_VOTES, [], [],
        [],
    )  # fmt: skip
    if by == "condition":
        names = conditions if wanted.condition is None else [wanted.condition]
        rows = [
            ConditionResults(name, compute_results(study_id, votes, replace(wanted, condition=name))) for name in names
        ]
        return replace(found, by_condition=rows, reason=found.reason or (None if rows else NO_CONDITIONS))
    if not len(kept.cell):
        return found
    table = _ItemTable(kept, found.sources)
    if by == "source":
        return replace(found, by_source=[_source(one, kept, table) for one in whole])
    if (kept.item < 0).all():
        return replace(found, reason=NO_ITEMS)
    of_id = {item.id: item for item in items}
    rows_of_items = [table.results(place, of_id[votes.rows.items[place]]) for place in table.places]
    rows_of_items.sort(key=lambda one: (-(-1 if one.agree_most.share is None else one.agree_most.share), one.number))
    return replace(found, items=rows_of_items)


class _ItemTable:
    """The number of votes of each cell on each item."""

    def __init__(self, kept: KeptRows, sources: Sequence[str]) -> None:
        on_item = kept.item >= 0
        pairs, numbers = np.unique(np.stack([kept.item[on_item], kept.cell[on_item]]), axis=1, return_counts=True)
        self.sources = sources
        self.cells: dict[int, list[tuple[Cell, int]]] = {}
        for item, cell, number in zip(*pairs.tolist(), numbers.tolist(), strict=True):
            self.cells.setdefault(item, []).append((kept.cells[cell], number))
        self.places = list(self.cells)
        self.led: Counter[str] = Counter()
        self.on_items: Counter[str] = Counter()
        for place in self.places:
            shares = self._shares(place)
            top = max((one.most.count for one in shares), default=0)
            self.on_items.update(one.source for one in shares)
            self.led.update(one.source for one in shares if top and one.most.count == top)

    def results(self, place: int, item: ItemRecord) -> ItemResults:
        """Return the results on one item."""
        choices = Counter[Choice]()
        for cell, number in self.cells[place]:
            choices[cell.choice] += number
        return ItemResults(
            number=item.number,
            message=item.message,
            ballots=choices.total(),
            ranked=choices[Choice.RANKED],
            same=choices[Choice.SAME],
            none=choices[Choice.NONE],
            skipped=choices[Choice.SKIPPED],
            sources=self._shares(place),
            agree_most=self._pairs(place, most=True),
            agree_least=self._pairs(place, most=False),
        )

    def _shares(self, place: int) -> list[SourceShares]:
        shown, asked, most, least = (Counter[str]() for _ in range(4))
        for cell, number in self.cells[place]:
            if cell.choice is Choice.SKIPPED:
                continue
            for position in cell.votable:
                shown[cell.sources[position - 1]] += number
                asked[cell.sources[position - 1]] += number * asks_least(len(cell.votable))
            if cell.most is not None:
                most[cell.sources[cell.most - 1]] += number
            if cell.least is not None:
                least[cell.sources[cell.least - 1]] += number
        # Each vote on one item is of another person, so that Wilson's interval holds as it is.
        return [
            SourceShares(name, wilson_share(most[name], shown[name]), wilson_share(least[name], asked[name]))
            for name in self.sources
            if shown[name]
        ]

    def _pairs(self, place: int, *, most: bool) -> Share:
        said = Counter[str]()
        for cell, number in self.cells[place]:
            value = most_value(cell) if most else least_value(cell)
            if value is not None:
                said[value] += number
        equal = sum(number * (number - 1) // 2 for number in said.values())
        of = said.total() * (said.total() - 1) // 2
        return Share(equal, of, equal / of if of else None, None, None)


def _source(marks: SourceShares, kept: KeptRows, table: _ItemTable) -> SourceResults:
    name, not_votable = marks.source, 0
    won, met = Counter[str](), Counter[str]()
    for cell, number in _by_cell(kept.cell, kept.cells):
        if name not in cell.sources or cell.choice is Choice.SKIPPED:
            continue
        place = cell.sources.index(name) + 1
        if place not in cell.votable:
            not_votable += number
            continue
        for other in cell.votable:
            if other != place and (before := _before(cell, place, other)) is not None:
                met[cell.sources[other - 1]] += number
                won[cell.sources[other - 1]] += number * before
    return SourceResults(
        shares=marks,
        unmarked=marks.most.of - marks.most.count - marks.least.count,
        not_votable=not_votable,
        items=table.on_items[name],
        items_led=table.led[name],
        meetings=[
            Meeting(other, Share(won[other], met[other], won[other] / met[other] if met[other] else None, None, None))
            for other in table.sources
            if other != name
        ],
    )


def _by_cell(cell: Array, cells: Sequence[Cell]) -> list[tuple[Cell, int]]:
    numbers = np.bincount(cell, minlength=len(cells))
    return [(one, int(number)) for one, number in zip(cells, numbers, strict=True) if number]


def _before(cell: Cell, place: int, other: int) -> bool | None:
    """Return whether the vote puts the answer at `place` before the other; None if it does not say."""
    if cell.choice is not Choice.RANKED:
        return None
    if place == cell.most or other == cell.least:
        return True
    return False if other == cell.most or place == cell.least else None
