"""What the timers of over-reliance need: when a person has written lately, and the day of their last nudge."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.tables import ConversationRow, MessageRow, ParticipantRow


async def nudged_on(session: AsyncSession, participant_id: str) -> date | None:
    """Return the day (UTC) of a person's last nudge, or None."""
    return await session.scalar(select(ParticipantRow.nudged_on).where(ParticipantRow.id == participant_id))


async def take_nudge(session: AsyncSession, participant_id: str, today: date) -> bool:
    """Note that a person is nudged today. Returns False, and notes nothing, if they were already, or are not known."""
    open_today = or_(ParticipantRow.nudged_on.is_(None), ParticipantRow.nudged_on < today)
    done = await session.execute(
        update(ParticipantRow).where(ParticipantRow.id == participant_id, open_today).values(nudged_on=today)
    )
    return bool(done.rowcount)  # type: ignore[attr-defined]


async def written_since(session: AsyncSession, participant_id: str, since: datetime) -> Sequence[datetime]:
    """Return the times of a person's messages from `since` on, in any conversation, the newest first."""
    times = await session.scalars(
        select(MessageRow.created_at)
        .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
        .where(ConversationRow.participant_id == participant_id, MessageRow.created_at >= since)
        .order_by(MessageRow.created_at.desc())
    )
    return times.all()


def talked_without_break(times: Sequence[datetime], now: datetime, longest_break: timedelta) -> timedelta:
    """Return for how long somebody has written up to `now` with no pause of `longest_break` or more.

    `times` are those of their messages, the newest first.
    """
    begun = now
    for moment in times:
        if begun - moment >= longest_break:
            break
        begun = moment
    return now - begun


async def wrote_daily(session: AsyncSession, participant_id: str, today: date, days: int) -> bool:
    """Return whether a person has written on each of the last `days` days (UTC), up to and with today."""
    first = datetime.combine(today - timedelta(days=days - 1), time(), UTC)
    sqlite = session.get_bind().dialect.name == "sqlite"
    # Both databases keep UTC; PostgreSQL has to be told in which zone a day begins.
    day = func.date(MessageRow.created_at if sqlite else func.timezone("UTC", MessageRow.created_at))
    number = await session.scalar(
        select(func.count(day.distinct()))
        .select_from(MessageRow)
        .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
        .where(ConversationRow.participant_id == participant_id, MessageRow.created_at >= first)
    )
    return int(number or 0) >= days
