"""One turn in blind mode: a message, and the answers of every arm of the study, shown together.

    crisis check -> message stored -> earlier ballots skipped -> ballot drawn -> all arms at once -> stored

Every arm gets the same earlier turns: those that fit the smallest context window among them. No prompt holds a summary,
as one of the models would have to write it and would be quoted in the others' prompts.

The ballot's order is stored before an answer is generated, and no event of an answer is yielded before the last one has
ended, so that speed reveals nothing.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from heard.chat_app.conversation.answer_request import History
from heard.chat_app.conversation.bot_answers import Naming
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import (
    AnswersStarted,
    BallotReady,
    BallotsSkipped,
    Failed,
    Refused,
    StoppedUnsaved,
    TurnEvent,
    TurnRequest,
)
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import close_message, exchanges, run_turn
from heard.chat_app.studies.assignment import draw_live
from heard.chat_app.studies.ballot_view import NOTHING_ARRIVED, ballot_props
from heard.chat_app.studies.enrolment import enrol
from heard.chat_app.studies.skipped_ballots import default_reply, skip_open_ballots
from heard.chat_app.studies.study_answers import shared_history, stopped_answer, write_answer
from heard.chat_app.studies.study_file import Arm, StudyFile
from heard.db.records import MessageRecord, Outcome, PromptHistory
from heard.db.store import StoreError
from heard.db.study_records import AnswerRecord, AnswerStatus, BallotRecord

NOT_STORED = "The answers are lost, so there is nothing to vote on."

log = logging.getLogger(__name__)


def run_ballot_turn(
    request: TurnRequest,
    services: Services,
    study: StudyFile,
    *,
    width_class: str = "desktop",
) -> AsyncGenerator[TurnEvent, None]:
    """Answer one message with a ballot of `study`. Closing the generator, or cancelling it, is Stop.

    A question about the bot gets its fixed text and no ballot; a ballot that is open stays so.

    Persona, strategy and model of `request` are not used. `width_class` is that of the person's page, one of WIDTHS.
    Raises nothing that a person could cause, like `run_turn`.
    """
    naming = Naming.TOLD_LATER if study.reveal else Naming.UNTOLD
    return run_turn(request, services, partial(_ballot, study=study, width_class=width_class), naming=naming)


async def _ballot(
    request: TurnRequest,
    services: Services,
    past: PromptHistory,
    *,
    study: StudyFile,
    width_class: str,
) -> AsyncGenerator[TurnEvent, None]:
    try:
        skipped = await skip_open_ballots(services, request.participant_id, request.conversation_id, width_class)
        if skipped:
            yield BallotsSkipped(skipped)
        if skipped or past.summary is not None:
            past = await services.store.prompt_history(request.conversation_id, summarised=False)
        history = await shared_history(services, study, request.text, exchanges(past))
        ballot, pending = await _draw_ballot(request, services, study)
    except StoreError as error:
        log.error("a ballot could not be drawn: %s", type(error).__name__)
        await close_message(request, services, Outcome.REFUSED, None)
        yield Refused(f"{error} Your message was not sent to any model.")
        return
    except (asyncio.CancelledError, GeneratorExit):
        await asyncio.shield(close_message(request, services, Outcome.STOPPED, None))
        raise

    arms = {arm.name: arm for arm in study.arms}
    all_drafts = [Drafts() for _ in pending]
    tasks = [
        asyncio.ensure_future(
            _write_answer(services, study, arms[answer.source], request.text, history, answer, drafts)
        )
        for answer, drafts in zip(pending, all_drafts, strict=True)
    ]
    try:
        yield AnswersStarted(len(tasks))
        answers = await asyncio.gather(*tasks)
    except (asyncio.CancelledError, GeneratorExit) as stop:
        # Shielded: what had arrived is written even if the task is cancelled once more.
        fault = await asyncio.shield(
            _finish_stopped(
                request,
                services,
                ballot,
                tasks,
                [
                    partial(stopped_answer, arms[answer.source], answer, drafts)
                    for answer, drafts in zip(pending, all_drafts, strict=True)
                ],
            )
        )
        if fault is not None and isinstance(stop, asyncio.CancelledError):
            raise StoppedUnsaved(fault) from None
        raise
    ending = asyncio.ensure_future(_finish(request, services, study, ballot, answers))
    try:
        event = await asyncio.shield(ending)
    except asyncio.CancelledError:
        event = await ending  # a Stop that comes while all is being stored has nothing left to stop
    yield event


async def _draw_ballot(
    request: TurnRequest, services: Services, study: StudyFile
) -> tuple[BallotRecord, list[AnswerRecord]]:
    """Draw the message's ballot. Returns it with its PENDING answers. Raises StoreError, also StudyRefused."""
    now = datetime.now(UTC)
    # Whoever came by a link was enrolled on the survey's page; anybody else is a walk-in.
    enrolment = await enrol(services.studies, study, request.participant_id, None)
    message = MessageRecord(request.message_id, request.conversation_id, request.text, Outcome.PENDING, now)
    ballot = await services.studies.draw_live(
        study.id,
        message,
        draw_live(study, request.participant_id, message.conversation_id, message.id, enrolment.condition),
    )
    return ballot, await services.studies.answers_of(ballot.id)


