"""One chat turn, start to finish. Everything that a reply depends on is decided here; the page only shows the events.

    read for danger -> store the message -> prompt -> stream -> score -> (rewrite if low) -> store the reply -> done
    (a question about the bot, and a turn about the person's safety, get a fixed text in place of all from the prompt to
    the score; and in the background: summarise what will not fit the next prompt)

The order is what makes it safe: a crisis message ends the turn before a prompt exists, and nothing is generated for a
message that could not be stored first.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from heard.chat_app.common.background import in_background
from heard.chat_app.common.fair_queue import QueueFull
from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.conversation.answer_request import AnswerRequest, History
from heard.chat_app.conversation.bot_answers import Naming, bot_answer
from heard.chat_app.conversation.drafting import write_drafts
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import (
    CrisisShown,
    DraftComplete,
    DraftStarted,
    Failed,
    Finished,
    NotSaved,
    Refused,
    StoppedUnsaved,
    Token,
    TurnEvent,
    TurnRequest,
)
from heard.chat_app.conversation.message_reading import read_message
from heard.chat_app.conversation.rewriting import policy_in_force
from heard.chat_app.conversation.safety_turn import safety_turn
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.standing import Standing
from heard.chat_app.conversation.summaries import AnswerSource, may_need_summary, summarise
from heard.chat_app.conversation.support_model import supported_by_model
from heard.chat_app.models.records import ModelFailure
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.safety.handoff import handoff
from heard.chat_app.safety.verdict import SafetyVerdict
from heard.db.records import ConversationRecord, DraftStatus, MessageRecord, Outcome, PromptHistory, ReplyRecord, Safety
from heard.db.store import StoreError
from heard.prompts.history import Exchange

AnswerHandler = Callable[[TurnRequest, Services, PromptHistory], AsyncGenerator[TurnEvent, None]]
"""Answers a message that is stored as PENDING, and closes it with `close_message`."""

LATER_SECONDS = (1, 5, 30, 120)
"""Pauses before a crisis that could not be stored is tried again."""
NOT_SENT = "Your message was not sent to the model."
TOO_BUSY = (
    "Too many messages came at once, so yours was neither read nor answered. Please send it again in a few seconds. If "
    'you are in danger, do not wait: "Crisis help" at the top of this page has numbers to call.'
)

log = logging.getLogger(__name__)


async def run_turn(
    request: TurnRequest,
    services: Services,
    answer: AnswerHandler | None = None,
    *,
    refusal: str | None = None,
    naming: Naming = Naming.NAMED,
) -> AsyncGenerator[TurnEvent, None]:
    """Run the turn of one message and yield its events, in the order of `events.py`. Closing the generator is Stop.

    A crisis is handed off here, and so is every message after a hand-off that ended the conversation. Any other message
    is stored. A turn about the person's safety gets a reviewed text, a question about the bot its fixed text, which
    names the model as `naming` says; what is left is passed to `answer` (default: `write_reply`). With a `refusal`, a
    plain sentence that says why (the conversation is busy, say), a message is stored and not answered.

    Raises nothing that a person could cause: failures of models and database are events with a plain sentence.
    """
    try:
        request = replace(request, text=await _cleaned(request, services))
        reading = await read_message(request, services)
    except QueueFull:
        stored = await _store_message(request, services, Outcome.REFUSED)
        yield Refused(f"{TOO_BUSY} {stored}" if isinstance(stored, str) else TOO_BUSY)
        return
    except StoreError as error:
        log.error("a conversation could not be read: %s", type(error).__name__)
        yield Refused(f"{error} {NOT_SENT}")
        return
    verdict = reading.verdict
    if verdict.crisis:
        services.unsaved_hand_offs.add(request.whose, request.message_id)
        try:
            # The numbers come first: a locked database must not keep them from the person.
            yield CrisisShown(handoff(request.country, verdict.language, verdict.danger))
        finally:
            await _store_hand_off(request, services, verdict)
        return
    care = await safety_turn(request, services, verdict, reading.standing)
    async with services.unsaved_hand_offs.in_turn(request.whose):
        if care and care.safety is Safety.SAFE:
            services.unsaved_hand_offs.over(request.whose)
        admitted = await _admit(request, services, refusal, care.safety if care else None)
    if isinstance(admitted, Refused):
        yield admitted
        return
    try:
        fixed = care.text if care else await bot_answer(request, services, opening=not admitted.turns, naming=naming)
    except asyncio.CancelledError:
        await asyncio.shield(close_message(request, services, Outcome.STOPPED, None))
        raise
    if care and care.safety is Safety.SUPPORTED and services.settings.crisis_model:
        events = _supported_reply(request, services, reading.standing, care.text)
    elif fixed:
        events = _fixed_reply(request, services, fixed, care.safety if care else None)
    else:
        events = (answer or write_reply)(request, services, admitted)
    async with aclosing(events):
        async for event in events:
            yield event


async def _cleaned(request: TurnRequest, services: Services) -> str:
    """Return the text as it can be stored. One that is too long is not gone through in the event loop."""
    if len(request.text) <= services.settings.message_limit:
        return clean_unicode(request.text)
    return await services.reading.run(request.participant_id, partial(clean_unicode, request.text))


async def _store_hand_off(request: TurnRequest, services: Services, verdict: SafetyVerdict) -> None:
    """Store a crisis. While it could not be, the next messages are answered as after a hand-off all the same."""
    if not await _hand_off_stored(request, services, verdict):
        in_background(_store_later(request, services, verdict))


async def _store_later(request: TurnRequest, services: Services, verdict: SafetyVerdict) -> None:
    for pause in LATER_SECONDS:
        await asyncio.sleep(pause)
        if await _hand_off_stored(request, services, verdict):
            return


async def _hand_off_stored(request: TurnRequest, services: Services, verdict: SafetyVerdict) -> bool:
    """Try once; True also where it is not to be stored any more: erased, or the person has said that they are safe."""
    unsaved = services.unsaved_hand_offs
    async with unsaved.in_turn(request.whose):
        if services.store.is_erased(request.conversation_id):
            unsaved.over(request.whose)
        if not unsaved.holds(request.whose, request.message_id):
            return True
        if isinstance(await _store_message(request, services, Outcome.CRISIS, verdict=verdict), str):
            return False
        unsaved.stored(request.whose, request.message_id)
        return True


async def _supported_reply(
    request: TurnRequest, services: Services, standing: Standing, fixed: str
) -> AsyncGenerator[TurnEvent, None]:
    """Give and store what the model of `crisis_model` writes, else the `fixed` text. Neither scored nor votable."""
    try:
        yield DraftStarted(1, None, scored=False)
        drafts = await supported_by_model(request, services, standing)
    except (asyncio.CancelledError, GeneratorExit):
        await asyncio.shield(close_message(request, services, Outcome.STOPPED, None))
        raise
    async with aclosing(_fixed_reply(request, services, fixed, Safety.SUPPORTED, drafts)) as events:
        async for event in events:
            yield event


async def _fixed_reply(
    request: TurnRequest, services: Services, text: str, safety: Safety | None, drafts: Drafts | None = None
) -> AsyncGenerator[TurnEvent, None]:
    """Give and store a whole text: what `drafts` hold, else one that no model writes. Neither scored nor votable."""
    if drafts is None:
        drafts = Drafts()
        drafts.begin_fixed(text, 1, None)
        drafts.end(DraftStatus.COMPLETE)
    reply = drafts.reply_record(request)
    assert reply is not None
    try:
        yield DraftStarted(1, None, scored=False)
        yield Token(reply.kept.text)
        yield DraftComplete()
    finally:
        # A Stop leaves nothing to stop: the text was whole before it was shown.
        closing = asyncio.ensure_future(close_message(request, services, Outcome.ANSWERED, reply))
        fault = await _outcome_of(closing)
    yield Finished(reply, votable=False, safety=safety) if fault is None else _not_saved(fault, reply)


async def _admit(
    request: TurnRequest, services: Services, refusal: str | None, safety: Safety | None
) -> PromptHistory | Refused:
    """Store the message. Returns the history before it, or the event that says why it is not answered."""
    length, limit = len(request.text), services.settings.message_limit
    visible = has_visible(bounded_text(request.text, limit))
    if not visible and refusal is None:
        refusal = "Your message has no visible text in it. Write a few words and send it again."
    elif length > limit and refusal is None:
        refusal = (
            f"Your message has {length:,} characters, and {limit:,} fit into one. It was not sent to the model. "
            "Please shorten it or send it in parts."
        )
    if refusal is not None:
        if visible:
            await _store_message(request, services, Outcome.REFUSED)
        return Refused(refusal)
    past = await _store_message(request, services, Outcome.PENDING, safety)
    return Refused(f"{past} {NOT_SENT}") if isinstance(past, str) else past


async def write_reply(request: TurnRequest, services: Services, past: PromptHistory) -> AsyncGenerator[TurnEvent, None]:
    """Write the drafts of one reply and store it: complete, stopped or broken."""
    drafts = Drafts()
    history = exchanges(past)
    try:
        answer_request = AnswerRequest(
            persona=request.persona,
            strategy=request.strategy,
            model=request.model,
            history=history,
            text=request.text,
            policy=policy_in_force(services, request.auto_improve, request.threshold),
            summary=past.summary,
            may_fall_back=True,
        )
        async with aclosing(write_drafts(services, answer_request, drafts)) as events:
            async for event in events:
                yield event
    except (asyncio.CancelledError, GeneratorExit) as stop:
        drafts.end(DraftStatus.STOPPED)
        outcome = Outcome.ANSWERED if drafts.complete else Outcome.STOPPED
        # Shielded: what the person read before pressing Stop is written even if the task is cancelled once more.
        fault = await asyncio.shield(close_message(request, services, outcome, drafts.reply_record(request)))
        if fault is not None and isinstance(stop, asyncio.CancelledError):
            raise StoppedUnsaved(fault) from None
        raise
    except ModelFailure as failure:
        drafts.end(DraftStatus.BROKEN, failure.sentence)
        if not drafts.complete:
            fault = await close_message(request, services, Outcome.BROKEN, drafts.reply_record(request))
            yield Failed(f"{failure.sentence} {fault or ''}".strip(), kept_text=drafts.ended[-1].text)
            return
        # A rewrite that broke costs nothing: the earlier complete draft is kept.
    except Exception:
        # An internal error: the turn is closed so that nothing stays half written, and the page tells the person.
        drafts.end(DraftStatus.BROKEN, "Something went wrong in the program.")
        await close_message(
            request, services, Outcome.ANSWERED if drafts.complete else Outcome.BROKEN, drafts.reply_record(request)
        )
        raise

    reply = drafts.reply_record(request)
    assert reply is not None  # write_drafts ends without an exception only after a whole draft
    closing = asyncio.ensure_future(close_message(request, services, Outcome.ANSWERED, reply))
    fault = await _outcome_of(closing)
    if fault is None:
        _begin_summary(request, services, [*history, (request.text, reply.kept.text)])
        yield Finished(reply, votable=True)
    else:
        yield _not_saved(fault, reply)


async def _outcome_of(closing: "asyncio.Future[str | None]") -> str | None:
    """Return the result of `close_message` of a whole reply, also if the turn is cancelled meanwhile."""
    try:
        return await asyncio.shield(closing)
    except asyncio.CancelledError:
        return await closing  # a Stop that comes while the whole reply is being stored has nothing left to stop


def _not_saved(fault: str, reply: ReplyRecord) -> NotSaved:
    sentence = f"{fault} The reply stays on this page only and is not in your history."
    return NotSaved(sentence, reply.kept.text, reply.drafts)


async def _store_message(
    request: TurnRequest,
    services: Services,
    outcome: Outcome,
    safety: Safety | None = None,
    verdict: SafetyVerdict | None = None,
) -> PromptHistory | str:
    """Store the message, and with it what it was handed off for. Returns the history before it, or the sentence of the
    fault."""
    now = datetime.now(UTC)
    danger, language = (verdict.danger.value, verdict.language) if verdict else (None, None)
    try:
        return await services.store.open_turn(
            ConversationRecord(request.conversation_id, request.participant_id, request.persona.id, now),
            MessageRecord(
                request.message_id,
                request.conversation_id,
                request.text,
                outcome,
                now,
                safety=safety,
                danger=danger,
                language=language,
            ),
            request.replaces,
        )
    except StoreError as error:
        log.error("a message could not be stored: %s", type(error).__name__)
        return str(error)


def exchanges(past: PromptHistory) -> list[Exchange]:
    """Return the turns as (message, reply) pairs, as prompts take them."""
    return [(turn.message, turn.reply) for turn in past.turns]


def _begin_summary(request: TurnRequest, services: Services, history: History) -> None:
    """Start a summary in the background if the next turn may need one."""
    source = AnswerSource(request.persona, request.strategy, request.model)
    if may_need_summary(source, history):
        work = partial(summarise, services, request.conversation_id, source)
        services.summary_tasks.begin(request.conversation_id, work)


async def close_message(
    request: TurnRequest, services: Services, outcome: Outcome, reply: ReplyRecord | None
) -> str | None:
    """Store how the turn ended, in one transaction. Returns the sentence of the fault, or None."""
    try:
        await services.store.close_turn(request.message_id, outcome, reply)
    except StoreError as error:
        log.error("a reply could not be stored: %s", type(error).__name__)
        return str(error)
    return None
