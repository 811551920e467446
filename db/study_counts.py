"""How far a study is: answers by source, people by condition, ballots, votes and completions."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, literal, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db.column_types import JsonList
from heard.db.study_archive import count_archived
from heard.db.study_tables import AnswerRow, BallotRow, EnrolmentRow, ItemRow, VoteRow
from heard.db.transaction import transact


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """Numbers of rows, of everybody who has not been erased."""

    items: int
    attention: int
    """Of the items, those that ask about attention."""
    answers: Mapping[str, Mapping[str, int]]
    """By source, then by status."""
    leaks: Mapping[str, int]
    """By source: answers that give away who wrote them. Sources without any are absent."""
    people: Mapping[str | None, int]
    """By condition; None is no condition."""
    completed: Mapping[str | None, int]
    """Of the people, those who have reached the end."""
    screened_out: Mapping[str | None, int]
    """Of the people, those whom an answer to a question has sent away."""
    ballots: int
    votes: int
    archived: int = 0
    """Answers in the archive, which no import names now."""


async def study_counts(engine: AsyncEngine, study_id: str) -> StudyCounts:
    """Return the counts of one study, all from one snapshot; zeros for an unknown study. Raises StoreError."""

    async def work(session: AsyncSession) -> StudyCounts:
        items, attention = (
            await session.execute(
                select(func.count(), func.count(ItemRow.attention)).where(ItemRow.study_id == study_id)
            )
        ).one()
        answers: dict[str, dict[str, int]] = {}
        rows = await session.execute(
            select(AnswerRow.source, AnswerRow.status, func.count())
            .where(AnswerRow.study_id == study_id)
            .group_by(AnswerRow.source, AnswerRow.status)
            .order_by(AnswerRow.source)
        )
        for source, status, number in rows:
            answers.setdefault(source, {})[status] = number
        leaks = await session.execute(
            select(AnswerRow.source, func.count())
            .where(AnswerRow.study_id == study_id, AnswerRow.leak != literal([], JsonList()))
            .group_by(AnswerRow.source)
        )
        people = await session.execute(
            select(
                EnrolmentRow.condition,
                func.count(),
                func.count(EnrolmentRow.completed_at),
                func.count(EnrolmentRow.screened_out_at),
            )
            .where(EnrolmentRow.study_id == study_id)
            .group_by(EnrolmentRow.condition)
            .order_by(EnrolmentRow.condition)
        )
        enrolled = people.all()
        ballots = await session.scalar(select(func.count()).where(BallotRow.study_id == study_id))
        votes = await session.scalar(select(func.count()).where(VoteRow.study_id == study_id))
        return StudyCounts(
            items=items,
            attention=attention,
            answers=answers,
            leaks={source: number for source, number in leaks},
            people={condition: number for condition, number, _, _ in enrolled},
            completed={condition: completed for condition, _, completed, _ in enrolled},
            screened_out={condition: out for condition, _, _, out in enrolled if out},
            ballots=ballots or 0,
            votes=votes or 0,
            archived=await count_archived(session, study_id),
        )

    return await transact(engine, work, write=False)
