"""Write a stored reply again because the person asked: with the same persona, strategy, model and policy.

    history before the message -> drafts -> store them beside the earlier ones -> the new one is the reply

The message has been read for danger before; nothing is written again that it did not pass. Whatever goes wrong, the
earlier draft stays the reply.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.drafting import write_drafts
from heard.chat_app.conversation.drafts import FIXED_TEXT, Drafts
from heard.chat_app.conversation.events import Finished, TurnEvent, TurnRequest
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import exchanges
from heard.chat_app.models.records import ModelFailure, ModelSpec
from heard.db.errors import StoreError
from heard.db.records import AskedBy, DraftStatus, ReplyRecord
from heard.prompts.policy_files import OFF
from heard.prompts.records import Policy, PolicyKind

STANDS = "The earlier reply stands."
NOT_WRITTEN = f"The model wrote nothing that may be shown. {STANDS}"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Again:
    """A reply to be written again, and what came of it."""

    reply: ReplyRecord
    """As it is stored: first with the earlier drafts alone, in the end with all."""
    fault: str | None = None
    """The sentence that says why the earlier draft is still the reply."""


async def write_again(request: TurnRequest, services: Services, again: Again) -> AsyncGenerator[TurnEvent, None]:
    """Write another draft and yield the events of it; the last is Finished with the reply as it then is.

    Closing the generator is Stop, and so is a cancellation: what had arrived is stored, and the earlier draft stands.
    """
    drafts = Drafts(asked_by=AskedBy.PERSON)
    try:
        past = await services.store.prompt_history(request.conversation_id, before=request.message_id)
        wanted = AnswerRequest(
            persona=request.persona,
            strategy=request.strategy,
            model=_with_other_seed(request, len(again.reply.drafts)),
            history=exchanges(past),
            text=request.text,
            policy=_policy(request, services, again.reply),
            summary=past.summary,
            may_fall_back=True,
        )
        async with aclosing(write_drafts(services, wanted, drafts)) as events:
            async for event in events:
                yield event
    except GeneratorExit:
        drafts.end(DraftStatus.STOPPED)
        await asyncio.shield(_store(services, again, drafts))
        raise
    except asyncio.CancelledError:
        drafts.end(DraftStatus.STOPPED)
    except ModelFailure as failure:
        drafts.end(DraftStatus.BROKEN, failure.sentence)
        again.fault = f"{failure.sentence} {STANDS}"
    except StoreError as error:
        log.error("a conversation could not be read: %s", type(error).__name__)
        again.fault = f"{error} {STANDS}"
    await asyncio.shield(_store(services, again, drafts))
    yield Finished(again.reply, votable=True)


async def _store(services: Services, again: Again, drafts: Drafts) -> None:
    """Store the new drafts. A fixed text, or what is not whole, does not take the earlier one's place."""
    written = drafts.with_best_kept()
    if not written:
        return
    best = next(draft for draft in written if draft.kept)
    whole = best.status is DraftStatus.COMPLETE and best.model != FIXED_TEXT
    if not whole:
        written = tuple(replace(draft, kept=False) for draft in written)
        if best.model == FIXED_TEXT:
            again.fault = NOT_WRITTEN
    try:
        again.reply = await services.store.add_drafts(again.reply.id, len(again.reply.drafts), written)
    except StoreError as error:
        log.error("a reply could not be stored: %s", type(error).__name__)
        again.fault = f"{error} {STANDS}"


def _policy(request: TurnRequest, services: Services, reply: ReplyRecord) -> Policy:
    """Return the policy that the reply was written by, or none if it is gone."""
    policies = services.library.policies
    policy = policies.get(reply.policy or OFF, policies[OFF])
    return replace(policy, below=request.threshold) if policy.kind is PolicyKind.BELOW else policy


def _with_other_seed(request: TurnRequest, drafts: int) -> ModelSpec:
    """Return the model with another seed, if it has one: the same prompt with the same seed gives the same text."""
    model = request.model
    return model if model.seed is None else replace(model, seed=model.seed + drafts)
