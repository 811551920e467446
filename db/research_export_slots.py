"""The slots of many ballots as columns, for a research export.

Reading five rows of `slot` for each of a million ballots takes longer than everything else together. A vote holds the
sources in their order, and an item has one answer of each source, which come from a small table. Where that does not
suffice (a live ballot, one without a vote, an answer that could not be chosen) `slot` is read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from heard.db.study_records import LETTERS
from heard.db.study_tables import AnswerRow, SlotRow

CACHE_SIZE = 50_000
"""Most cached orders and items; then the cache is cleared."""
IDS = 5000
"""Ids in one statement."""

Slots = tuple[Any, ...]
"""Answer id, votable and reason of A, then of B, and so on; None where there is no such slot."""
NAMES = [f"{name}_{letter}" for letter in LETTERS for name in ("answer_id", "votable", "not_votable_because")]


@dataclass(frozen=True, slots=True)
class Arrangements:
    """The distinct arrangements of answers: many ballots of a survey have the same."""

    rows: list[int]
    """For each ballot its row in `columns`, from 0."""
    columns: dict[str, Sequence[Any]]
    """The columns NAMES, with one row for each arrangement."""


class ExportSlots:
    """Reads the slots of batch after batch in one transaction. Raises SQLAlchemy's errors."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._orders: dict[tuple[str, str] | None, Slots] = {}
        self._answers: dict[str, dict[str, str]] = {}

    async def arrangements(self, batch: Mapping[str, Sequence[Any]]) -> Arrangements:
        """Return the arrangements of answers on these ballots."""
        ballots = batch["ballot_id"]
        keys = [
            (item, sources) if message is None and sources is not None and not unvotable else None
            for message, item, sources, unvotable in zip(
                batch["message_id"], batch["item_id"], batch["sources"], batch["unvotable"], strict=True
            )
        ]
        await self._cache_orders({key for key in keys if key is not None})
        cached = self._orders
        missing = [ballot for ballot, key in zip(ballots, keys, strict=True) if key not in cached]
        read = await self._read(missing)
        rows: dict[Any, int] = {}
        of_ballots = [
            rows.setdefault(key if key in cached else ballot, len(rows))
            for ballot, key in zip(ballots, keys, strict=True)
        ]
        slots = [read[key] if isinstance(key, str) else cached[key] for key in rows]
        return Arrangements(of_ballots, dict(zip(NAMES, zip(*slots, strict=True), strict=True)))

    async def _cache_orders(self, keys: set[tuple[str, str]]) -> None:
        """Cache the slots for each new (item, sources)."""
        new = keys - self._orders.keys()
        if len(self._orders) + len(new) > CACHE_SIZE:
            self._orders, self._answers, new = {}, {}, keys
        items = sorted({item for item, _ in new} - self._answers.keys())
        for start in range(0, len(items), IDS):
            some = items[start : start + IDS]
            query = select(AnswerRow.item_id, AnswerRow.source, AnswerRow.id).where(AnswerRow.item_id.in_(some))
            for item, source, answer in await self._connection.execute(query):
                if item is not None:
                    self._answers.setdefault(item, {})[source] = answer
        for key in new:
            answers = self._answers.get(key[0], {})
            order = [answers.get(source) for source in json.loads(key[1])]
            if None not in order:  # else its slots are read
                self._orders[key] = _padded([(answer, True, None) for answer in order])

    async def _read(self, ballots: Sequence[str]) -> dict[str, Slots]:
        found: dict[str, list[tuple[Any, ...]]] = {ballot: [] for ballot in ballots}
        for start in range(0, len(ballots), IDS):
            query = (
                select(SlotRow.ballot_id, SlotRow.position, SlotRow.answer_id, SlotRow.votable, SlotRow.reason)
                .where(SlotRow.ballot_id.in_(ballots[start : start + IDS]))
                .order_by(SlotRow.ballot_id, SlotRow.position)
            )
            for ballot, position, *slot in await self._connection.execute(query):
                slots = found[ballot]
                slots += [(None, None, None)] * (position - 1 - len(slots))
                slots.append(tuple(slot))
        return {ballot: _padded(slots) for ballot, slots in found.items()}


def _padded(slots: Sequence[tuple[Any, ...]]) -> Slots:
    """Return slots as one flat tuple, padded with None for every letter."""
    return sum([*slots, *[(None, None, None)] * (len(LETTERS) - len(slots))], ())
