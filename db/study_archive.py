"""Answers that an import no longer names, put aside instead of deleted: each of them was paid for, with money or time.

An answer comes back when its item and its source are named again, with the same arm.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.study_tables import ArchivedAnswerRow

Values = dict[str, Any]
"""The values of an answer's row by column."""


def recipe(definition: Mapping[str, Any], source: str) -> str:
    """Return all that a study's file says of how a source writes, as JSON; "" for answers that come with the items."""
    arm = next((arm for arm in definition.get("arms", ()) if arm.get("name") == source), None)
    if arm is None:
        return ""
    how = {"auto_improve": definition.get("auto_improve", "off"), "guard": definition.get("guard", True)}
    return json.dumps({**arm, **how}, sort_keys=True)


class Archive:
    """The archive of one study, while it is imported."""

    def __init__(self, session: AsyncSession, study_id: str, rows: list[ArchivedAnswerRow]) -> None:
        self._session, self._study_id = session, study_id
        self._rows = {(row.item_id, row.source, row.recipe): row for row in rows}

    @classmethod
    async def load(cls, session: AsyncSession, study_id: str) -> "Archive":
        """Read the archive of a study."""
        found = await session.scalars(select(ArchivedAnswerRow).where(ArchivedAnswerRow.study_id == study_id))
        return cls(session, study_id, list(found))

    async def take(self, item_id: str, source: str, how: str, fits: Callable[[Values], bool]) -> Values | None:
        """Take the answer of a source to an item, written by this `recipe`, out of the archive; None without one that
        `fits`. The id of an item stands for its message."""
        row = self._rows.get((item_id, source, how))
        if row is None or not fits(row.answer):
            return None
        del self._rows[item_id, source, how]
        await self._session.delete(row)
        return {**row.answer, "created_at": datetime.fromisoformat(row.answer["created_at"])}

    async def put(self, values: Values, how: str) -> None:
        """Put an answer into the archive; the newest of one recipe takes the place of an earlier one."""
        key = (values["item_id"], values["source"], how)
        if (earlier := self._rows.pop(key, None)) is not None:
            await self._session.delete(earlier)
            await self._session.flush()
        row = ArchivedAnswerRow(
            answer_id=values["id"],
            study_id=self._study_id,
            item_id=values["item_id"],
            source=values["source"],
            recipe=how,
            answer={**values, "created_at": values["created_at"].isoformat()},
            archived_at=datetime.now(UTC),
        )
        self._session.add(row)
        self._rows[key] = row


async def count_archived(session: AsyncSession, study_id: str) -> int:
    """Return how many answers of a study are in the archive."""
    query = select(func.count()).where(ArchivedAnswerRow.study_id == study_id)
    return int(await session.scalar(query) or 0)
