"""Answers to the questions round the ballots, inside a transaction of the caller."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.ballot_erase import delete_ballot_rows
from heard.db.ballots import ERASED
from heard.db.errors import StoreGone, VoteRefused
from heard.db.study_records import QuestionAnswerRecord, StudyKind
from heard.db.study_tables import BallotRow, EnrolmentRow, QuestionAnswerRow, VoteRow
from heard.db.tables import ParticipantRow
from heard.db.voting import check_consent

FINISHED = "You have reached the end of this study, so its answers stay as they are. Thank you for taking part."


async def save_question_answers(
    session: AsyncSession,
    study_id: str,
    participant_id: str,
    answers: Sequence[QuestionAnswerRecord],
    *,
    dropped: Collection[tuple[str, int]] = (),
    screened_out_at: datetime | None = None,
) -> None:
    """Store answers, each in the place of an earlier one to the same item at the same time of asking.

    `dropped` are (item, after_ballots) that are asked no longer: their answers go. With `screened_out_at` the person is
    sent away: their ballots without a vote go too, so that others judge those items.

    Raises StoreGone for somebody who is not enrolled or was erased, VoteRefused after the end and without consent.
    """
    if await session.get(ParticipantRow, participant_id, with_for_update=True) is None:
        raise StoreGone(ERASED)
    enrolment = await session.get(EnrolmentRow, (study_id, participant_id))
    if enrolment is None:
        raise StoreGone("You do not take part in this study here. Open its link again to begin.")
    await check_consent(session, participant_id, StudyKind.SURVEY)
    if enrolment.completed_at is not None or enrolment.screened_out_at is not None:
        raise VoteRefused(FINISHED)
    for answer in answers:
        key = {"study_id": study_id, "participant_id": participant_id, "item": answer.item}
        await session.merge(
            QuestionAnswerRow(
                **key, after_ballots=answer.after_ballots, value=answer.value, answered_at=answer.answered_at
            )
        )
    for item, after_ballots in dropped:
        row = await session.get(QuestionAnswerRow, (study_id, participant_id, item, after_ballots))
        if row is not None:
            await session.delete(row)
    if screened_out_at is not None:
        enrolment.screened_out_at = screened_out_at
        voted = exists().where(VoteRow.ballot_id == BallotRow.id)
        own = (BallotRow.study_id == study_id) & (BallotRow.participant_id == participant_id)
        await delete_ballot_rows(session, own & BallotRow.item_id.is_not(None) & ~voted)


async def question_answers(session: AsyncSession, study_id: str, participant_id: str) -> list[QuestionAnswerRecord]:
    """Return a person's answers in a study."""
    rows = await session.scalars(
        select(QuestionAnswerRow)
        .where(QuestionAnswerRow.study_id == study_id, QuestionAnswerRow.participant_id == participant_id)
        .order_by(QuestionAnswerRow.after_ballots, QuestionAnswerRow.item)
    )
    return [QuestionAnswerRecord(row.item, row.after_ballots, row.value, row.answered_at) for row in rows]
