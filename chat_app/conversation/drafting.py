"""Write the drafts of one answer: prompt, model, score, and rewrites as the policy decides (`rewriting.py`).

    build the prompt -> stream -> score -> (guidance on what was weak, rewrite) -> ...

Chat turns and the answers of studies are both written here. Nothing here checks for a crisis or stores anything: that
is the caller's work.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.context_window import fit_prompt
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import DraftComplete, DraftStarted, FellBack, Scored, Token, TurnEvent
from heard.chat_app.conversation.examples import examples_for
from heard.chat_app.conversation.hidden_call import ask_hidden
from heard.chat_app.conversation.hidden_steps import run_steps
from heard.chat_app.conversation.rewriting import (
    CRITIQUE,
    Guidance,
    critique_guidance,
    critique_prompt,
    guidance_for,
    needs_another_draft,
    with_draft_seed,
)
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import Delta, ModelFailure, Waiting
from heard.db.records import DraftStatus
from heard.prompts.build import build_prompt, for_reply
from heard.prompts.history import TokenCounter
from heard.prompts.records import PolicyKind, Prompt
from heard.scorer.score import Rated


async def write_drafts(services: Services, request: AnswerRequest, drafts: Drafts) -> AsyncGenerator[TurnEvent, None]:
    """Generate, score and rewrite as the policy decides. Fills `drafts` on the way, so that a Stop loses nothing.

    Raises ModelFailure; a draft that was being written is then still open in `drafts`.
    """
    drafts.policy = request.policy.id
    guidance: Guidance | None = None
    for number in range(1, request.policy.most_drafts + 1):
        yield DraftStarted(number, guidance.aim if guidance else None)
        async with aclosing(_write_draft(services, request, number, guidance, drafts)) as events:
            async for event in events:
                yield event
        yield DraftComplete()
        rated = await _score_newest(services, request.text, drafts, request.earlier)
        yield Scored(number, rated.score)
        # The numbers are on the page before the evidence is computed: the person waits for the numbers.
        await _add_evidence(services, rated, drafts)
        last_reply = request.history[-1][1] if request.history else None
        if not needs_another_draft(request.policy, drafts.complete, last_reply):
            return
        guidance = await _next_guidance(services, request, drafts)


async def _write_draft(
    services: Services, request: AnswerRequest, number: int, guidance: Guidance | None, drafts: Drafts
) -> AsyncGenerator[TurnEvent, None]:
    """Write one draft with the requested model or, if that fails before its first token, with its fallback.

    The fallback gets a prompt of its own, because its context window differs, and writes all later drafts too: the
    first model would only be waited for again.
    """
    aim = guidance.aim if guidance else None
    while True:
        attempt = replace(request, model=with_draft_seed(request.policy, drafts.fallback or request.model, number))
        try:
            if drafts.variables is None:  # before the first draft, the hidden steps of the strategy
                async with aclosing(run_steps(services, attempt, drafts)) as waits:
                    async for wait in waits:
                        yield wait
            build = partial(_build_prompt, services, attempt, guidance, drafts)
            fitted = await fit_prompt(services.models, attempt.model, build)
            drafts.begin(attempt.model, fitted.prompt, number, aim)
            fitted.check()
            async with aclosing(services.models.stream(attempt.model, fitted.prompt)) as stream:
                async for item in stream:
                    drafts.add_item(item)
                    match item:
                        case Delta(piece):
                            yield Token(piece)
                        case Waiting():
                            yield item
            drafts.end(DraftStatus.COMPLETE)
            return
        except ModelFailure:
            if not request.may_fall_back or drafts.has_text or attempt.model.fallback is None:
                raise
        drafts.fallback, drafts.fallback_for = services.models.specs[attempt.model.fallback], request.model.id
        yield FellBack()


def _build_prompt(
    services: Services, request: AnswerRequest, guidance: Guidance | None, drafts: Drafts, count: TokenCounter
) -> Prompt:
    return build_prompt(
        request.persona,
        for_reply(request.strategy, drafts.variables or {}),
        request.history,
        request.text,
        guidance=guidance.text if guidance else None,
        summary=request.summary,
        examples=examples_for(services.examples, services.library.examples, request),
        context_tokens=request.model.context_tokens,
        count=count,
    )


async def _next_guidance(services: Services, request: AnswerRequest, drafts: Drafts) -> Guidance | None:
    """Return the guidance for the next draft. A critique is requested first and stored with the draft it leads to."""
    newest = drafts.complete[-1]
    if request.policy.kind is not PolicyKind.CRITIQUE:
        return guidance_for(request.policy, newest, services.library)
    prompt = critique_prompt(request.policy, request.text, newest.text)
    critique = await ask_hidden(services.models, drafts.fallback or request.model, prompt, CRITIQUE)
    drafts.steps.append(critique)
    return critique_guidance(request.policy, newest.text, critique.text)


async def score_newest_draft(services: Services, message: str, drafts: Drafts) -> None:
    """Score the newest draft, with its evidence: for a complete one whose process died before it was scored. `message`
    must be the first of its conversation."""
    await _add_evidence(services, await _score_newest(services, message, drafts, ()), drafts)


async def _score_newest(services: Services, message: str, drafts: Drafts, earlier: Sequence[str]) -> Rated:
    """Score the draft that has just ended."""
    loop = asyncio.get_running_loop()
    text = drafts.ended[-1].text
    rated = await loop.run_in_executor(services.scoring, services.scorer.rated, message, text, earlier)
    drafts.set_score(rated.score)
    return rated


async def _add_evidence(services: Services, rated: Rated, drafts: Drafts) -> None:
    """Set the same score again with its evidence, the words that carried it."""
    loop, text = asyncio.get_running_loop(), drafts.ended[-1].text
    drafts.set_score(await loop.run_in_executor(services.scoring, services.scorer.evidenced, rated, text))
