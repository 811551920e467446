"""Studies, their items and answers, and who takes part; each function inside a transaction of its caller."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectinload

from heard.db.ballots import ERASED, draw
from heard.db.errors import StoreDenied, StoreDuplicate, StoreGone, StudyRefused, VoteRefused
from heard.db.records import MessageRecord
from heard.db.study_records import (
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    EnrolmentRecord,
    ItemRecord,
    Progress,
    StudyKind,
    StudyRecord,
)
from heard.db.study_rows import answer_values, enrolment_record, item_record, study_record
from heard.db.study_tables import AnswerRow, BallotRow, EnrolmentRow, ItemRow, StudyRow, VoteRow
from heard.db.tables import ConversationRow, MessageRow, ParticipantRow
from heard.db.text import clean_text
from heard.db.voting import check_consent

Counts = Mapping[str | None, int]
ChooseCondition = Callable[[Counts], str | None]
"""From the people so far by condition to the next one's. Raises StudyRefused when every quota is full."""
Drawn = Mapping[tuple[str, str | None], int]
"""Ballots drawn so far in a survey, by item and condition."""
DrawSurvey = Callable[[EnrolmentRecord, Drawn], Sequence[BallotRecord]]
"""From the enrolment, and the ballots drawn so far, to this person's ballots in their order."""
DrawLive = Callable[[Counts, int], tuple[BallotRecord, Sequence[AnswerRecord]]]
"""From the ballots drawn so far in the study by condition, and the number of this person's next one, to it and its
answers."""

BEGUN = (
    "People have been given ballots of this study already, so what they are asked may not change. "
    "Give the changed study a new name."
)
LONGEST_SOURCE = 80
"""Characters of a source's name: up to five stand in an index entry of each vote, and PostgreSQL bounds those."""
_LOCKED: Any = {"key_share": True}
"""Holds a row against others who hold it, but not against a vote that refers to it."""
USED = "This link has been used in another browser already. Go on there, or ask whoever sent it for a new one."


async def save_study(session: AsyncSession, study: StudyRecord, items: Sequence[ItemRecord]) -> None:
    """Write a study with its items and their answers, or bring it up to date; the same again changes nothing.

    An answer that is COMPLETE stays as it is when the new one for the same item, message and source is PENDING: that
    is how generated answers outlive a second import. One that names another persona, strategy or model does not.
    Raises StudyRefused when ballots have been drawn and anything differs, or for a source's name that is too long.
    """
    if any(len(answer.source) > LONGEST_SOURCE for item in items for answer in item.answers):
        raise StudyRefused(f"The name of a source has more than {LONGEST_SOURCE} characters. Give it a shorter one.")
    row = await session.get(StudyRow, study.id, with_for_update=_LOCKED)
    if row is not None and await _begun(session, study.id):
        same = (row.definition_sha256, row.kind) == (study.definition_sha256, study.kind.value)
        if not same or not await _same_items(session, study.id, items):
            raise StudyRefused(BEGUN)
        return
    if row is None:
        session.add(
            StudyRow(
                id=study.id,
                kind=study.kind.value,
                definition=study.definition,
                definition_sha256=study.definition_sha256,
                created_at=study.created_at,
            )
        )
    else:
        row.kind, row.definition, row.definition_sha256 = study.kind.value, study.definition, study.definition_sha256
    await session.flush()
    kept = await _answers_to_keep(session, study.id)
    await session.execute(delete(AnswerRow).where(AnswerRow.study_id == study.id, AnswerRow.item_id.is_not(None)))
    await session.execute(delete(ItemRow).where(ItemRow.study_id == study.id))
    for item in items:
        values = {"id": item.id, "study_id": study.id, "number": item.number}
        session.add(ItemRow(**values, message=item.message, attention=item.attention))
    await session.flush()
    for item in items:
        for answer in item.answers:
            old = kept.get((item.id, clean_text(item.message), clean_text(answer.source)))
            if old is None or answer.status is not AnswerStatus.PENDING or not _same_arm(answer, old):
                old = answer_values(replace(answer, item_id=item.id))
            session.add(AnswerRow(**old))


def _same_arm(answer: AnswerRecord, old: Mapping[str, object]) -> bool:
    """Whether a stored answer comes from where the new one is to come from; what the new one leaves open may differ."""
    named = {name: getattr(answer, name) for name in ("persona", "strategy", "model")}
    return all(value is None or value == old[name] for name, value in named.items())


