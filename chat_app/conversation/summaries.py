"""Running summaries of long conversations, made after a reply for the turns that follow it.

    a reply is stored -> does the history still fit with room to spare? -> else: summarise the oldest turns -> store

The model that answered writes it, in a hidden call. A summary is made from the previous one and the turns that no
longer fit. It covers more turns than it must: so it is due seldom, and the prompts between two summaries begin alike,
which a server's prompt cache makes use of. If it fails, the chat goes on without one.
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
from heard.db.prompt_history import HISTORY_TURNS
from heard.db.records import StoredTurn, SummaryRecord, UnsummarisedHistory
from heard.prompts.build import build_prompt
from heard.prompts.history import FIRST_SHARE, Exchange, TokenCounter, exchange_tokens, prompt_tokens, token_upper_bound
from heard.prompts.records import Persona, Prompt, Strategy
from heard.prompts.summary import SummaryInstructions, build_summary_prompt

DUE_SHARE = 0.75
"""Share of the room for history from which a summary is due, so that it exists before it is needed."""
KEPT_SHARE = 0.4
"""Share of the same room that is kept word for word when a summary is made."""
MOST_CALLS = 8
"""Most calls after one reply, for a history that is longer than one call can read."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """What answers in a conversation: all that its prompts hold beside the history."""

    persona: Persona
    strategy: Strategy
    model: ModelSpec


def may_need_summary(source: AnswerSource, history: Sequence[Exchange]) -> bool:
    """Return whether a history may need a summary. A quick estimate that errs towards True."""
    size = token_upper_bound(text for pair in history for text in pair)
    return len(history) > HISTORY_TURNS or size > DUE_SHARE * _context_room(source)


async def summarise(services: Services, conversation_id: str, source: AnswerSource) -> None:
    """Bring the conversation's summary up to date, in at most MOST_CALLS calls.

    A summary never holds anything of a crisis: messages in a crisis are not among the turns, and a summary that reads
    like one is discarded. Raises ModelFailure and StoreError.
    """
    instructions = services.library.summary
    for _ in range(MOST_CALLS):
        history = await services.store.unsummarised_history(conversation_id)
        planned = await asyncio.to_thread(_next_summary, services.models, source, history, instructions)
        if planned is None:
            return
        summary = await _write_summary(services.models, source.model, conversation_id, planned)
        if crisis_check.check(summary.text).crisis:
            log.warning("a summary was thrown away: it reads like a crisis")
            return
        await services.store.save_summary(summary)


@dataclass(frozen=True, slots=True)
class _PlannedSummary:
    """A summary to be written."""

    prompt: Prompt
    last: StoredTurn
    """The newest turn that it covers."""


def _next_summary(
    models: Models, source: AnswerSource, history: UnsummarisedHistory, instructions: SummaryInstructions
) -> _PlannedSummary | None:
    """Return the next summary to be written; None while everything fits."""
    count: TokenCounter = partial(models.count_tokens, source.model)
    turns = _turns_to_summarise(source, history, instructions, count)
    if not turns:
        return None
    pairs = [(turn.message, turn.reply) for turn in turns]
    prompt, number = build_summary_prompt(
        instructions, history.summary, pairs, context_tokens=source.model.context_tokens, count=count
    )
    return _PlannedSummary(prompt, turns[number - 1])


def _turns_to_summarise(
    source: AnswerSource, history: UnsummarisedHistory, instructions: SummaryInstructions, count: TokenCounter
) -> list[StoredTurn]:
    """Return the turns to be summarised, oldest first; none while there is room to spare."""
    if history.first is None:
        return []
    head = build_prompt(source.persona, source.strategy, [], "", count=count).messages
    room = _context_room(source) - prompt_tokens(head, count) - instructions.max_tokens
    first = exchange_tokens((history.first.message, history.first.reply), count)
    turns = history.turns
    if first <= room * FIRST_SHARE:  # it stays in every prompt, so it is no part of a summary
        room -= first
        turns = [turn for turn in turns if turn.message_id != history.first.message_id]
    sizes = [exchange_tokens((turn.message, turn.reply), count) for turn in turns]
    if sum(sizes) <= DUE_SHARE * room and len(turns) <= HISTORY_TURNS:
        return []
    kept, size = 1, sum(sizes[-1:])  # the newest turn is never out of sight
    while kept < min(len(turns), HISTORY_TURNS // 2) and size + sizes[-kept - 1] <= KEPT_SHARE * room:
        size += sizes[-kept - 1]
        kept += 1
    return turns[:-kept]


async def _write_summary(
    models: Models, model: ModelSpec, conversation_id: str, planned: _PlannedSummary
) -> SummaryRecord:
    now = datetime.now(UTC)
    call = await ask_hidden(models, model, planned.prompt, "summary")
    return SummaryRecord(
        id=str(uuid.uuid4()),
        conversation_id=conversation_id,
        message_id=planned.last.message_id,
        text=call.text,
        model=call.model,
        prompt_sha256=call.prompt_sha256,
        seconds=call.total_seconds,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        created_at=now,
    )


def _context_room(source: AnswerSource) -> int:
    return source.model.context_tokens - source.persona.max_tokens
