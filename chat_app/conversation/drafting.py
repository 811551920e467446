"""The drafts of one answer: prompt, model, score, and again as the policy has it (`rewriting.py`).

    build the prompt -> stream -> score -> (say what was weak, write again) -> ...

Chat turns and the answers of studies are written here alike. Nothing here knows about safety or storing: a caller asks
only for what is no crisis.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from heard.chat_app.conversation.answer_request import Asked
from heard.chat_app.conversation.context_window import fitted
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import DraftStarted, FellBack, Scored, Token, TurnEvent, Whole
from heard.chat_app.conversation.hidden_call import ask_hidden
from heard.chat_app.conversation.hidden_steps import run_steps
from heard.chat_app.conversation.rewriting import (
    CRITIQUE,
    Guidance,
    critique_guidance,
    critique_prompt,
    drawn_anew,
    goes_on,
    guidance_of,
)
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import Delta, ModelFailure, Waiting
from heard.db.records import DraftStatus
from heard.prompts.build import build_prompt
from heard.prompts.chain import for_reply
from heard.prompts.history import TokenCounter
from heard.prompts.records import PolicyKind, Prompt
from heard.scorer.score import Rated


async def write_drafts(services: Services, asked: Asked, made: Drafts) -> AsyncGenerator[TurnEvent, None]:
    """Generate, score, and write again as the policy has it. Fills `made` as it goes: a Stop loses nothing.

    Raises ModelFailure; the open draft, if there is one, is then still open in `made`.
    """
    made.policy = asked.policy.id
    guidance: Guidance | None = None
    for number in range(1, asked.policy.most_drafts + 1):
        yield DraftStarted(number, guidance.aim if guidance else None)
        async with aclosing(_draft(services, asked, number, guidance, made)) as events:
            async for event in events:
                yield event
        yield Whole()
        rated = await _rate(services, asked.text, made, asked.earlier)
        yield Scored(number, rated.score)
        # The numbers are on the page before the words behind them are sought: a person waits for the first.
        await _explain(services, rated, made)
        if not goes_on(asked.policy, made.complete, asked.history[-1][1] if asked.history else None):
            return
        guidance = await _guidance(services, asked, made)


async def _draft(
    services: Services, asked: Asked, number: int, guidance: Guidance | None, made: Drafts
) -> AsyncGenerator[TurnEvent, None]:
    """One draft by the model asked for or, where that fails before its first token, by its fallback.

    The fallback gets a prompt of its own, as it reads more or less, and writes whatever else the reply needs: the first
    one would be waited for again.
    """
    aim = guidance.aim if guidance else None
    while True:
        by = replace(asked, model=drawn_anew(asked.policy, made.stand_in or asked.model, number))
        try:
            if made.values is None:  # before the first draft, the hidden steps of the strategy
                async with aclosing(run_steps(services, by, made)) as waits:
                    async for wait in waits:
                        yield wait
            made_to_fit = await fitted(services.models, by.model, partial(_prompt, by, guidance, made))
            made.begin(by.model, made_to_fit.prompt, number, aim)
            made_to_fit.check()
            async with aclosing(services.models.stream(by.model, made_to_fit.prompt)) as stream:
                async for item in stream:
                    made.take(item)
                    match item:
                        case Delta(piece):
                            yield Token(piece)
                        case Waiting():
                            yield item
            made.end(DraftStatus.COMPLETE)
            return
        except ModelFailure:
            if not asked.may_fall_back or made.begun or by.model.fallback is None:
                raise
        made.stand_in, made.fallback_for = services.models.specs[by.model.fallback], asked.model.id
        yield FellBack()


def _prompt(asked: Asked, guidance: Guidance | None, made: Drafts, count: TokenCounter) -> Prompt:
    return build_prompt(
        asked.persona,
        for_reply(asked.strategy, made.values or {}),
        asked.history,
        asked.text,
        guidance=guidance.text if guidance else None,
        summary=asked.summary,
        context_tokens=asked.model.context_tokens,
        count=count,
    )


async def _guidance(services: Services, asked: Asked, made: Drafts) -> Guidance | None:
    """What the next draft is told of the newest; a critique is asked for first, and kept with the draft it leads to."""
    newest = made.complete[-1]
    if asked.policy.kind is not PolicyKind.CRITIQUE:
        return guidance_of(asked.policy, newest, services.library)
    prompt = critique_prompt(asked.policy, asked.text, newest.text)
    critique = await ask_hidden(services.models, made.stand_in or asked.model, prompt, CRITIQUE)
    made.steps.append(critique)
    return critique_guidance(asked.policy, newest.text, critique.text)


async def score_newest(services: Services, message: str, made: Drafts) -> None:
    """Score the newest draft of `made`, which came whole and answers a first message, with its evidence: for one whose
    process died before that."""
    await _explain(services, await _rate(services, message, made, ()), made)


async def _rate(services: Services, message: str, made: Drafts, earlier: Sequence[str]) -> Rated:
    """The score of the draft that has just ended."""
    loop = asyncio.get_running_loop()
    written = made.ended[-1].text
    rated = await loop.run_in_executor(services.scoring, services.scorer.rated, message, written, earlier)
    made.rate(rated.score)
    return rated


async def _explain(services: Services, rated: Rated, made: Drafts) -> None:
    """The same score with its evidence."""
    loop, written = asyncio.get_running_loop(), made.ended[-1].text
    made.rate(await loop.run_in_executor(services.scoring, services.scorer.evidenced, rated, written))
