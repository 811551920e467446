"""Ballots and votes, each function inside a transaction of its caller: drawing, finishing, voting.

Who may do what is decided here, next to the rows, so that no route and no page can forget it.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload, selectinload

from db.errors import StoreGone, VoteRefused
from db.records import Outcome, ReplyRecord
from db.rows import reply_row
from db.study_records import (
    LETTERS,
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    Choice,
    StudyKind,
    VoteReceipt,
    VoteRecord,
)
from db.study_rows import VOTE, answer_values, ballot_record, ballot_row, vote_record
from db.study_tables import AnswerRow, BallotRow, EnrolmentRow, SlotRow, StudyRow, VoteChangeRow, VoteRow
from db.tables import ConsentRow, MessageRow, ParticipantRow, ReplyRow
from db.text import clean_text

NOT_THERE = "There is no such ballot any more. Reload the page to go on."
NOT_YOURS = "This ballot belongs to somebody else, so your vote was not taken. Reload the page to see your own."
NO_CONSENT = (
    "Your vote was not taken, because you have not agreed to take part in research, or have withdrawn. "
    "The first page lets you change that."
)
ERASED = "Your data here has been erased, so nothing was taken. Open the first page to start anew."
NOT_WHOLE = "The answers have not all arrived yet. Wait until they have, then choose."
NO_SUCH_TIME = "The time that the choice took could not be read. Reload the page and choose again."
NO_CHAT = "Your vote was not taken, because you have not agreed that anything is stored. The first page asks you."
FINAL = (
    "Your vote on this is stored already. It stays as it is, because this study tells after the vote who wrote what. "
    "Reload the page to go on."
)
NO_REASON = "This answer cannot be chosen. Choose another one."

WAITING = "It has not arrived yet."
FAILED = "This answer did not arrive."
STOPPED = "This answer was stopped."
MOST_SECONDS = 30 * 24 * 3600.0
"""Longest time from seeing a ballot to choosing; more is no measurement."""
CLOSED = "Fewer than two answers arrived, so there is nothing to compare. This ballot is not counted."


async def draw(session: AsyncSession, ballots: Sequence[BallotRecord], answers: Sequence[AnswerRecord]) -> None:
    """Write ballots whose order is decided, and the live answers that they will hold, still PENDING."""
    session.add_all(AnswerRow(**answer_values(answer)) for answer in answers)
    await session.flush()
    session.add_all(ballot_row(ballot) for ballot in ballots)


async def finish(session: AsyncSession, ballot_id: str, answers: Sequence[AnswerRecord]) -> BallotRecord:
    """Write how the answers of a live ballot came out, and what may be voted for; gives the ballot as it is now.

    Answers may come all at once or one after the other. Once there is a vote nothing changes any more: it judged what
    was there. Raises StoreGone when the ballot has been erased meanwhile, ValueError for an answer of another ballot.
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
            slot.votable, slot.reason = votable(answer_or_none.status)
    _close_or_open(row, whole=not await _waits(session, ballot_id))
    await session.flush()
    return ballot_record(row)


def _close_or_open(row: BallotRow, *, whole: bool) -> None:
    """Close a whole ballot with fewer than two answers to compare; open it again if they came after all.

    They can: a second process that starts takes answers for lost which the first one is still writing.
    """
    enough = sum(slot.votable for slot in row.slots) >= 2
    if whole and not enough:
        row.closed_reason = row.closed_reason or CLOSED
    elif enough and row.closed_reason == CLOSED:
        row.closed_reason = None


async def _waits(session: AsyncSession, ballot_id: str) -> bool:
    """Whether an answer of a live ballot is still to come."""
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


def votable(status: AnswerStatus) -> tuple[bool, str | None]:
    """Whether an answer with this status may be voted for, and the words that say why not."""
    if status is AnswerStatus.COMPLETE:
        return True, None
    reasons = {AnswerStatus.PENDING: WAITING, AnswerStatus.STOPPED: STOPPED}
    return False, reasons.get(status, FAILED)


