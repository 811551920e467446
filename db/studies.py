"""Studies, their items and answers, and their participants, inside a transaction of the caller."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectinload

from heard.db.ballots import ERASED, draw
from heard.db.device_change import take_up
from heard.db.errors import StoreDenied, StoreDuplicate, StoreGone, StudyRefused, VoteRefused
from heard.db.quota_counts import Counts, Drawn, drawn, people_counts
from heard.db.records import MessageRecord
from heard.db.study_archive import Archive, recipe
from heard.db.study_changes import MAY_CHANGE, differing
from heard.db.study_records import (
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    EnrolmentRecord,
    ItemRecord,
    Phase,
    Progress,
    SavedStudy,
    StudyKind,
    StudyRecord,
)
from heard.db.study_rows import answer_values, enrolment_record, enrolment_values, item_record, study_record
from heard.db.study_tables import (
    AnswerRow,
    BallotRow,
    EnrolmentRow,
    ItemRow,
    QuestionAnswerRow,
    StudyRow,
    VoteRow,
)
from heard.db.study_texts import keep_texts
from heard.db.tables import ConversationRow, MessageRow, ParticipantRow
from heard.db.text import clean_text
from heard.db.voting import check_consent
from heard.sentences import sentence

ChooseCondition = Callable[[Counts], str | None]
"""Maps the number of people so far by condition, those screened out aside, to the next person's condition. Raises
StudyRefused if it is full."""
DrawSurvey = Callable[[EnrolmentRecord, Drawn], Sequence[BallotRecord]]
"""Maps an enrolment, and the ballots drawn so far, to this person's ballots in order."""
DrawLive = Callable[[Counts, int], tuple[BallotRecord, Sequence[AnswerRecord]]]
"""Maps the number of ballots drawn so far by condition, and the number of this person's next ballot, to that ballot and
its answers."""

BEGUN = (
    "People have been given ballots of this study already, so what they are asked may not change. "
    "Give the changed study a new name."
)
LONGEST_SOURCE = 80
"""Most characters of a source's name: up to five are in an index entry of each vote, whose size PostgreSQL limits."""
_LOCKED: Any = {"key_share": True}
"""Lock options: others who lock the row wait, but not a vote that refers to it."""
ENDED = sentence("This study has ended, so nobody can take part in it any more. Thank you for coming.")
PAUSED = sentence("This study is paused, so nobody can go on in it just now. Nothing is lost. Please come again later.")


async def save_study(session: AsyncSession, study: StudyRecord, items: Sequence[ItemRecord]) -> SavedStudy:
    """Store a study with its items and their answers, or update it. Returns what became of answers that were there.

    A COMPLETE answer is kept if the new one for the same item, message and source is PENDING and is to be written in
    the same way: so generated answers survive a second import. Every other one goes to the archive, from which it comes
    back when it is wanted again. Raises StudyRefused if anything differs after ballots have been drawn that may not, or
    for a source's name that is too long.
    """
    if any(len(answer.source) > LONGEST_SOURCE for item in items for answer in item.answers):
        raise StudyRefused(f"The name of a source has more than {LONGEST_SOURCE} characters. Give it a shorter one.")
    row = await session.get(StudyRow, study.id, with_for_update=_LOCKED)
    before: Mapping[str, Any] = row.definition if row is not None else study.definition
    begun = row is not None and (
        await _has_ballots(session, study.id) or await _has_question_answers(session, study.id)
    )
    if row is not None and begun:
        await _check_begun(session, row, study, items)
    if row is None:
        row = StudyRow(id=study.id, created_at=study.created_at, phase=study.phase.value, copy_of=study.copy_of)
        session.add(row)
    row.kind, row.definition, row.definition_sha256 = study.kind.value, study.definition, study.definition_sha256
    await session.flush()
    await _keep_texts(session, row, study)
    if begun:
        return SavedStudy()
    kept = await _complete_answers(session, study.id)
    await session.execute(delete(AnswerRow).where(AnswerRow.study_id == study.id, AnswerRow.item_id.is_not(None)))
    await session.execute(delete(ItemRow).where(ItemRow.study_id == study.id))
    for item in items:
        values = {"id": item.id, "study_id": study.id, "number": item.number}
        admitted = {"admitted_by": item.admitted_by, "admitted_at": item.admitted_at}
        session.add(ItemRow(**values, message=item.message, attention=item.attention, **admitted))
    await session.flush()
    archive, restored = await Archive.load(session, study.id), 0
    for item in items:
        for answer in item.answers:
            key = (item.id, clean_text(item.message), clean_text(answer.source))
            old, found = kept.get(key), None
            if answer.status is AnswerStatus.PENDING:
                how, same_arm = recipe(study.definition, answer.source), partial(_same_arm, answer)
                if old is not None and same_arm(old) and recipe(before, answer.source) == how:
                    found = kept.pop(key)
                else:
                    found = await archive.take(item.id, answer.source, how, same_arm)
                    restored += found is not None
            elif old is not None and old["text"] == clean_text(answer.text):
                del kept[key]  # the file brings it again
            session.add(AnswerRow(**(found or answer_values(replace(answer, item_id=item.id)))))
    for (_, _, source), values in kept.items():
        await archive.put(values, recipe(before, source))
    await session.flush()
    return SavedStudy(archived=len(kept), restored=restored)


