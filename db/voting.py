"""Voting, inside a transaction of the caller: who may vote, for what, and what is revealed afterwards.

The rules are decided here, next to the rows, so that no route and no page can forget one.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.attributes import set_committed_value

from heard.db.ballots import ERASED
from heard.db.errors import StoreGone, VoteRefused
from heard.db.records import Outcome, ReplyRecord
from heard.db.rows import reply_row
from heard.db.study_records import (
    LETTERS,
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    Choice,
    StudyKind,
    StudyRecord,
    VoteReceipt,
    VoteRecord,
    is_informed,
)
from heard.db.study_rows import VOTE, answer_record, ballot_record, study_record, vote_record
from heard.db.study_tables import (
    AnswerRow,
    BallotRow,
    CastColumns,
    EnrolmentRow,
    SlotRow,
    StudyRow,
    VoteChangeRow,
    VoteRow,
)
from heard.db.tables import ConsentRow, MessageRow, ParticipantRow, ReplyRow
from heard.db.text import clean_text
from heard.sentences import sentence

NOT_THERE = sentence("There is no such ballot any more. Reload the page to go on.")
NOT_YOURS = sentence(
    "This ballot belongs to somebody else, so your vote was not taken. Reload the page to see your own."
)
NO_CONSENT = sentence(
    "Your vote was not taken, because you have not agreed to take part in research, or have withdrawn. "
    "The first page lets you change that."
)
NOT_WHOLE = sentence("The answers have not all arrived yet. Wait until they have, then choose.")
NO_SUCH_TIME = sentence("The time that the choice took could not be read. Reload the page and choose again.")
NO_CHAT = sentence(
    "Your vote was not taken, because you have not agreed that anything is stored. The first page asks you."
)
FINAL = sentence(
    "Your vote on this is stored already. It stays as it is, because this study tells who wrote what once everything "
    "is judged. Reload the page to go on."
)
NO_REASON = sentence("This answer cannot be chosen. Choose another one.")
MOST_SECONDS = 30 * 24 * 3600.0
"""Longest time from seeing a ballot to choosing; more is no measurement."""

ReplyFromVote = Callable[[BallotRecord, VoteRecord, Sequence[AnswerRecord]], ReplyRecord | None]
"""Maps a live ballot, a vote on it and its answers by position to the reply from which the conversation continues."""


# Built once: for a statement as wide as the second, that takes longer than to run it.
_PERSON = select(ParticipantRow.id).where(ParticipantRow.id == bindparam("person")).with_for_update()
_NEWEST = select(func.max(ConsentRow.id)).where(ConsentRow.participant_id == bindparam("person")).scalar_subquery()
_BALLOT = (
    select(BallotRow, StudyRow, SlotRow, AnswerRow, VoteRow, ConsentRow, EnrolmentRow.texts_version)
    .join(StudyRow, StudyRow.id == BallotRow.study_id)
    .join(SlotRow, SlotRow.ballot_id == BallotRow.id)
    .join(AnswerRow, AnswerRow.id == SlotRow.answer_id)
    .outerjoin(VoteRow, VoteRow.ballot_id == BallotRow.id)
    .outerjoin(ConsentRow, ConsentRow.id == _NEWEST)
    .outerjoin(
        EnrolmentRow,
        (EnrolmentRow.study_id == BallotRow.study_id) & (EnrolmentRow.participant_id == BallotRow.participant_id),
    )
    .where(BallotRow.id == bindparam("ballot"))
    .order_by(SlotRow.position)
    .with_for_update(of=BallotRow)
)

_VOTE = insert(VoteRow.__table__)  # type: ignore[arg-type]  # a table; the unit of work would take twice as long


def no_reply(*_: object) -> None:
    """Return a `ReplyFromVote` for the ballots of a survey, which continue no conversation."""


async def vote(session: AsyncSession, cast: VoteRecord, reply_from_vote: ReplyFromVote) -> VoteReceipt:
    """Store a vote, and in a live study the reply from which the conversation continues, unless its message has one.

    The same choice again, or a `request_id` that was used before, stores nothing and returns the receipt of what is
    stored. Another vote on the same ballot replaces the first, whose row goes to `vote_change`; it is refused if the
    participant `is_informed` about it.

    A person waits for this, and fifty may at once, so everything is read once: three statements for a first vote.
    Raises VoteRefused with the sentence for the page, StoreGone if the ballot or the person has been erased, ValueError
    for a reply to another message.
    """
    cast = replace(cast, reason=None if cast.reason is None else clean_text(cast.reason))  # as it will be stored
    # The person's row first, as everywhere: two writers that lock in different orders would wait for each other.
    if await session.scalar(_PERSON, {"person": cast.participant_id}) is None:
        raise StoreGone(ERASED)
    row, study, answers, consent, texts_version = await _lock_ballot(session, cast)
    if row.participant_id != cast.participant_id:
        raise VoteRefused(NOT_YOURS)
    _require_consent(consent, study.kind)
    ballot, earlier = ballot_record(row), row.vote
    if earlier is None or not await _is_repeated(session, earlier, cast):
        if any(answer.item_id is None and answer.status is AnswerStatus.PENDING for answer in answers):
            raise VoteRefused(NOT_WHOLE)
        if fault := fault_of(cast, ballot):
            raise VoteRefused(fault)
        if earlier is not None and await _is_final(session, study, vote_record(earlier)):
            raise VoteRefused(FINAL)  # an informed vote would not be blind
        earlier = await _write_vote(session, row, cast, answers, texts_version)
        if ballot.message_id is not None:
            await _store_continuation(session, ballot.message_id, reply_from_vote(ballot, cast, answers))
        await session.flush()
    stored = vote_record(earlier)
    finished = study.reveals and await has_finished(session, study, cast.participant_id)
    informed = is_informed(study.reveals, finished, stored)
    return VoteReceipt(ballot, stored, earlier.changes, tuple(answers) if informed else None)


async def _is_final(session: AsyncSession, study: StudyRecord, earlier: VoteRecord) -> bool:
    # In a survey a skip is final too: who has been told of all the other ballots would not judge this one blind.
    if not study.reveals or (study.kind is StudyKind.LIVE and earlier.choice is Choice.SKIPPED):
        return False
    return await has_finished(session, study, earlier.participant_id)


async def has_finished(session: AsyncSession, study: StudyRecord, participant_id: str) -> bool:
    """Return whether a person has cast their last vote in a study: in a survey no open ballot of theirs waits for one,
    in a live study they have judged as many messages as it requires, skipped ones aside."""
    mine = (BallotRow.study_id == study.id) & (BallotRow.participant_id == participant_id)
    if study.required_votes is None:
        waiting = (
            select(BallotRow.id)
            .outerjoin(VoteRow, VoteRow.ballot_id == BallotRow.id)
            .where(mine, BallotRow.closed_reason.is_(None), VoteRow.ballot_id.is_(None))
        )
        return await session.scalar(waiting.limit(1)) is None
    judged = select(func.count()).where(
        VoteRow.study_id == study.id,
        VoteRow.participant_id == participant_id,
        VoteRow.choice != Choice.SKIPPED.value,
    )
    return int(await session.scalar(judged) or 0) >= study.required_votes


async def _lock_ballot(
    session: AsyncSession, cast: VoteRecord
) -> tuple[BallotRow, StudyRecord, list[AnswerRecord], ConsentRow | None, str | None]:
    """Lock a ballot. Returns it with its slots and vote, its study, its answers by position, the voter's newest
    consent, and the version of the texts that they agreed to. Raises StoreGone."""
    found = (await session.execute(_BALLOT, {"ballot": cast.ballot_id, "person": cast.participant_id})).all()
    if not found:
        raise StoreGone(NOT_THERE)
    row, study, _, _, vote, consent, texts_version = found[0]
    set_committed_value(row, "slots", [slot for _, _, slot, *_ in found])
    set_committed_value(row, "vote", vote)
    return row, study_record(study), [answer_record(answer) for _, _, _, answer, *_ in found], consent, texts_version


async def _is_repeated(session: AsyncSession, row: VoteRow, cast: VoteRecord) -> bool:
    """Return whether a vote changes nothing: the same click or choice again, or a skip, which never replaces a vote."""
    judged = (cast.choice.value, cast.most, cast.least, cast.reason)
    if cast.choice is Choice.SKIPPED:
        return True
    if row.request_id == cast.request_id or (row.choice, row.most, row.least, row.reason) == judged:
        return True
    earlier = select(VoteChangeRow.number).where(
        VoteChangeRow.ballot_id == row.ballot_id, VoteChangeRow.request_id == cast.request_id
    )
    return await session.scalar(earlier.limit(1)) is not None


async def _write_vote(
    session: AsyncSession,
    ballot: BallotRow,
    cast: VoteRecord,
    answers: Sequence[AnswerRecord],
    texts_version: str | None,
) -> VoteRow:
    values = {name: getattr(cast, name) for name in VOTE} | {"choice": cast.choice.value}
    row = ballot.vote
    if row is None:
        row_values = {"study_id": ballot.study_id, "changes": 0, **values, **_copied_columns(ballot, answers)}
        row_values["texts_version"] = texts_version
        await session.execute(_VOTE, row_values)
        return VoteRow(**row_values)
    _keep_history(session, row)
    for name, value in values.items():
        setattr(row, name, value)
    row.changes += 1
    return row


def _copied_columns(ballot: BallotRow, answers: Sequence[AnswerRecord]) -> dict[str, str | None]:
    leaking = [slot.position for slot, answer in zip(ballot.slots, answers, strict=True) if answer.leak]
    return {
        "sources": json.dumps([slot.source for slot in ballot.slots], ensure_ascii=False),
        "unvotable": ",".join(str(slot.position) for slot in ballot.slots if not slot.votable),
        "leaks": ",".join(map(str, leaking)),
        "attention": ballot.attention,
        "condition": ballot.condition,
        "item_id": ballot.item_id,
    }


def _keep_history(session: AsyncSession, row: VoteRow) -> None:
    kept = {name: getattr(row, name) for name in CastColumns.__annotations__}
    session.add(VoteChangeRow(ballot_id=row.ballot_id, number=row.changes + 1, **kept))


async def _store_continuation(session: AsyncSession, message_id: str, reply: ReplyRecord | None) -> None:
    """Store a reply to the ballot's message, unless it has one, from which the conversation has continued."""
    if reply is None:
        return
    if reply.message_id != message_id:
        raise ValueError("a reply to another message than the ballot's")
    if await session.scalar(select(ReplyRow.id).where(ReplyRow.message_id == message_id)) is None:
        session.add(reply_row(reply))
        answered = update(MessageRow).where(MessageRow.id == message_id)
        await session.execute(answered.values(outcome=Outcome.ANSWERED.value))