async def interrupt(session: AsyncSession) -> int:
    """At start-up: live answers still PENDING never came. Closes ballots left with fewer than two.

    Gives the number of such answers.
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
            _close_or_open(row, whole=True)
    return len(ids)


async def vote(session: AsyncSession, cast: VoteRecord, reply: ReplyRecord | None) -> VoteReceipt:
    """Take a vote, and in a live study the reply that carries the conversation on, unless its message has one.

    A `request_id` that has been here already, be it before the vote was changed, and the same choice once more write
    nothing and give the receipt of what is stored. Another vote on the same ballot replaces the first, whose row goes
    to `vote_change`, unless the first has made the study reveal its sources: then it is refused.

    Raises VoteRefused with the sentence for the page; StoreGone when the ballot or the person has been erased;
    ValueError for a reply to another message.
    """
    cast = replace(cast, reason=None if cast.reason is None else clean_text(cast.reason))  # as it will be stored
    # The person's row first, as everywhere: two writers that lock in different orders would wait for each other.
    if await session.get(ParticipantRow, cast.participant_id, with_for_update=True) is None:
        raise StoreGone(ERASED)
    ballot = await _ballot(session, BallotRow.id == cast.ballot_id, lock=True)
    if ballot is None:
        raise StoreGone(NOT_THERE)
    if ballot.participant_id != cast.participant_id:
        raise VoteRefused(NOT_YOURS)
    study = await session.get_one(StudyRow, ballot.study_id)
    await _check_consent(session, cast.participant_id, StudyKind(study.kind))
    if ballot.vote is not None and await _seen(session, ballot.vote, cast):
        return VoteReceipt(ballot_record(ballot), vote_record(ballot.vote), ballot.vote.changes)
    if ballot.item_id is None and await _waits(session, ballot.id):
        raise VoteRefused(NOT_WHOLE)
    if fault := fault_of(cast, ballot_record(ballot)):
        raise VoteRefused(fault)
    if ballot.vote is not None and ballot.vote.choice != Choice.SKIPPED and study.definition.get("reveal", True):
        raise VoteRefused(FINAL)  # whoever knows the sources votes blind no more
    values = {name: getattr(cast, name) for name in VOTE} | {"choice": cast.choice.value}
    if ballot.vote is None:
        row = VoteRow(study_id=ballot.study_id, changes=0, **values, **await _summary(session, ballot))
        session.add(row)
    else:
        row = ballot.vote
        await _keep_history(session, row)
        for name, value in values.items():
            setattr(row, name, value)
        row.changes += 1
    if reply is not None:
        await _carry_on(session, ballot, reply)
    await session.flush()
    return VoteReceipt(ballot_record(ballot), vote_record(row), row.changes)


async def _seen(session: AsyncSession, row: VoteRow, cast: VoteRecord) -> bool:
    """Whether a vote says nothing new: its click has been here, or it is the stored choice over again, or it is a skip,
    which never takes back what has been chosen."""
    told = (cast.choice.value, cast.most, cast.least, cast.reason)
    if cast.choice is Choice.SKIPPED:
        return True
    if row.request_id == cast.request_id or (row.choice, row.most, row.least, row.reason) == told:
        return True
    earlier = select(VoteChangeRow.number).where(
        VoteChangeRow.ballot_id == row.ballot_id, VoteChangeRow.request_id == cast.request_id
    )
    return await session.scalar(earlier.limit(1)) is not None


async def _carry_on(session: AsyncSession, ballot: BallotRow, reply: ReplyRecord) -> None:
    """Make a reply the answer to the ballot's message, unless it has one: the conversation has gone on from that."""
    if reply.message_id != ballot.message_id:
        raise ValueError("a reply to another message than the ballot's")
    if await session.scalar(select(ReplyRow.id).where(ReplyRow.message_id == reply.message_id)) is None:
        session.add(reply_row(reply))
        answered = update(MessageRow).where(MessageRow.id == reply.message_id)
        await session.execute(answered.values(outcome=Outcome.ANSWERED.value))


def fault_of(cast: VoteRecord, ballot: BallotRecord) -> str | None:
    """What is wrong with a vote on this ballot, as a sentence for the page; None when nothing is."""
    if not (math.isfinite(cast.seconds) and 0 <= cast.seconds <= MOST_SECONDS):
        return NO_SUCH_TIME
    if ballot.closed_reason and cast.choice is not Choice.SKIPPED:
        return ballot.closed_reason
    if cast.choice is not Choice.RANKED:
        return None if cast.most is None and cast.least is None else "A vote of this kind marks no answer."
    if cast.most is None:
        return "Mark the most empathetic answer first."
    slots = {slot.position: slot for slot in ballot.slots}
    for position in (cast.most, cast.least):
        if position is not None and position not in slots:
            return f"There is no such answer here. Choose one of {', '.join(LETTERS[: len(slots)])}."
        if position is not None and not slots[position].votable:
            return f"Answer {LETTERS[position - 1]} cannot be chosen: {slots[position].reason or NO_REASON}"
    if cast.most == cast.least:
        return "The most and the least empathetic answer must be two different ones."
    open_slots = sum(slot.votable for slot in ballot.slots)
    if open_slots >= 3 and cast.least is None:
        return "Mark the least empathetic answer too."
    if open_slots < 3 and cast.least is not None:
        return "With two answers only the most empathetic one is marked."
    return None


