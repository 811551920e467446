"""One turn in blind mode: a message, and the answers of every arm of the study, shown together.

    crisis check -> message stored -> earlier ballots passed over -> ballot drawn -> all arms at once -> stored

Every arm gets the same earlier turns: those that fit the smallest window among them. A summary is in none of the
prompts, for one of the models would have to write it, and would be quoted in the others' prompts.

The ballot's order is stored before a word of it is written, and nothing of an answer leaves here before the last one
has ended: neither its text nor that it is there, so that speed tells nothing.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from heard.chat_app.conversation.answer_request import History
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import (
    AnswersStarted,
    BallotReady,
    BallotsSkipped,
    Failed,
    Refused,
    TurnEvent,
    TurnRequest,
)
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import close_message, exchanges, run_turn
from heard.chat_app.studies.assignment import draw_live
from heard.chat_app.studies.ballot_view import NOTHING_ARRIVED, ballot_props
from heard.chat_app.studies.enrolment import enrol
from heard.chat_app.studies.skipped_ballots import pass_over, reply_of
from heard.chat_app.studies.study_answers import history_of_all, stopped, write_answer
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
    """Answer one message with a ballot of `study`. Closing the generator, or cancelling it, is the Stop button.

    Of `request`, persona, strategy and model are not used. `width_class` is that of the person's page, one of WIDTHS.
    Raises nothing that a person could cause, like `run_turn`.
    """
    return run_turn(request, services, partial(_ballot, study=study, width_class=width_class))


async def _ballot(
    request: TurnRequest,
    services: Services,
    past: PromptHistory,
    *,
    study: StudyFile,
    width_class: str,
) -> AsyncGenerator[TurnEvent, None]:
    try:
        folded = await pass_over(services, request.participant_id, request.conversation_id, width_class)
        if folded:
            yield BallotsSkipped(folded)
        if folded or past.summary is not None:
            past = await services.store.prompt_history(request.conversation_id, summarised=False)
        history = await history_of_all(services, study, request.text, exchanges(past))
        ballot, drawn = await _drawn(request, services, study)
    except StoreError as error:
        log.error("a ballot could not be drawn: %s", type(error).__name__)
        await close_message(request, services, Outcome.REFUSED, None)
        yield Refused(f"{error} Your message was not sent to any model.")
        return
    except (asyncio.CancelledError, GeneratorExit):
        await asyncio.shield(close_message(request, services, Outcome.STOPPED, None))
        raise

    arms = {arm.name: arm for arm in study.arms}
    made = [Drafts() for _ in drawn]
    begun = [
        asyncio.ensure_future(_written(services, study, arms[answer.source], request.text, history, answer, drafts))
        for answer, drafts in zip(drawn, made, strict=True)
    ]
    try:
        yield AnswersStarted(len(begun))
        answers = await asyncio.gather(*begun)
    except (asyncio.CancelledError, GeneratorExit):
        # Shielded: what had arrived is written even if the task is cancelled once more.
        await asyncio.shield(
            _stopped(
                request,
                services,
                ballot,
                begun,
                [
                    partial(stopped, arms[answer.source], answer, drafts)
                    for answer, drafts in zip(drawn, made, strict=True)
                ],
            )
        )
        raise
    ending = asyncio.ensure_future(_end(request, services, study, ballot, answers))
    try:
        event = await asyncio.shield(ending)
    except asyncio.CancelledError:
        event = await ending  # a Stop that comes while all is being stored has nothing left to stop
    yield event


async def _drawn(request: TurnRequest, services: Services, study: StudyFile) -> tuple[BallotRecord, list[AnswerRecord]]:
    """The message's ballot and its answers, still PENDING. Raises StoreError, StudyRefused among them."""
    now = datetime.now(UTC)
    # Whoever came by a link has been enrolled at its door; anybody else is a walk-in.
    place = await enrol(services.studies, study, request.participant_id, None)
    message = MessageRecord(request.message_id, request.conversation_id, request.text, Outcome.PENDING, now)
    ballot = await services.studies.draw_live(
        study.id,
        message,
        draw_live(study, request.participant_id, message.conversation_id, message.id, place.condition),
    )
    return ballot, await services.studies.answers_of(ballot.id)


async def _written(
    services: Services,
    study: StudyFile,
    arm: Arm,
    message: str,
    history: History,
    answer: AnswerRecord,
    made: Drafts,
) -> AnswerRecord:
    try:
        return await write_answer(services, study, arm, message, history, answer, made)
    except Exception as error:  # noqa: BLE001 - a fault of ours in one answer must not take the others with it
        log.error("an answer could not be written: %s", type(error).__name__)
        return replace(answer, status=AnswerStatus.FAILED, error="Something went wrong in the program.")


async def _end(
    request: TurnRequest, services: Services, study: StudyFile, ballot: BallotRecord, answers: Sequence[AnswerRecord]
) -> TurnEvent:
    """Store the answers and close the message; the event that shows it."""
    try:
        ballot = await services.studies.finish_ballot(ballot.id, answers)
    except StoreError as error:
        log.error("the answers of a ballot could not be stored: %s", type(error).__name__)
        await close_message(request, services, Outcome.BROKEN, None)
        return Failed(f"{error} {NOT_STORED}", "")
    whole = [answer for answer in answers if answer.status is AnswerStatus.COMPLETE]
    # One whole answer cannot be voted for, but the person has it, and the conversation goes on from it.
    reply = reply_of(ballot, answers) if len(whole) == 1 else None
    outcome = Outcome.ANSWERED if whole else Outcome.BROKEN
    fault = await close_message(request, services, outcome, reply)
    if fault is not None:
        return Failed(f"{fault} Reload the page to see the answers.", "")
    if not whole:
        return Failed(NOTHING_ARRIVED, "")
    return BallotReady(ballot_props(ballot, answers, study, None, reply))


async def _stopped(
    request: TurnRequest,
    services: Services,
    ballot: BallotRecord,
    begun: Sequence["asyncio.Future[AnswerRecord]"],
    cut: Sequence[Callable[[], AnswerRecord]],
) -> None:
    """Store what had arrived; `cut` gives the answers that were not whole.

    All of it as stopped, whole answers too: who was first must not show.
    """
    for task in begun:
        task.cancel()
    ended = await asyncio.gather(*begun, return_exceptions=True)
    answers = [
        replace(found, status=AnswerStatus.STOPPED) if isinstance(found, AnswerRecord) else unfinished()
        for unfinished, found in zip(cut, ended, strict=True)
    ]
    try:
        await services.studies.finish_ballot(ballot.id, answers)
    except StoreError as error:
        log.error("stopped answers could not be stored: %s", type(error).__name__)
    await close_message(request, services, Outcome.STOPPED, None)
