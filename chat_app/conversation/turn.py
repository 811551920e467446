"""One chat turn, start to finish. Everything that a reply depends on is decided here; the page only shows the events.

    check for a crisis -> write the message down -> prompt -> stream -> score -> (write again if low) -> store -> done
    (and, nobody waiting: sum up what will not fit the next prompt)

The order is the safety: a crisis message ends the turn before a prompt exists, and nothing is generated for a message
that could not be written down first.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from heard.chat_app.common.text import has_visible, readable
from heard.chat_app.conversation.answer_request import Asked, History
from heard.chat_app.conversation.drafting import write_drafts
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import CrisisShown, Failed, Finished, NotSaved, Refused, TurnEvent, TurnRequest
from heard.chat_app.conversation.rewriting import policy_in_force
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.summaries import Voice, is_near, summarise
from heard.chat_app.models.records import ModelFailure
from heard.chat_app.safety import crisis_check
from heard.db.records import ConversationRecord, DraftStatus, MessageRecord, Outcome, Past, ReplyRecord
from heard.db.store import StoreError
from heard.prompts.history import Exchange

Answer = Callable[[TurnRequest, Services, Past], AsyncGenerator[TurnEvent, None]]
"""What happens with a message that is stored as pending and has to be answered, and closed by `close_message`."""

log = logging.getLogger(__name__)


async def run_turn(
    request: TurnRequest, services: Services, answer: Answer | None = None, *, refusal: str | None = None
) -> AsyncGenerator[TurnEvent, None]:
    """The way of every message, as events in the order of `events.py`. Closing the generator is the Stop button.

    A crisis is handed off here, and only what is none is admitted, stored and given to `answer` (default: a reply). A
    message that gets none, because the conversation is busy, say, has a `refusal`: the plain sentence that says why.

    Raises nothing that a person could cause: faults of models and database arrive as events with a plain sentence.
    """
    request = replace(request, text=readable(request.text))
    verdict = crisis_check.check(request.text)
    if verdict.crisis:
        try:
            # The numbers come first: a locked database must not keep them from the person.
            yield CrisisShown(crisis_check.handoff(request.country, verdict.language))
        finally:
            await _open(request, services, Outcome.CRISIS)
        return
    admitted = await _admit(request, services, refusal)
    if isinstance(admitted, Refused):
        yield admitted
        return
    async with aclosing((answer or write_reply)(request, services, admitted)) as events:
        async for event in events:
            yield event


async def _admit(request: TurnRequest, services: Services, refusal: str | None) -> Past | Refused:
    """Write the message down. What was said before it, or why it is not answered."""
    visible, length, limit = has_visible(request.text), len(request.text), services.settings.message_limit
    if not visible and refusal is None:
        refusal = "Your message has no visible text in it. Write a few words and send it again."
    elif length > limit and refusal is None:
        refusal = (
            f"Your message has {length:,} characters, and {limit:,} fit into one. It was not sent to the model. "
            "Please shorten it or send it in parts."
        )
    if refusal is not None:
        if visible:
            await _open(request, services, Outcome.REFUSED)
        return Refused(refusal)
    past = await _open(request, services, Outcome.PENDING)
    return Refused(f"{past} Your message was not sent to the model.") if isinstance(past, str) else past


async def write_reply(request: TurnRequest, services: Services, past: Past) -> AsyncGenerator[TurnEvent, None]:
    """The drafts of one reply, and its end: stored whole, stored as stopped, or stored as broken."""
    made = Drafts()
    history = exchanges(past)
    try:
        asked = Asked(
            persona=request.persona,
            strategy=request.strategy,
            model=request.model,
            history=history,
            text=request.text,
            policy=policy_in_force(services, request.auto_improve, request.threshold),
            summary=past.summary,
            may_fall_back=True,
        )
        async with aclosing(write_drafts(services, asked, made)) as events:
            async for event in events:
                yield event
    except (asyncio.CancelledError, GeneratorExit):
        made.end(DraftStatus.STOPPED)
        outcome = Outcome.ANSWERED if made.complete else Outcome.STOPPED
        # Shielded: what the person read before pressing Stop is written even if the task is cancelled once more.
        await asyncio.shield(close_message(request, services, outcome, made.reply(request)))
        raise
    except ModelFailure as failure:
        made.end(DraftStatus.BROKEN, failure.sentence)
        if not made.complete:
            fault = await close_message(request, services, Outcome.BROKEN, made.reply(request))
            yield Failed(f"{failure.sentence} {fault or ''}".strip(), kept_text=made.ended[-1].text)
            return
        # A rewrite that broke costs nothing: the earlier whole draft stands.
    except Exception:
        # A fault of our own: the turn is closed so that nothing stays half written, and the page tells the person.
        made.end(DraftStatus.BROKEN, "Something went wrong in the program.")
        await close_message(
            request, services, Outcome.ANSWERED if made.complete else Outcome.BROKEN, made.reply(request)
        )
        raise

    reply = made.reply(request)
    assert reply is not None  # write_drafts ends without an exception only after a whole draft
    closing = asyncio.ensure_future(close_message(request, services, Outcome.ANSWERED, reply))
    try:
        fault = await asyncio.shield(closing)
    except asyncio.CancelledError:
        fault = await closing  # a Stop that comes while the whole reply is being stored has nothing left to stop
    if fault is None:
        _sum_up(request, services, [*history, (request.text, reply.kept.text)])
        yield Finished(reply, votable=True)
    else:
        sentence = f"{fault} The reply stays on this page only and is not in your history."
        yield NotSaved(sentence, reply.kept.text, reply.drafts)


async def _open(request: TurnRequest, services: Services, outcome: Outcome) -> Past | str:
    """Write the message down. Returns what was said before it, or the sentence of the fault."""
    now = datetime.now(UTC)
    try:
        return await services.store.open_turn(
            ConversationRecord(request.conversation_id, request.participant_id, request.persona.id, now),
            MessageRecord(request.message_id, request.conversation_id, request.text, outcome, now),
        )
    except StoreError as error:
        log.error("a message could not be stored: %s", type(error).__name__)
        return str(error)


def exchanges(past: Past) -> list[Exchange]:
    """What was said before, as prompts take it."""
    return [(turn.message, turn.reply) for turn in past.turns]


def _sum_up(request: TurnRequest, services: Services, history: History) -> None:
    """Have the next turn find a summary, if it will need one. Nobody waits for it."""
    voice = Voice(request.persona, request.strategy, request.model)
    if is_near(voice, history):
        work = partial(summarise, services, request.conversation_id, voice)
        services.summaries.begin(request.conversation_id, work)


async def close_message(
    request: TurnRequest, services: Services, outcome: Outcome, reply: ReplyRecord | None
) -> str | None:
    """Store how the turn ended, in one transaction. Returns None, or the sentence of the fault."""
    try:
        await services.store.close_turn(request.message_id, outcome, reply)
    except StoreError as error:
        log.error("a reply could not be stored: %s", type(error).__name__)
        return str(error)
    return None