async def _write_answer(
    services: Services,
    study: StudyFile,
    arm: Arm,
    message: str,
    history: History,
    answer: AnswerRecord,
    drafts: Drafts,
) -> AnswerRecord:
    try:
        return await write_answer(services, study, arm, message, history, answer, drafts)
    except Exception as error:  # noqa: BLE001 - an internal error in one answer must not take the others with it
        log.error("an answer could not be written: %s", type(error).__name__)
        return replace(answer, status=AnswerStatus.FAILED, error="Something went wrong in the program.")


async def _finish(
    request: TurnRequest, services: Services, study: StudyFile, ballot: BallotRecord, answers: Sequence[AnswerRecord]
) -> TurnEvent:
    """Store the answers and close the message. Returns the event that shows the outcome."""
    try:
        ballot = await services.studies.finish_ballot(ballot.id, answers)
    except StoreError as error:
        log.error("the answers of a ballot could not be stored: %s", type(error).__name__)
        await close_message(request, services, Outcome.BROKEN, None)
        return Failed(f"{error} {NOT_STORED}", "")
    whole = [answer for answer in answers if answer.status is AnswerStatus.COMPLETE]
    # A single complete answer cannot be voted for, but the person has it, and the conversation goes on from it.
    reply = default_reply(ballot, answers) if len(whole) == 1 else None
    outcome = Outcome.ANSWERED if whole else Outcome.BROKEN
    fault = await close_message(request, services, outcome, reply)
    if fault is not None:
        return Failed(f"{fault} Reload the page to see the answers.", "")
    if not whole:
        return Failed(NOTHING_ARRIVED, "")
    return BallotReady(ballot_props(ballot, answers, study, None, reply))


async def _finish_stopped(
    request: TurnRequest,
    services: Services,
    ballot: BallotRecord,
    tasks: Sequence["asyncio.Future[AnswerRecord]"],
    unfinished: Sequence[Callable[[], AnswerRecord]],
) -> str | None:
    """Store what had arrived; `unfinished` makes the records of the answers that were not complete. Returns the
    sentence of the fault, or None.

    All answers are stored as STOPPED, complete ones too: which one was first must not show.
    """
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    answers = [
        replace(found, status=AnswerStatus.STOPPED) if isinstance(found, AnswerRecord) else make_unfinished()
        for make_unfinished, found in zip(unfinished, ended, strict=True)
    ]
    fault: str | None = None
    try:
        await services.studies.finish_ballot(ballot.id, answers)
    except StoreError as error:
        log.error("stopped answers could not be stored: %s", type(error).__name__)
        fault = str(error)
    return await close_message(request, services, Outcome.STOPPED, None) or fault
