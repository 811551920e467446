"""Flags: cases that people marked on the scorer's page, for research."""

import uuid
from dataclasses import fields

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.errors import StoreDenied, StoreGone
from heard.db.records import FlagRecord, ScoreRecord
from heard.db.tables import ConsentRow, FlagRow, ParticipantRow
from heard.db.text import clean_text

_SCORE = [field.name for field in fields(ScoreRecord)]


async def save_flag(session: AsyncSession, flag: FlagRecord) -> None:
    """Store a flag. The same texts flagged again, with the same head and encoder, get the new note and time.

    Raises StoreGone if the person has been erased, StoreDenied if their newest answer does not allow the chat: either
    can happen in another tab while the page is open.
    """
    # The lock also keeps two tabs of one person from adding the same row on PostgreSQL.
    if await session.get(ParticipantRow, flag.participant_id, with_for_update=True) is None:
        raise StoreGone("Your data here has been erased, so nothing was flagged. Open the first page to start anew.")
    answers = select(ConsentRow.chat).where(ConsentRow.participant_id == flag.participant_id)
    if not await session.scalar(answers.order_by(ConsentRow.id.desc()).limit(1)):
        raise StoreDenied("You have not allowed that anything is stored, so nothing was flagged.")
    row = await session.get(FlagRow, _flag_id(flag))
    if row is None:
        session.add(
            FlagRow(
                id=_flag_id(flag),
                participant_id=flag.participant_id,
                seeker=flag.seeker,
                reply=flag.reply,
                note=flag.note,
                created_at=flag.created_at,
                **{name: getattr(flag.score, name) for name in _SCORE},
            )
        )
    else:
        row.note, row.created_at = flag.note, flag.created_at


async def research_flags(session: AsyncSession) -> list[FlagRecord]:
    """Return the flags of all people whose newest answer allows chat and research, oldest first."""
    newest = select(func.max(ConsentRow.id)).group_by(ConsentRow.participant_id)
    rows = await session.scalars(
        select(FlagRow)
        .join(ConsentRow, ConsentRow.participant_id == FlagRow.participant_id)
        .where(ConsentRow.id.in_(newest), ConsentRow.chat, ConsentRow.research)
        .order_by(FlagRow.created_at, FlagRow.id)
    )
    return [_flag_record(row) for row in rows]


def _flag_id(flag: FlagRecord) -> str:
    """Return the id of one case of one person, so that a page loaded twice does not flag twice."""
    case = (flag.participant_id, flag.seeker, flag.reply, flag.score.head_sha256, flag.score.encoder_sha256)
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "\0".join(clean_text(part) for part in case)))


def _flag_record(row: FlagRow) -> FlagRecord:
    score = ScoreRecord(**{name: getattr(row, name) for name in _SCORE})
    return FlagRecord(row.participant_id, row.seeker, row.reply, row.note, score, row.created_at)