async def _check_begun(
    session: AsyncSession, row: StudyRow, study: StudyRecord, items_now: Sequence[ItemRecord]
) -> None:
    """Raise StudyRefused if a study of which ballots have been drawn would change in what may not."""
    names = [*differing(row.definition, study.definition)]
    if row.kind != study.kind.value:
        names.append("kind")
    if not await _same_items(session, study.id, items_now):
        names.append("the items or their answers")
    if names:
        raise StudyRefused(f"{BEGUN} What differs: {', '.join(names)}. What may still change: {', '.join(MAY_CHANGE)}.")


async def _keep_texts(session: AsyncSession, row: StudyRow, study: StudyRecord) -> None:
    if study.texts is not None and study.texts_version is not None:
        await keep_texts(session, row.id, study.texts_version, study.texts, datetime.now(UTC))
        row.texts_version = study.texts_version


def _same_arm(answer: AnswerRecord, old: Mapping[str, object]) -> bool:
    """Return whether a stored answer has the persona, strategy and model that the new one names."""
    named = {name: getattr(answer, name) for name in ("persona", "strategy", "model")}
    return all(value is None or value == old[name] for name, value in named.items())


async def _same_items(session: AsyncSession, study_id: str, items_now: Sequence[ItemRecord]) -> bool:
    """Return whether these are the stored items with the stored answers; a PENDING answer equals any generated one."""
    stored = {item.id: item for item in await items(session, study_id, answers=True)}
    if stored.keys() != {item.id for item in items_now}:
        return False
    for new in items_now:
        old = stored[new.id]
        texts = {answer.source: answer.text for answer in old.answers}
        texts_now = {
            clean_text(answer.source): None if answer.status is AnswerStatus.PENDING else clean_text(answer.text)
            for answer in new.answers
        }
        if (old.number, old.message, old.attention) != (new.number, clean_text(new.message), new.attention):
            return False
        if texts.keys() != texts_now.keys() or any(
            text not in (None, texts[source]) for source, text in texts_now.items()
        ):
            return False
    return True


async def _has_ballots(session: AsyncSession, study_id: str) -> bool:
    return await session.scalar(select(BallotRow.id).where(BallotRow.study_id == study_id).limit(1)) is not None


async def _has_question_answers(session: AsyncSession, study_id: str) -> bool:
    """Return whether anybody was asked something; whoever was screened out has answers and no ballots."""
    answered = select(QuestionAnswerRow.item).where(QuestionAnswerRow.study_id == study_id).limit(1)
    return await session.scalar(answered) is not None