async def _check_consent(session: AsyncSession, participant_id: str, kind: StudyKind) -> None:
    """A survey is research and nothing else; a live ballot is part of the chat, and leaves it only by consent."""
    newest = select(ConsentRow).where(ConsentRow.participant_id == participant_id).order_by(ConsentRow.id.desc())
    consent = await session.scalar(newest.limit(1))
    if consent is None or not consent.chat:
        raise VoteRefused(NO_CHAT)
    if kind is StudyKind.SURVEY and not consent.research:
        raise VoteRefused(NO_CONSENT)


async def _summary(session: AsyncSession, ballot: BallotRow) -> dict[str, str | None]:
    leaks = await session.execute(
        select(SlotRow.position, AnswerRow.leak)
        .join(AnswerRow, AnswerRow.id == SlotRow.answer_id)
        .where(SlotRow.ballot_id == ballot.id)
        .order_by(SlotRow.position)
    )
    return {
        "sources": json.dumps([slot.source for slot in ballot.slots], ensure_ascii=False),
        "unvotable": ",".join(str(slot.position) for slot in ballot.slots if not slot.votable),
        "leaks": ",".join(str(position) for position, leak in leaks if leak),
        "attention": ballot.attention,
        "condition": ballot.condition,
    }


async def _keep_history(session: AsyncSession, row: VoteRow) -> None:
    kept = ("choice", "most", "least", "reason", "seconds", "width_class", "request_id", "voted_at")
    session.add(
        VoteChangeRow(ballot_id=row.ballot_id, number=row.changes + 1, **{name: getattr(row, name) for name in kept})
    )


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
    """The one ballot that fits, and the vote on it if there is one."""
    row = await _ballot(session, condition)
    return None if row is None else (ballot_record(row), vote_record(row.vote) if row.vote else None)


async def ballots_with_votes(
    session: AsyncSession, condition: ColumnElement[bool]
) -> list[tuple[BallotRecord, VoteRecord | None]]:
    """Every ballot that fits, in the order of drawing."""
    rows = await session.scalars(
        select(BallotRow)
        .where(condition)
        .order_by(BallotRow.participant_id, BallotRow.study_id, BallotRow.number)
        .options(selectinload(BallotRow.slots), selectinload(BallotRow.vote))
    )
    return [(ballot_record(row), vote_record(row.vote) if row.vote else None) for row in rows]


async def complete(
    session: AsyncSession, study_id: str, participant_id: str, closing: str | None, at: datetime
) -> None:
    """Write the end of a person's survey: the open question's answer, and the first time of completion.

    Raises VoteRefused while a ballot of theirs on a survey's item has no vote but could have one (in a live study one
    may always be waiting), and after they have withdrawn; StoreGone without an enrolment.
    """
    if await session.get(ParticipantRow, participant_id, with_for_update=True) is None:
        raise StoreGone(ERASED)
    row = await session.get(EnrolmentRow, (study_id, participant_id))
    if row is None:
        raise StoreGone("You do not take part in this study here. Open its link again to begin.")
    await _check_consent(session, participant_id, StudyKind.SURVEY)
    left = await session.scalar(
        select(BallotRow.id)
        .outerjoin(VoteRow, VoteRow.ballot_id == BallotRow.id)
        .where(
            BallotRow.study_id == study_id,
            BallotRow.participant_id == participant_id,
            BallotRow.item_id.is_not(None),
            BallotRow.closed_reason.is_(None),
            VoteRow.ballot_id.is_(None),
        )
        .limit(1)
    )
    if left is not None:
        raise VoteRefused("There is still something to judge before the last question. Go on with it first.")
    row.closing = closing if closing is not None else row.closing
    row.completed_at = row.completed_at or at
