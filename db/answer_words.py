"""How long the answers on a study's ballots are."""

from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db.study_tables import AnswerRow, SlotRow
from heard.db.transaction import transact


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """Words of a study's answers, 0 or more."""

    of_items: dict[tuple[str, str], int] = field(default_factory=dict)
    """Of a survey's answers, by item and source."""
    of_ballots: dict[tuple[str, str], int] = field(default_factory=dict)
    """Of the answers of live ballots, by ballot and source."""


async def answer_words(engine: AsyncEngine, study_id: str) -> AnswerWords:
    """Return the lengths of the answers of a study; none for a study that does not exist. Raises StoreError."""

    async def work(session: AsyncSession) -> AnswerWords:
        items = await session.execute(
            select(AnswerRow.item_id, AnswerRow.source, AnswerRow.words).where(
                AnswerRow.study_id == study_id, AnswerRow.item_id.is_not(None)
            )
        )
        ballots = await session.execute(
            select(SlotRow.ballot_id, SlotRow.source, AnswerRow.words)
            .join(SlotRow, SlotRow.answer_id == AnswerRow.id)
            .where(AnswerRow.study_id == study_id, AnswerRow.item_id.is_(None))
        )
        return AnswerWords(
            {(item, source): words for item, source, words in items if item is not None},
            {(ballot, source): words for ballot, source, words in ballots},
        )

    return await transact(engine, work, write=False)
