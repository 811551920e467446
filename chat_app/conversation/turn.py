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

Inside = Callable[[TurnRequest, Services], AsyncGenerator[TurnEvent, None]]
"""What happens with a message that is no crisis."""
Answer = Callable[[TurnRequest, Services, Past], AsyncGenerator[TurnEvent, None]]
"""What happens with a message that is stored as pending and has to be answered, and closed by `close_message`."""

log = logging.getLogger(__name__)


async def run_turn(request: TurnRequest, services: Services) -> AsyncGenerator[TurnEvent, None]:
    """Answer one message, as events in the order of `records.py`. Closing the generator is the Stop button.

    Raises nothing that a person could cause: faults of models and database arrive as events with a plain sentence.
    """
    async with aclosing(run_answered_by(_answer, request, services)) as events:
        async for event in events:
            yield event


async def run_answered_by(answer: Answer, request: TurnRequest, services: Services) -> AsyncGenerator[TurnEvent, None]:
    """The way of every message that may be answered: past the crisis check, admitted, stored, and then `answer`."""
    async with aclosing(_door(request, services, partial(_admitted, answer=answer))) as events:
        async for event in events:
            yield event


async def run_beside(request: TurnRequest, services: Services, why: str) -> AsyncGenerator[TurnEvent, None]:
    """A message that gets no reply, for the reason `why` (a plain sentence): the conversation is busy, say.

    A crisis is handed off all the same, and first. Anything else is written down as refused; no model, no score.
    """

    async def refused(request: TurnRequest, services: Services) -> AsyncGenerator[TurnEvent, None]:
        if has_visible(request.text):
            await _open(request, services, Outcome.REFUSED)
        yield Refused(why)

    async with aclosing(_door(request, services, refused)) as events:
        async for event in events:
            yield event


async def _door(request: TurnRequest, services: Services, inside: Inside) -> AsyncGenerator[TurnEvent, None]:
    """The way of every message: a crisis is handed off here, and only what is none gets `inside`."""
    request = replace(request, text=readable(request.text))
    verdict = crisis_check.check(request.text)
    events = _hand_off(request, services, verdict.language) if verdict.crisis else inside(request, services)
    async with aclosing(events):
        async for event in events:
            yield event


async def _admitted(request: TurnRequest, services: Services, *, answer: Answer) -> AsyncGenerator[TurnEvent, None]:
    if not has_visible(request.text):
        yield Refused("Your message has no visible text in it. Write a few words and send it again.")
        return
    length, limit = len(request.text), services.settings.message_limit
    if length > limit:
        await _open(request, services, Outcome.REFUSED)
        yield Refused(
            f"Your message has {length:,} characters, and {limit:,} fit into one. It was not sent to the model. "
            "Please shorten it or send it in parts."
        )
        return

    earlier = await _open(request, services, Outcome.PENDING)
    if isinstance(earlier, str):
        yield Refused(f"{earlier} Your message was not sent to the model.")
        return
    async with aclosing(answer(request, services, earlier)) as events:
        async for event in events:
            yield event


async def _hand_off(request: TurnRequest, services: Services, language: str | None) -> AsyncGenerator[TurnEvent, None]:
    try:
        # The numbers come first: a locked database must not keep them from the person.
        yield CrisisShown(crisis_check.handoff(request.country, language))
    finally:
        await _open(request, services, Outcome.CRISIS)


async def _answer(request: TurnRequest, services: Services, past: Past) -> AsyncGenerator[TurnEvent, None]:
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
