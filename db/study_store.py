"""The store of studies and blind votes: every write in a transaction of its own, and the reads of the running pages.

All methods are coroutines and raise StoreError. Its subclasses VoteRefused and StudyRefused mean that a rule of the
study forbids it; their text is for the person. The functions in `studies.py` and `ballots.py` have the details.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db import (
    ballots,
    device_change,
    flow_counts,
    held_items,
    question_answers,
    quota_counts,
    studies,
    study_phases,
    study_texts,
    voting,
)
from heard.db.device_change import Holder
from heard.db.records import MessageRecord
from heard.db.studies import ChooseCondition, DrawLive, DrawSurvey
from heard.db.study_records import (
    AnswerRecord,
    BallotRecord,
    EnrolmentRecord,
    FlowReason,
    HeldItem,
    ItemRecord,
    Phase,
    Progress,
    QuestionAnswerRecord,
    SavedStudy,
    StudyRecord,
    VoteReceipt,
    VoteRecord,
)
from heard.db.study_rows import answer_record
from heard.db.study_tables import AnswerRow, BallotRow, SlotRow
from heard.db.transaction import Result, Work, transact
from heard.db.voting import ReplyFromVote, no_reply

BallotAndVote = tuple[BallotRecord, VoteRecord | None]


class StudyStore:
    """Reads and writes of studies, on the engine of the `Store`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    async def _read(self, work: Work[Result]) -> Result:
        return await transact(self.engine, work, write=False)

    async def _write(self, work: Work[Result], *, attempts: int = 1) -> Result:
        return await transact(self.engine, work, write=True, attempts=attempts)

    # Studies

    async def save_study(self, study: StudyRecord, items: Sequence[ItemRecord] = ()) -> SavedStudy:
        """Store a study and its items, or update them; after the first ballot only what may still change."""
        return await self._write(lambda session: studies.save_study(session, study, items))

    async def save_answer(self, answer: AnswerRecord) -> None:
        """Store the outcome of one answer of an item."""
        await self._write(lambda session: studies.save_answer(session, answer))

    async def study(self, study_id: str) -> StudyRecord | None:
        """Return one study, or None."""
        return await self._read(lambda session: studies.study(session, study_id))

    async def studies(self, *, copies: bool = False) -> list[StudyRecord]:
        """Return every study, oldest first; with `copies` those for previews and pilots too."""
        return await self._read(lambda session: studies.studies(session, copies=copies))

    async def copy_study(self, study_id: str, phase: Phase, at: datetime) -> str:
        """Make a study's copy for a preview or a pilot, or make it anew, and return its id."""
        return await self._write(lambda session: study_phases.copy_study(session, study_id, phase, at))

    async def held_items(self, study_id: str) -> list[HeldItem]:
        """Return the messages that imports of a study held back as crises, admitted ones too."""
        return await self._read(lambda session: held_items.held_items(session, study_id))

    async def keep_held(self, study_id: str, held: Sequence[HeldItem], *, only: bool) -> None:
        """Store what an import held back; with `only` in place of what earlier ones did."""
        await self._write(lambda session: held_items.keep_held(session, study_id, held, only=only))

    async def admit(self, study_id: str, item_ids: Sequence[str], by: str, at: datetime) -> int:
        """Note that a person has admitted held items, and return how many they are."""
        return await self._write(lambda session: held_items.admit(session, study_id, item_ids, by, at))

    async def reset_copy(self, copy_id: str) -> tuple[int, int]:
        """Take away the people and votes of a copy, and return how many they were."""
        return await self._write(lambda session: study_phases.reset(session, copy_id))

    async def keep_texts(self, study_id: str, version: str, texts: Mapping[str, str], at: datetime) -> None:
        """Store one version of a study's texts, if it is not there."""
        await self._write(lambda session: study_texts.keep_texts(session, study_id, version, texts, at))

    async def texts(self, study_id: str, version: str) -> dict[str, str] | None:
        """Return one version of a study's texts by name, or None."""
        return await self._read(lambda session: study_texts.texts(session, study_id, version))

    async def text_versions(self, study_id: str) -> list[str]:
        """Return the stored versions of a study's texts, oldest first."""
        return await self._read(lambda session: study_texts.versions(session, study_id))

    async def end_study(self, study_id: str, at: datetime) -> datetime:
        """Note that a study has ended, and return when: retention then deletes what only its votes needed."""
        return await self._write(lambda session: studies.end_study(session, study_id, at))

    async def items(self, study_id: str, *, answers: bool = True) -> list[ItemRecord]:
        """Return a study's items in order."""
        return await self._read(lambda session: studies.items(session, study_id, answers=answers))

    async def item(self, item_id: str) -> ItemRecord | None:
        """Return one item with its answers, or None."""
        return await self._read(lambda session: studies.item(session, item_id))

    # People

    async def enrol(
        self,
        new: EnrolmentRecord,
        choose: ChooseCondition,
        draw_ballots: DrawSurvey,
        active_since: datetime | None = None,
    ) -> tuple[EnrolmentRecord, bool]:
        """Return the person's enrolment, made with all their ballots if there is none, and whether it was made."""
        return await self._write(lambda session: studies.enrol(session, new, choose, draw_ballots, active_since))

    async def screen_out(self, study_id: str, participant_id: str, at: datetime) -> None:
        """Note that a person has failed as many attention items as the study allows."""
        await self._write(lambda session: quota_counts.screen_out(session, study_id, participant_id, at))

    async def holder(self, study_id: str, external_id: str) -> Holder | None:
        """Return who has an external id in a study now, or None."""
        return await self._read(lambda session: device_change.holder(session, study_id, external_id))

    async def holdings(self, external_id: str) -> list[tuple[str, str]]:
        """Return each study in which an external id is taken, with the id as it is spelt there."""
        return await self._read(lambda session: device_change.holdings(session, external_id))

    async def release(self, study_id: str, external_id: str, at: datetime) -> None:
        """Let an external id go on in another browser."""
        await self._write(lambda session: device_change.release(session, study_id, external_id, at))

    async def enrolment(self, study_id: str, participant_id: str) -> EnrolmentRecord | None:
        """Return a person's enrolment in a study, or None."""
        return await self._read(lambda session: studies.enrolment(session, study_id, participant_id))

    async def takes_part(self, participant_id: str) -> bool:
        """Return whether a person is enrolled in a study that has not ended."""
        return await self._read(lambda session: studies.takes_part(session, participant_id))

    async def has_finished(self, study_id: str, participant_id: str) -> bool:
        """Return whether a person has cast their last vote in a study; False if there is no such study."""

        async def work(session: AsyncSession) -> bool:
            record = await studies.study(session, study_id)
            return record is not None and await voting.has_finished(session, record, participant_id)

        return await self._read(work)

    async def progress(self, study_id: str, participant_id: str) -> Progress:
        """Return how many of a person's ballots have a vote."""
        return await self._read(lambda session: studies.progress(session, study_id, participant_id))

    async def complete(self, study_id: str, participant_id: str, closing: str | None, at: datetime) -> None:
        """Store the end of a person's survey."""
        await self._write(lambda session: studies.complete(session, study_id, participant_id, closing, at))

    async def count_turned_away(self, study_id: str, reason: FlowReason) -> None:
        """Count a visit of a study that was not let in; nothing about the visitor is stored."""
        await self._write(lambda session: flow_counts.count(session, study_id, reason), attempts=3)

    # Questions round the ballots

    async def save_question_answers(
        self,
        study_id: str,
        participant_id: str,
        answers: Sequence[QuestionAnswerRecord],
        *,
        dropped: Collection[tuple[str, int]] = (),
        screened_out_at: datetime | None = None,
    ) -> None:
        """Store answers to questions, drop those that are asked no longer, and send the person away if asked to."""
        await self._write(
            lambda session: question_answers.save_question_answers(
                session, study_id, participant_id, answers, dropped=dropped, screened_out_at=screened_out_at
            )
        )

    async def question_answers(self, study_id: str, participant_id: str) -> list[QuestionAnswerRecord]:
        """Return a person's answers to the questions of a study."""
        return await self._read(lambda session: question_answers.question_answers(session, study_id, participant_id))

    # Ballots and votes

    async def draw_live(self, study_id: str, message: MessageRecord, draw_ballot: DrawLive) -> BallotRecord:
        """Draw the ballot for a stored message, before any of its answers exists."""
        return await self._write(lambda session: studies.draw_live(session, study_id, message, draw_ballot))

    async def finish_ballot(self, ballot_id: str, answers: Sequence[AnswerRecord]) -> BallotRecord:
        """Store the outcome of answers of a live ballot."""
        return await self._write(lambda session: ballots.finish(session, ballot_id, answers), attempts=3)

    async def vote(self, cast: VoteRecord, reply_from_vote: ReplyFromVote = no_reply) -> VoteReceipt:
        """Store a vote, and for a live ballot the reply from which the conversation continues; see `db/voting.py`."""
        return await self._write(lambda session: voting.vote(session, cast, reply_from_vote))

    async def ballot(self, ballot_id: str) -> BallotAndVote | None:
        """Return a ballot and its vote. The caller decides who may see how much of it."""
        return await self._read(lambda session: ballots.ballot_with_vote(session, BallotRow.id == ballot_id))

    async def ballot_of_message(self, message_id: str) -> BallotAndVote | None:
        """Return the ballot that answers a message, and its vote."""
        return await self._read(lambda session: ballots.ballot_with_vote(session, BallotRow.message_id == message_id))

    async def ballots_of_conversation(self, conversation_id: str) -> list[BallotAndVote]:
        """Return every ballot of a conversation in order."""
        condition = BallotRow.conversation_id == conversation_id
        return await self._read(lambda session: ballots.ballots_with_votes(session, condition))

    async def ballots_of_person(self, study_id: str, participant_id: str) -> list[BallotAndVote]:
        """Return a person's ballots of a study in order."""
        condition = (BallotRow.study_id == study_id) & (BallotRow.participant_id == participant_id)
        return await self._read(lambda session: ballots.ballots_with_votes(session, condition))

    async def answers_of(self, ballot_id: str) -> list[AnswerRecord]:
        """Return a ballot's answers in order of position. Their sources must not reach a page before the vote."""

        async def work(session: AsyncSession) -> list[AnswerRecord]:
            rows = await session.scalars(
                select(AnswerRow)
                .join(SlotRow, SlotRow.answer_id == AnswerRow.id)
                .where(SlotRow.ballot_id == ballot_id)
                .order_by(SlotRow.position)
            )
            return [answer_record(row) for row in rows]

        return await self._read(work)

    async def mark_interrupted(self) -> int:
        """At start-up: mark live answers that are PENDING as interrupted, and return their number."""
        return await self._write(ballots.mark_interrupted, attempts=3)
