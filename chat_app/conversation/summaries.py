"""Running summaries of long conversations: made after a reply, for the turns after it.

    a reply is stored -> does the history still fit with room to spare? -> else: sum up the oldest -> store

The same model that answered is asked, by a call that nobody sees. A summary is made from the one before it and the
turns that have fallen out since. When it is due, more than the least is summed up: so it is due seldom, and the prompts
between two of them begin alike, which a server's prompt cache makes use of. Where it fails, the chat goes on without.
"""

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from heard.chat_app.conversation.hidden_call import ask_hidden
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.client import Models
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.safety import crisis_check
from heard.db.past import HISTORY_TURNS
from heard.db.records import SummaryRecord, Told, Untold
from heard.prompts.build import build_prompt
from heard.prompts.history import FIRST_SHARE, Exchange, TokenCounter, exchange_tokens, prompt_tokens, token_upper_bound
from heard.prompts.records import Persona, Prompt, Strategy
from heard.prompts.summary import SummaryInstructions, build_summary_prompt

FULL = 0.75
"""Of the room for history: past this a summary is due, so that it is there before it is needed."""
KEPT = 0.4
"""Of the same room: what stays word for word when one is made."""
ROUNDS = 8
"""Calls at most after one reply, for a history that is longer than one call can read."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Voice:
    """Who answers in a conversation: what its prompts hold beside the history."""

    persona: Persona
    strategy: Strategy
    model: ModelSpec


def is_near(voice: Voice, history: Sequence[Exchange]) -> bool:
    """Whether a history may need a summary; quick, and when in doubt it says yes."""
    size = token_upper_bound(text for pair in history for text in pair)
    return len(history) > HISTORY_TURNS or size > FULL * _window(voice)


async def summarise(services: Services, conversation_id: str, voice: Voice) -> None:
    """Bring the conversation's summary up to date, in as many calls as it needs (ROUNDS at most).

    Raises ModelFailure, StoreError. Nothing of a crisis is in it: such messages are no turns, and a
    summary that reads like one is thrown away.
    """
    told = services.library.summary
    for _ in range(ROUNDS):
        untold = await services.store.untold(conversation_id)
        due = await asyncio.to_thread(_due, services.models, voice, untold, told)
        if due is None:
            return
        summary = await _asked(services.models, voice.model, conversation_id, due)
        if crisis_check.check(summary.text).crisis:
            log.warning("a summary was thrown away: it reads like a crisis")
            return
        await services.store.save_summary(summary)


@dataclass(frozen=True, slots=True)
class _Due:
    """A summary to be made."""

    prompt: Prompt
    last: Told
    """The newest turn in it."""


def _due(models: Models, voice: Voice, untold: Untold, told: SummaryInstructions) -> _Due | None:
    """The next summary of a conversation; None while everything fits."""
    count: TokenCounter = partial(models.count_tokens, voice.model)
    fallen = _fallen(voice, untold, told, count)
    if not fallen:
        return None
    pairs = [(turn.message, turn.reply) for turn in fallen]
    prompt, number = build_summary_prompt(
        told, untold.summary, pairs, context_tokens=voice.model.context_tokens, count=count
    )
    return _Due(prompt, fallen[number - 1])


def _fallen(voice: Voice, untold: Untold, told: SummaryInstructions, count: TokenCounter) -> list[Told]:
    """The turns that have to make room, oldest first; none while there is room to spare."""
    if untold.first is None:
        return []
    head = build_prompt(voice.persona, voice.strategy, [], "", count=count).messages
    room = _window(voice) - prompt_tokens(head, count) - told.max_tokens
    first = exchange_tokens((untold.first.message, untold.first.reply), count)
    turns = untold.turns
    if first <= room * FIRST_SHARE:  # it stays in every prompt, so it is no part of a summary
        room -= first
        turns = [turn for turn in turns if turn.message_id != untold.first.message_id]
    sizes = [exchange_tokens((turn.message, turn.reply), count) for turn in turns]
    if sum(sizes) <= FULL * room and len(turns) <= HISTORY_TURNS:
        return []
    kept, size = 1, sum(sizes[-1:])  # the newest turn is never out of sight
    while kept < min(len(turns), HISTORY_TURNS // 2) and size + sizes[-kept - 1] <= KEPT * room:
        size += sizes[-kept - 1]
        kept += 1
    return turns[:-kept]


async def _asked(models: Models, model: ModelSpec, conversation_id: str, due: _Due) -> SummaryRecord:
    now = datetime.now(UTC)
    call = await ask_hidden(models, model, due.prompt, "summary")
    return SummaryRecord(
        id=str(uuid.uuid4()),
        conversation_id=conversation_id,
        message_id=due.last.message_id,
        text=call.text,
        model=call.model,
        prompt_sha256=call.prompt_sha256,
        seconds=call.total_seconds,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        created_at=now,
    )


def _window(voice: Voice) -> int:
    return voice.model.context_tokens - voice.persona.max_tokens