async def _complete_answers(session: AsyncSession, study_id: str) -> dict[tuple[str, str, str], dict[str, object]]:
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
    """Store the outcome of one answer of an item.

    Raises StudyRefused if ballots have been drawn from the study, StoreGone if the answer does not exist.
    """
    await session.get(StudyRow, answer.study_id, with_for_update=_LOCKED)  # so that nobody draws meanwhile
    if await _has_ballots(session, answer.study_id):
        raise StudyRefused(BEGUN)
    own = (AnswerRow.id == answer.id) & (AnswerRow.study_id == answer.study_id) & (AnswerRow.item_id == answer.item_id)
    done = await session.execute(update(AnswerRow).where(own).values(**answer_values(answer)))
    if done.rowcount != 1:  # type: ignore[attr-defined]
        raise StoreGone("This study has been changed or removed meanwhile, so the answer was not stored.")


async def study(session: AsyncSession, study_id: str) -> StudyRecord | None:
    """Return one study, or None."""
    row = await session.get(StudyRow, study_id)
    return study_record(row) if row else None


async def studies(session: AsyncSession, *, copies: bool = False) -> list[StudyRecord]:
    """Return every study, oldest first; with `copies` those for previews and pilots too."""
    query = select(StudyRow).order_by(StudyRow.created_at, StudyRow.id)
    if not copies:
        query = query.where(StudyRow.phase == Phase.STUDY.value)
    return [study_record(row) for row in await session.scalars(query)]


async def end_study(session: AsyncSession, study_id: str, at: datetime) -> datetime:
    """Note that a study has ended with its copies, once and for all, and return when. Raises StoreGone if there is no
    such study."""
    row = await session.get(StudyRow, study_id, with_for_update=_LOCKED)
    if row is None:
        raise StoreGone("There is no such study here.")
    row.ended_at = row.ended_at or at
    of_copies = (StudyRow.copy_of == study_id) & StudyRow.ended_at.is_(None)
    await session.execute(update(StudyRow).where(of_copies).values(ended_at=row.ended_at))
    return row.ended_at


def standstill(study: StudyRow | StudyRecord) -> str | None:
    """Return why nobody goes on in a study, as a sentence for its people; None while it runs."""
    return ENDED if study.ended_at is not None else PAUSED if study.paused_at is not None else None


async def pause_study(session: AsyncSession, study_id: str, at: datetime | None) -> None:
    """Pause a study, or with None let it go on. Raises StoreGone if there is none, StudyRefused if it has ended."""
    row = await session.get(StudyRow, study_id, with_for_update=_LOCKED)
    if row is None:
        raise StoreGone("There is no such study here.")
    if row.ended_at is not None:
        raise StudyRefused("This study has ended, so it can neither be paused nor go on.")
    row.paused_at = at and (row.paused_at or at)


async def items(session: AsyncSession, study_id: str, *, answers: bool) -> list[ItemRecord]:
    """Return a study's items in order, with or without their answers."""
    query = select(ItemRow).where(ItemRow.study_id == study_id).order_by(ItemRow.number)
    if answers:
        query = query.options(selectinload(ItemRow.answers))
    return [item_record(row, answers=answers) for row in await session.scalars(query)]


async def item(session: AsyncSession, item_id: str) -> ItemRecord | None:
    """Return one item with its answers, or None."""
    query = select(ItemRow).where(ItemRow.id == item_id).options(selectinload(ItemRow.answers))
    row = await session.scalar(query)
    return item_record(row, answers=True) if row else None


async def enrol(
    session: AsyncSession,
    new: EnrolmentRecord,
    choose: ChooseCondition,
    draw_ballots: DrawSurvey,
    active_since: datetime | None = None,
) -> tuple[EnrolmentRecord, bool]:
    """Return the person's enrolment, made with all their ballots if there is none, and whether it was made.

    The transaction locks the study, so that quotas and balance count everybody who counts: who has finished, and who
    began or voted after `active_since` (None: ever). `new.condition` is not read. Raises
    StudyRefused if the study has ended, the external id is in use in another browser or `choose` refuses, StoreGone if
    the person or the study does not exist.
    """
    if await session.get(ParticipantRow, new.participant_id, with_for_update=True) is None:
        raise StoreGone(sentence("Your data here has been erased. Open the first page to start anew."))
    studied = await session.get(StudyRow, new.study_id, with_for_update=_LOCKED)
    if studied is None:
        raise StoreGone(sentence("There is no such study here any more."))
    row = await session.get(EnrolmentRow, (new.study_id, new.participant_id))
    if row is not None:
        return enrolment_record(row), False
    if stopped := standstill(studied):
        raise StudyRefused(stopped)
    if resumed := await take_up(session, new):
        return resumed, False
    enrolled = replace(new, condition=choose(await people_counts(session, new.study_id, active_since)))
    ballots = draw_ballots(enrolled, await drawn(session, new.study_id, active_since))
    session.add(EnrolmentRow(**enrolment_values(replace(enrolled, completed_at=None, closing=None))))
    await draw(session, ballots, ())
    return enrolled, True


