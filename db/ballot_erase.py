"""Erase a person's ballots: votes with their history, slots, and the answers that were generated for them alone."""

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.study_tables import AnswerRow, BallotRow, SlotRow, VoteChangeRow, VoteRow

BATCH = 500
"""Ids in one statement; SQLite allows some thousands at most."""


async def delete_ballot_rows(session: AsyncSession, condition: ColumnElement[bool]) -> dict[str, int]:
    """Delete the ballots that meet the condition and all that refers to them; a survey's items and answers are kept.

    Returns the number of rows by table.
    """
    ballots = select(BallotRow.id).where(condition)
    live = select(AnswerRow.id).join(SlotRow, SlotRow.answer_id == AnswerRow.id)
    answers = list(await session.scalars(live.where(SlotRow.ballot_id.in_(ballots), AnswerRow.item_id.is_(None))))
    removed = {}
    for row, rule in (
        (VoteChangeRow, VoteChangeRow.ballot_id.in_(ballots)),
        (VoteRow, VoteRow.ballot_id.in_(ballots)),
        (SlotRow, SlotRow.ballot_id.in_(ballots)),
        (BallotRow, condition),
    ):
        result = await session.execute(delete(row).where(rule), execution_options={"synchronize_session": False})
        removed[row.__tablename__] = int(result.rowcount)  # type: ignore[attr-defined]
    removed["answer"] = 0
    for start in range(0, len(answers), BATCH):
        batch = AnswerRow.id.in_(answers[start : start + BATCH])
        result = await session.execute(delete(AnswerRow).where(batch), execution_options={"synchronize_session": False})
        removed["answer"] += int(result.rowcount)  # type: ignore[attr-defined]
    return removed