async def _same_items(session: AsyncSession, study_id: str, items_now: Sequence[ItemRecord]) -> bool:
    """Whether these are the stored items with the stored answers; a PENDING one stands for whatever was generated."""
    stored = {item.id: item for item in await items(session, study_id, answers=True)}
    if stored.keys() != {item.id for item in items_now}:
        return False
    for new in items_now:
        old = stored[new.id]
        texts = {answer.source: answer.text for answer in old.answers}
        given = {
            clean_text(answer.source): None if answer.status is AnswerStatus.PENDING else clean_text(answer.text)
            for answer in new.answers
        }
        if (old.number, old.message, old.attention) != (new.number, clean_text(new.message), new.attention):
            return False
        if texts.keys() != given.keys() or any(text not in (None, texts[source]) for source, text in given.items()):
            return False
    return True


async def _begun(session: AsyncSession, study_id: str) -> bool:
    return await session.scalar(select(BallotRow.id).where(BallotRow.study_id == study_id).limit(1)) is not None


async def _answers_to_keep(session: AsyncSession, study_id: str) -> dict[tuple[str, str, str], dict[str, object]]:
    messages = {item.id: item.message for item in await items(session, study_id, answers=False)}
    columns = AnswerRow.__table__.c
    rows = await session.execute(
        select(*columns).where(
            AnswerRow.study_id == study_id,
            AnswerRow.item_id.is_not(None),
            AnswerRow.status == AnswerStatus.COMPLETE.value,
        )
    )
    return {(row["item_id"], messages[row["item_id"]], row["source"]): dict(row) for row in rows.mappings()}


async def save_answer(session: AsyncSession, answer: AnswerRecord) -> None:
    """Write how one answer of an item came out.

    Raises StudyRefused once ballots have been drawn from the study, StoreGone when it is not there.
    """
    await session.get(StudyRow, answer.study_id, with_for_update=_LOCKED)  # so that nobody draws meanwhile
    if await _begun(session, answer.study_id):
        raise StudyRefused(BEGUN)
    own = (AnswerRow.id == answer.id) & (AnswerRow.study_id == answer.study_id) & (AnswerRow.item_id == answer.item_id)
    done = await session.execute(update(AnswerRow).where(own).values(**answer_values(answer)))
    if done.rowcount != 1:  # type: ignore[attr-defined]
        raise StoreGone("This study has been changed or removed meanwhile, so the answer was not stored.")


async def study(session: AsyncSession, study_id: str) -> StudyRecord | None:
    """One study, or None."""
    row = await session.get(StudyRow, study_id)
    return study_record(row) if row else None


async def studies(session: AsyncSession) -> list[StudyRecord]:
    """Every study, oldest first."""
    return [study_record(row) for row in await session.scalars(select(StudyRow).order_by(StudyRow.created_at))]


async def items(session: AsyncSession, study_id: str, *, answers: bool) -> list[ItemRecord]:
    """A study's items in order, with or without their answers."""
    query = select(ItemRow).where(ItemRow.study_id == study_id).order_by(ItemRow.number)
    if answers:
        query = query.options(selectinload(ItemRow.answers))
    return [item_record(row, answers=answers) for row in await session.scalars(query)]


async def item(session: AsyncSession, item_id: str) -> ItemRecord | None:
    """One item with its answers, or None."""
    query = select(ItemRow).where(ItemRow.id == item_id).options(selectinload(ItemRow.answers))
    row = await session.scalar(query)
    return item_record(row, answers=True) if row else None