async def enrolment(session: AsyncSession, study_id: str, participant_id: str) -> EnrolmentRecord | None:
    """Return a person's enrolment in a study, or None."""
    row = await session.get(EnrolmentRow, (study_id, participant_id))
    return enrolment_record(row) if row else None


async def takes_part(session: AsyncSession, participant_id: str) -> bool:
    """Return whether a person is enrolled in a study that has not ended."""
    running = select(EnrolmentRow.study_id).join(StudyRow, StudyRow.id == EnrolmentRow.study_id)
    mine = running.where(EnrolmentRow.participant_id == participant_id, StudyRow.ended_at.is_(None))
    return await session.scalar(mine.limit(1)) is not None


async def complete(
    session: AsyncSession, study_id: str, participant_id: str, closing: str | None, at: datetime
) -> None:
    """Store the end of a person's survey: the answer to the open question, and the time of the first completion.

    Raises VoteRefused while a ballot of theirs on a survey's item waits for a vote (in a live study one may always be
    waiting), and after they have withdrawn; StoreGone without an enrolment.
    """
    if await session.get(ParticipantRow, participant_id, with_for_update=True) is None:
        raise StoreGone(ERASED)
    row = await session.get(EnrolmentRow, (study_id, participant_id))
    if row is None:
        raise StoreGone(sentence("You do not take part in this study here. Open its link again to begin."))
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
        raise VoteRefused(sentence("There is still something to judge before the last question. Go on with it first."))
    row.closing = closing if closing is not None else row.closing
    row.completed_at = row.completed_at or at


async def progress(session: AsyncSession, study_id: str, participant_id: str) -> Progress:
    """Return how many of a person's ballots have a vote, and how many there are, closed ones aside."""
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


async def draw_live(
    session: AsyncSession, study_id: str, message: MessageRecord, draw_ballot: DrawLive
) -> BallotRecord:
    """Draw the ballot for a stored message, before any of its answers exists.

    Raises StoreGone if the study, the message or its writer does not exist, StoreDuplicate if the message has a ballot,
    StudyRefused if the study has ended, StoreDenied if `draw_ballot` returns a ballot of another person, ValueError for
    one of another message.
    """
    written = await session.execute(
        select(ConversationRow.participant_id, ConversationRow.id)
        .join(MessageRow, MessageRow.conversation_id == ConversationRow.id)
        .where(MessageRow.id == message.id)
    )
    owner, conversation_id = written.one_or_none() or (None, None)
    if owner is None or await session.get(ParticipantRow, owner, with_for_update=True) is None:
        raise StoreGone
    studied = await session.get(StudyRow, study_id, with_for_update=_LOCKED)
    if studied is None:
        raise StoreGone("There is no such study here any more.")
    if stopped := standstill(studied):
        raise StudyRefused(stopped)
    if await session.scalar(select(BallotRow.id).where(BallotRow.message_id == message.id)) is not None:
        raise StoreDuplicate("This message has been received already. Reload the page to see its answers.")
    so_far = await session.execute(
        select(BallotRow.condition, func.count()).where(BallotRow.study_id == study_id).group_by(BallotRow.condition)
    )
    last = await session.scalar(
        select(func.max(BallotRow.number)).where(BallotRow.study_id == study_id, BallotRow.participant_id == owner)
    )
    ballot, answers = draw_ballot({condition: number for condition, number in so_far}, (last or 0) + 1)
    if ballot.participant_id != owner:
        raise StoreDenied
    if (ballot.message_id, ballot.conversation_id) != (message.id, conversation_id):
        raise ValueError("a ballot for another message")
    await draw(session, [ballot], answers)
    return ballot