def fault_of(cast: VoteRecord, ballot: BallotRecord) -> str | None:
    """Return what is wrong with a vote on this ballot, as a sentence for the page, or None."""
    if not (math.isfinite(cast.seconds) and 0 <= cast.seconds <= MOST_SECONDS):
        return NO_SUCH_TIME
    if ballot.closed_reason and cast.choice is not Choice.SKIPPED:
        return ballot.closed_reason
    if cast.choice is not Choice.RANKED:
        return None if cast.most is None and cast.least is None else sentence("A vote of this kind marks no answer.")
    if cast.most is None:
        return sentence("Mark the most empathetic answer first.")
    slots = {slot.position: slot for slot in ballot.slots}
    for position in (cast.most, cast.least):
        if position is not None and position not in slots:
            letters = ", ".join(LETTERS[: len(slots)])
            return sentence("There is no such answer here. Choose one of {letters}.", letters=letters)
        if position is not None and not slots[position].votable:
            letter, reason = LETTERS[position - 1], slots[position].reason or NO_REASON
            return sentence("Answer {letter} cannot be chosen: {reason}", letter=letter, reason=reason)
    if cast.most == cast.least:
        return sentence("The most and the least empathetic answer must be two different ones.")
    if ballot.asks_least and cast.least is None:
        return sentence("Mark the least empathetic answer too.")
    if not ballot.asks_least and cast.least is not None:
        return sentence("With two answers only the most empathetic one is marked.")
    return None


async def check_consent(session: AsyncSession, participant_id: str, kind: StudyKind) -> None:
    """Raise VoteRefused without consent: to chat and research for a survey, to the chat alone for a live study."""
    newest = select(ConsentRow).where(ConsentRow.participant_id == participant_id).order_by(ConsentRow.id.desc())
    _require_consent(await session.scalar(newest.limit(1)), kind)


def _require_consent(consent: ConsentRow | None, kind: StudyKind) -> None:
    if consent is None or not consent.chat:
        raise VoteRefused(NO_CHAT)
    if kind is StudyKind.SURVEY and not consent.research:
        raise VoteRefused(NO_CONSENT)