async def enrol(
    session: AsyncSession, wanted: EnrolmentRecord, choose: ChooseCondition, drawn: DrawSurvey
) -> tuple[EnrolmentRecord, bool]:
    """The person's place in a study, made with all their ballots if it is new; and whether it is new.

    All in one transaction that holds the study, so that quotas and balance count everybody. `wanted.condition` is not
    read. Raises StudyRefused when the external id is somebody else's or `choose` refuses; StoreGone when the person or
    the study is not there.
    """
    if await session.get(ParticipantRow, wanted.participant_id, with_for_update=True) is None:
        raise StoreGone("Your data here has been erased. Open the first page to start anew.")
    if await session.get(StudyRow, wanted.study_id, with_for_update=_LOCKED) is None:
        raise StoreGone("There is no such study here any more.")
    row = await session.get(EnrolmentRow, (wanted.study_id, wanted.participant_id))
    if row is not None:
        return enrolment_record(row), False
    if wanted.external_id is not None:
        taken = select(EnrolmentRow.participant_id).where(
            EnrolmentRow.study_id == wanted.study_id, EnrolmentRow.external_id == wanted.external_id
        )
        if await session.scalar(taken) is not None:
            raise StudyRefused(USED)
    enrolled = replace(wanted, condition=choose(await _people(session, wanted.study_id)))
    ballots = drawn(enrolled, await _drawn(session, wanted.study_id))
    session.add(
        EnrolmentRow(
            study_id=enrolled.study_id,
            participant_id=enrolled.participant_id,
            external_id=enrolled.external_id,
            condition=enrolled.condition,
            seed=enrolled.seed,
            started_at=enrolled.started_at,
            completed_at=None,
            closing=None,
        )
    )
    await draw(session, ballots, ())
    return enrolled, True


async def _people(session: AsyncSession, study_id: str) -> Counts:
    rows = await session.execute(
        select(EnrolmentRow.condition, func.count())
        .where(EnrolmentRow.study_id == study_id)
        .group_by(EnrolmentRow.condition)
    )
    return {condition: number for condition, number in rows}


async def _drawn(session: AsyncSession, study_id: str) -> Drawn:
    rows = await session.execute(
        select(BallotRow.item_id, BallotRow.condition, func.count())
        .where(BallotRow.study_id == study_id, BallotRow.item_id.is_not(None))
        .group_by(BallotRow.item_id, BallotRow.condition)
    )
    return {(item_id, condition): number for item_id, condition, number in rows if item_id is not None}


async def enrolment(session: AsyncSession, study_id: str, participant_id: str) -> EnrolmentRecord | None:
    """A person's place in a study, or None."""
    row = await session.get(EnrolmentRow, (study_id, participant_id))
    return enrolment_record(row) if row else None


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
    await check_consent(session, participant_id, StudyKind.SURVEY)
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


async def progress(session: AsyncSession, study_id: str, participant_id: str) -> Progress:
    """How many of a person's ballots have a vote. Ballots that were closed count as neither."""
    voted, total = (
        await session.execute(
            select(func.count(VoteRow.ballot_id), func.count(BallotRow.id))
            .select_from(BallotRow)
            .outerjoin(VoteRow, VoteRow.ballot_id == BallotRow.id)
            .where(
                BallotRow.study_id == study_id,
                BallotRow.participant_id == participant_id,
                BallotRow.closed_reason.is_(None),
            )
        )
    ).one()
    return Progress(voted, total)


async def draw_live(session: AsyncSession, study_id: str, message: MessageRecord, drawn: DrawLive) -> BallotRecord:
    """Draw the ballot for a message that is stored already, before any of its answers exists.

    Raises StoreGone when the study, the message or its writer is not there, StoreDuplicate when the message has a
    ballot, StoreDenied when `drawn` gives a ballot of another person, ValueError when it gives one of another message.
    """
    written = await session.execute(
        select(ConversationRow.participant_id, ConversationRow.id)
        .join(MessageRow, MessageRow.conversation_id == ConversationRow.id)
        .where(MessageRow.id == message.id)
    )
    owner, conversation_id = written.one_or_none() or (None, None)
    if owner is None or await session.get(ParticipantRow, owner, with_for_update=True) is None:
        raise StoreGone
    if await session.get(StudyRow, study_id, with_for_update=_LOCKED) is None:
        raise StoreGone("There is no such study here any more.")
    if await session.scalar(select(BallotRow.id).where(BallotRow.message_id == message.id)) is not None:
        raise StoreDuplicate("This message has been received already. Reload the page to see its answers.")
    so_far = await session.execute(
        select(BallotRow.condition, func.count()).where(BallotRow.study_id == study_id).group_by(BallotRow.condition)
    )
    last = await session.scalar(
        select(func.max(BallotRow.number)).where(BallotRow.study_id == study_id, BallotRow.participant_id == owner)
    )
    ballot, answers = drawn({condition: number for condition, number in so_far}, (last or 0) + 1)
    if ballot.participant_id != owner:
        raise StoreDenied
    if (ballot.message_id, ballot.conversation_id) != (message.id, conversation_id):
        raise ValueError("a ballot for another message")
    await draw(session, [ballot], answers)
    return ballot
