"""Who counts towards a study's quotas and balance: who has finished, and who may be about to. Inside a transaction of
the caller, which has locked the study.

Somebody who has begun and gone away does not hold a place for ever, and neither does anybody who was screened out or
excluded: others are taken in their stead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Select, case, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.exclusions import excluded
from heard.db.study_tables import BallotRow, EnrolmentRow, VoteRow

Counts = Mapping[str | None, int]
"""Numbers by condition."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The ballots drawn so far in a survey."""

    ballots: Mapping[tuple[str, str | None], int] = field(default_factory=dict)
    """Every one, by item and condition: the number of the next order in the balanced design."""
    counting: Mapping[str, int] = field(default_factory=dict)
    """Those of people who count, by item: the items with the fewest come next."""


async def people_counts(session: AsyncSession, study_id: str, active_since: datetime | None) -> Counts:
    """Return the numbers of people who count, by condition; without `active_since` everybody who has begun is about to
    finish."""
    who = _counting(study_id, active_since).with_only_columns(EnrolmentRow.condition, func.count())
    rows = await session.execute(who.group_by(EnrolmentRow.condition))
    return {condition: number for condition, number in rows}


async def drawn(session: AsyncSession, study_id: str, active_since: datetime | None) -> Drawn:
    """Return the ballots drawn so far, in one pass."""
    counts = BallotRow.participant_id.in_(_counting(study_id, active_since))
    rows = await session.execute(
        select(BallotRow.item_id, BallotRow.condition, func.count(), func.sum(case((counts, 1), else_=0)))
        .where(BallotRow.study_id == study_id, BallotRow.item_id.is_not(None))
        .group_by(BallotRow.item_id, BallotRow.condition)
    )
    ballots: dict[tuple[str, str | None], int] = {}
    counting: dict[str, int] = {}
    for item_id, condition, number, of_counting in rows:
        if item_id is not None:
            ballots[item_id, condition] = number
            counting[item_id] = counting.get(item_id, 0) + int(of_counting)
    return Drawn(ballots, counting)


async def screen_out(session: AsyncSession, study_id: str, participant_id: str, at: datetime) -> None:
    """Note that a person was screened out, unless they have finished or it is noted."""
    own = (EnrolmentRow.study_id == study_id) & (EnrolmentRow.participant_id == participant_id)
    open_still = EnrolmentRow.completed_at.is_(None) & EnrolmentRow.screened_out_at.is_(None)
    await session.execute(update(EnrolmentRow).where(own, open_still).values(screened_out_at=at))


def _counting(study_id: str, active_since: datetime | None) -> Select[Any]:
    """Return a query of the ids of the people who count."""
    under_way: Any = EnrolmentRow.screened_out_at.is_(None)
    if active_since is not None:
        voted = select(VoteRow.ballot_id).where(
            VoteRow.participant_id == EnrolmentRow.participant_id,
            VoteRow.study_id == EnrolmentRow.study_id,
            VoteRow.voted_at >= active_since,
        )
        under_way &= or_(
            EnrolmentRow.started_at >= active_since, EnrolmentRow.resumed_at >= active_since, voted.exists()
        )
    return select(EnrolmentRow.participant_id).where(
        EnrolmentRow.study_id == study_id,
        or_(EnrolmentRow.completed_at.is_not(None), under_way),
        EnrolmentRow.participant_id.not_in(excluded(study_id)),
    )
