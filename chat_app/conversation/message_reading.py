"""How a message is read for danger: the rules at once, then with what the conversation remembers.

What the rules alone hand off never waits for the database. Whatever else a message may be, it is judged with the
person's messages before it, with what was said after a hand-off or a check-in, and together with the signs of several.
"""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial

from heard.chat_app.conversation.check_in import Answer, read_answer
from heard.chat_app.conversation.events import TurnRequest
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.standing import Standing
from heard.chat_app.safety.assessment import assess, first_reading
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.safety.handoff import ending_dangers
from heard.chat_app.safety.rising import RisingReader
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.db.safety_history import SafetyHistory

HISTORY_SECONDS = 0.25
"""How long the head, which finds what the rules do not, waits for the person's earlier messages."""

_GRAVITY = list(Level)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MessageReading:
    """How a message is met, and where its conversation stands."""

    verdict: SafetyVerdict
    standing: Standing


async def read_message(request: TurnRequest, services: Services) -> MessageReading:
    """Read a message that is not stored yet.

    Of a message that is too long its beginning and its end are read (`bounded_text`).

    Raises StoreError if the conversation cannot be read, unless the message is to be handed off without it. Raises
    QueueFull where too much waits to be read.
    """
    limit, whose = services.settings.message_limit, request.participant_id
    text = bounded_text(request.text, limit)
    remembering = asyncio.ensure_future(_remembered(request, services))
    try:
        verdict = await services.reading.run(whose, partial(first_reading, text))
        if not verdict.crisis:
            await asyncio.wait([remembering], timeout=HISTORY_SECONDS)
            if not remembering.done() or remembering.exception() is not None:
                verdict = await services.reading.run(whose, partial(assess, text))
        if verdict.crisis:
            return MessageReading(verdict, Standing(SafetyHistory()))
        standing = await asyncio.shield(remembering)
        if (ended := await _ended(request, services, standing.history)) is not None:
            return MessageReading(ended, standing)
        judge = partial(_judge, text, standing, services.rising, limit)
        return MessageReading(await services.reading.run(whose, judge), standing)
    finally:
        # A read that nobody waits for any more ends by itself; its fault is of no interest.
        remembering.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _remembered(request: TurnRequest, services: Services) -> Standing:
    """Where the conversation stands, with a hand-off that was shown and is not stored yet. Raises StoreError."""
    # Asked before the conversation is read: a hand-off that comes to the database meanwhile would be in neither.
    unsaved = request.whose in services.unsaved_hand_offs
    return Standing(await services.store.safety_history(request.conversation_id, request.participant_id), unsaved)


async def _ended(request: TurnRequest, services: Services, history: SafetyHistory) -> SafetyVerdict | None:
    """Return the verdict of the hand-off that ended this conversation, or None while it goes on. Raises StoreError:
    nothing is generated for a child because of a fault."""
    if not any(turn.handed_off for turn in history.turns):
        return None
    first = await services.store.first_handoff(request.conversation_id, request.participant_id, ending_dangers())
    if first is None or first.danger is None:
        return None
    return SafetyVerdict(Level.CRISIS, first.danger, first.language, Danger(first.danger), "conversation")


def _judge(text: str, standing: Standing, rising: RisingReader, limit: int) -> SafetyVerdict:
    """Return how a message is met in its conversation. Blocking."""
    before = tuple(bounded_text(earlier, limit) for earlier in standing.history.messages)
    # What was handed off is not read again with every next message: after it the lower threshold holds.
    earlier = () if standing.alert or standing.history.turns else before
    verdict = assess(text, earlier, alert=standing.alert)
    if verdict.crisis:
        return verdict
    verdict = max(verdict, rising.read((*before, text)), key=lambda one: _GRAVITY.index(one.level))
    if verdict.crisis:
        return verdict
    answer = read_answer(text) if standing.answering else None
    # Asked once, and not answered: where there is a second reason to ask, nobody is asked again.
    unanswered = (
        verdict.level is Level.CHECK_IN and standing.checked_in and not standing.denied and answer is not Answer.NO
    )
    if answer is Answer.YES or (unanswered and not standing.in_support):
        return SafetyVerdict(Level.CRISIS, Danger.SUICIDE.value, verdict.language or "en", reader="conversation")
    return verdict
