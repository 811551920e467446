"""Draw, finish and read ballots, inside a transaction of the caller. Votes are in `voting.py`."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload, selectinload

from heard.db.errors import StoreGone
from heard.db.study_records import (
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    VoteRecord,
)
from heard.db.study_rows import answer_values, ballot_record, ballot_row, vote_record
from heard.db.study_tables import AnswerRow, BallotRow, SlotRow
from heard.db.tables import ParticipantRow
from heard.sentences import sentence

ERASED = sentence("Your data here has been erased, so nothing was taken. Open the first page to start anew.")

WAITING = sentence("It has not arrived yet.")
FAILED = sentence("This answer did not arrive.")
STOPPED = sentence("This answer was stopped.")
CLOSED = sentence("Fewer than two answers arrived, so there is nothing to compare. This ballot is not counted.")


async def draw(session: AsyncSession, ballots: Sequence[BallotRecord], answers: Sequence[AnswerRecord]) -> None:
    """Store ballots whose order is decided, and their PENDING live answers."""
    session.add_all(AnswerRow(**answer_values(answer)) for answer in answers)
    await session.flush()
    session.add_all(ballot_row(ballot) for ballot in ballots)


async def finish(session: AsyncSession, ballot_id: str, answers: Sequence[AnswerRecord]) -> BallotRecord:
    """Store the outcome of answers of a live ballot, and which may be voted for. Returns the ballot as it is now.

    Answers may come all at once or one after the other. Once there is a vote nothing changes any more. Raises StoreGone
    if the ballot has been erased meanwhile, ValueError for an answer of another ballot.
    """
    owner = await session.scalar(select(BallotRow.participant_id).where(BallotRow.id == ballot_id))
    if owner is None or await session.get(ParticipantRow, owner, with_for_update=True) is None:
        raise StoreGone
    row = await _ballot(session, BallotRow.id == ballot_id, lock=True)
    if row is None:
        raise StoreGone
    by_id = {answer.id: answer for answer in answers}
    if not set(by_id) <= {slot.answer_id for slot in row.slots}:
        raise ValueError("an answer that is not on this ballot")
    if row.vote is not None:
        return ballot_record(row)
    for answer in answers:
        await session.execute(update(AnswerRow).where(AnswerRow.id == answer.id).values(**answer_values(answer)))
    for slot in row.slots:
        answer_or_none = by_id.get(slot.answer_id)
        if answer_or_none is not None:
            slot.votable, slot.reason = votability(answer_or_none.status)
    _close_or_open(row, complete=not await _has_pending(session, ballot_id))
    await session.flush()
    return ballot_record(row)


def _close_or_open(row: BallotRow, *, complete: bool) -> None:
    """Close a complete ballot with fewer than two answers to compare; open it again if they came after all.

    They can: a second process that starts counts answers as lost that the first one is still generating.
    """
    enough = sum(slot.votable for slot in row.slots) >= 2
    if complete and not enough:
        row.closed_reason = row.closed_reason or CLOSED
    elif enough and row.closed_reason == CLOSED:
        row.closed_reason = None


async def _has_pending(session: AsyncSession, ballot_id: str) -> bool:
    """Return whether a live ballot has a PENDING answer."""
    pending = (
        select(AnswerRow.id)
        .join(SlotRow, SlotRow.answer_id == AnswerRow.id)
        .where(
            SlotRow.ballot_id == ballot_id,
            AnswerRow.status == AnswerStatus.PENDING.value,
            AnswerRow.item_id.is_(None),
        )
    )
    return await session.scalar(pending.limit(1)) is not None


def votability(status: AnswerStatus) -> tuple[bool, str | None]:
    """Return whether an answer with this status may be voted for, and if not the reason in words."""
    if status is AnswerStatus.COMPLETE:
        return True, None
    reasons = {AnswerStatus.PENDING: WAITING, AnswerStatus.STOPPED: STOPPED}
    return False, reasons.get(status, FAILED)


async def mark_interrupted(session: AsyncSession) -> int:
    """At start-up: mark live answers still PENDING as interrupted, and close ballots with fewer than two answers.

    Returns the number of such answers.
    """
    done = await session.scalars(
        update(AnswerRow)
        .where(AnswerRow.status == AnswerStatus.PENDING.value, AnswerRow.item_id.is_(None))
        .values(status=AnswerStatus.INTERRUPTED.value)
        .returning(AnswerRow.id)
    )
    ids = set(done)
    if ids:
        pending = select(SlotRow.ballot_id).where(SlotRow.answer_id.in_(ids))
        for row in await session.scalars(
            select(BallotRow).where(BallotRow.id.in_(pending)).options(selectinload(BallotRow.slots))
        ):
            for slot in row.slots:
                if slot.answer_id in ids:
                    slot.votable, slot.reason = False, FAILED
            _close_or_open(row, complete=True)
    return len(ids)


async def _ballot(session: AsyncSession, condition: ColumnElement[bool], *, lock: bool = False) -> BallotRow | None:
    query = select(BallotRow).where(condition)
    if lock:
        query = query.with_for_update(of=BallotRow)
    found: BallotRow | None = await session.scalar(
        query.options(selectinload(BallotRow.slots), joinedload(BallotRow.vote)).limit(1)
    )
    return found


async def ballot_with_vote(
    session: AsyncSession, condition: ColumnElement[bool]
) -> tuple[BallotRecord, VoteRecord | None] | None:
    """Return the ballot that meets the condition, with its vote or None; None if there is no such ballot."""
    row = await _ballot(session, condition)
    return None if row is None else (ballot_record(row), vote_record(row.vote) if row.vote else None)


async def ballots_with_votes(
    session: AsyncSession, condition: ColumnElement[bool]
) -> list[tuple[BallotRecord, VoteRecord | None]]:
    """Return every ballot that meets the condition with its vote or None, in the order of drawing."""
    rows = await session.scalars(
        select(BallotRow)
        .where(condition)
        .order_by(BallotRow.participant_id, BallotRow.study_id, BallotRow.number)
        .options(selectinload(BallotRow.slots), selectinload(BallotRow.vote))
    )
    return [(ballot_record(row), vote_record(row.vote) if row.vote else None) for row in rows]
