"""Write the drafts of one answer: prompt, model, score, and rewrites as the policy decides (`rewriting.py`).

    build the prompt -> stream through the gate (reply_gate.py) -> score -> (guidance on what was weak, rewrite) -> ...

Chat turns and the answers of studies are both written here. Nothing here checks for a crisis or stores anything: that
is the caller's work.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from heard.chat_app.common.text import has_visible
from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.context_window import fit_prompt
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import (
    DraftComplete,
    DraftStarted,
    FellBack,
    ModelThinks,
    Scored,
    Token,
    TurnEvent,
)
from heard.chat_app.conversation.examples import examples_for
from heard.chat_app.conversation.hidden_call import ask_hidden
from heard.chat_app.conversation.hidden_steps import run_steps
from heard.chat_app.conversation.reply_gate import ReplyGate, example_text, fixed_reply, open_gate
from heard.chat_app.conversation.rewriting import (
    CRITIQUE,
    GUARD,
    Guidance,
    critique_guidance,
    critique_prompt,
    guidance_for,
    lacks_watched,
    needs_another_draft,
    with_draft_seed,
    with_reason,
)
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import Delta, ModelFailure, ModelSpec, Rethought, Thinking, Usage, Waiting
from heard.chat_app.safety.reply_guard import Caught
from heard.db.records import DraftStatus, StepRecord
from heard.prompts.build import build_prompt, for_reply
from heard.prompts.history import TokenCounter
from heard.prompts.records import PolicyKind, Prompt
from heard.scorer.rater import Rater
from heard.scorer.score import Rated

TRIES = 3
"""Of one draft: the first, and two more after one that may not be shown."""
MOST_DRAFTS = 8
"""Of one answer, so that a fixed text still fits into the nine that the data keeps."""


async def write_drafts(services: Services, request: AnswerRequest, drafts: Drafts) -> AsyncGenerator[TurnEvent, None]:
    """Generate, score and rewrite as the policy decides. Fills `drafts` on the way, so that a Stop loses nothing.

    Every draft passes the gate. One that may not be shown counts as one of best of n; under other policies it is
    written again at once, TRIES times at most. If none may be shown, a fixed text of the guard stands in their place.

    Raises ModelFailure; a draft that was being written is then still open in `drafts`.
    """
    drafts.policy, drafts.watches = request.policy.id, request.policy.watches
    drafts.guard = request.guard and services.guard is not None
    guidance: Guidance | None = None
    for _ in range(request.policy.most_drafts):
        tries = 1 if request.policy.kind is PolicyKind.BEST else TRIES
        async with aclosing(_write_fit_draft(services, request, guidance, drafts, tries)) as events:
            async for event in events:
                yield event
        if drafts.ended[-1].status is DraftStatus.COMPLETE:
            async with aclosing(_rate(services, request, drafts)) as events:
                async for event in events:
                    yield event
        if not _goes_on(services, request, drafts):
            break
        if drafts.complete:
            guidance = await _next_guidance(services, request, drafts)
    if not drafts.complete:
        async with aclosing(_write_last_resort(services, request, drafts)) as events:
            async for event in events:
                yield event


async def _rate(services: Services, request: AnswerRequest, drafts: Drafts) -> AsyncGenerator[TurnEvent, None]:
    """Score the draft that is complete now, if it is to be scored."""
    yield DraftComplete()
    if not request.scored:
        return
    if services.rater is not None:
        await _rate_newest(services.rater, request.text, drafts, request.earlier)
        return
    rated = await _score_newest(services, request.text, drafts, request.earlier)
    yield Scored(drafts.ended[-1].number, rated.score, drafts.watches)
    # The numbers are on the page before the evidence is computed: the person waits for the numbers.
    await _add_evidence(services, rated, drafts)


def _goes_on(services: Services, request: AnswerRequest, drafts: Drafts) -> bool:
    """Return whether the policy asks for another draft, after one that is complete or could not be shown."""
    if request.policy.kind is PolicyKind.BEST:
        if drafts.complete and lacks_watched(request.policy, drafts.complete[-1]):
            return False
        room = not (request.policy.where_room and services.engine.queue.waiting)
        return room and len(drafts.ended) < request.policy.most_drafts
    if drafts.ended[-1].status is not DraftStatus.COMPLETE:
        return False  # what is complete already stands, and of nothing complete more tries would be no better
    last_reply = request.history[-1][1] if request.history else None
    return needs_another_draft(request.policy, drafts.complete, last_reply)


async def _write_last_resort(
    services: Services, request: AnswerRequest, drafts: Drafts
) -> AsyncGenerator[TurnEvent, None]:
    """After drafts of which none may be shown: under best of n further tries, and then a fixed text of the guard."""
    if request.policy.kind is PolicyKind.BEST and (left := TRIES - len(drafts.ended)) > 0:
        async with aclosing(_write_fit_draft(services, request, None, drafts, left)) as events:
            async for event in events:
                yield event
    if drafts.complete:
        async with aclosing(_rate(services, request, drafts)) as events:
            async for event in events:
                yield event
    else:
        kind = next((draft.caught for draft in reversed(drafts.ended) if draft.caught), None)
        fixed = await asyncio.to_thread(fixed_reply, services, request, kind)
        yield DraftStarted(len(drafts.ended) + 1, GUARD, scored=False)  # no model wrote it, so that it is not rated
        drafts.begin_fixed(fixed, len(drafts.ended) + 1, GUARD)
        yield Token(fixed)
        drafts.end(DraftStatus.COMPLETE)
        yield DraftComplete()


async def _write_fit_draft(
    services: Services, request: AnswerRequest, guidance: Guidance | None, drafts: Drafts, tries: int
) -> AsyncGenerator[TurnEvent, None]:
    """Write a draft until one is COMPLETE, at most `tries` times. The last may end CAUGHT or EMPTY."""
    caught: Caught | None = None
    for _ in range(tries):
        if len(drafts.ended) >= MOST_DRAFTS:
            return
        number = len(drafts.ended) + 1
        told = with_reason(guidance, caught)
        yield DraftStarted(number, told.aim if told else None)
        gate = open_gate(services, request)
        async with aclosing(_write_draft(services, request, number, told, drafts, gate)) as events:
            async for event in events:
                yield event
        if drafts.ended[-1].status is DraftStatus.COMPLETE:
            return
        caught = gate.caught or caught


async def _write_draft(
    services: Services,
    request: AnswerRequest,
    number: int,
    guidance: Guidance | None,
    drafts: Drafts,
    gate: ReplyGate,
) -> AsyncGenerator[TurnEvent, None]:
    """Write one draft with the requested model or, if that fails before its first token, with its fallback.

    The fallback gets a prompt of its own, because its context window differs, and writes all later drafts too: the
    first model would only be waited for again.
    """
    aim = guidance.aim if guidance else None
    while True:
        again = bool(drafts.ended) and drafts.ended[-1].status is not DraftStatus.COMPLETE
        model = with_draft_seed(request.policy, drafts.fallback or request.model, number, again=again)
        attempt = replace(request, model=model)
        try:
            if drafts.variables is None:  # before the first draft, the hidden steps of the strategy
                async with aclosing(run_steps(services, attempt, drafts)) as waits:
                    async for wait in waits:
                        yield wait
            build = partial(_build_prompt, services, attempt, guidance, drafts)
            fitted = await fit_prompt(services.models, model, build)
            drafts.begin(model, fitted.prompt, number, aim)
            fitted.check()
            gate.examples = example_text(fitted.prompt)
            async with aclosing(_stream_through(services, model, fitted.prompt, drafts, gate)) as events:
                async for event in events:
                    yield event
            return
        except ModelFailure:
            if not request.may_fall_back or drafts.begun or model.fallback is None:
                raise
        drafts.fallback, drafts.fallback_for = services.models.specs[model.fallback], request.model.id
        yield FellBack()


async def _stream_through(
    services: Services, model: ModelSpec, prompt: Prompt, drafts: Drafts, gate: ReplyGate
) -> AsyncGenerator[Token | ModelThinks | Waiting, None]:
    """Stream the open draft through its gate and end it: COMPLETE, CAUGHT or EMPTY."""
    usage: Usage | None = None
    thinks = False
    try:
        async with aclosing(services.models.stream(model, prompt)) as stream:
            async for item in stream:
                drafts.note_item(item)
                match item:
                    case Delta(piece):
                        if shown := await gate.feed(piece):
                            drafts.add_text(shown)
                            yield Token(shown)
                    case Thinking():
                        if not thinks:
                            yield ModelThinks()
                        thinks = True
                    case Rethought():
                        gate.restart()
                        yield ModelThinks(withdrawn=True)
                    case Usage():
                        usage = item
                    case Waiting():
                        yield item
                if not gate.open:
                    break
    except ModelFailure:
        # What had arrived of its last sentence is read and kept like the rest.
        if shown := await gate.finish(cut=False):
            drafts.add_text(shown)
            yield Token(shown)
        raise
    if shown := await gate.finish(cut=usage is not None and usage.cut):
        drafts.add_text(shown)
        yield Token(shown)
    if gate.caught is not None:
        drafts.add_text(gate.caught_text)
        drafts.end(DraftStatus.CAUGHT, caught=gate.caught)
    else:
        whole = has_visible(gate.text)
        drafts.end(DraftStatus.COMPLETE if whole else DraftStatus.EMPTY, ended_by=gate.ended_by)


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
    thoughts: list[StepRecord] = []
    critique = await ask_hidden(services.models, drafts.fallback or request.model, prompt, CRITIQUE, thoughts)
    drafts.steps += [*thoughts, critique]
    return critique_guidance(request.policy, newest.text, critique.text)


async def score_newest_draft(services: Services, message: str, drafts: Drafts) -> None:
    """Score the newest draft, with its evidence: for a complete one whose process died before it was scored. `message`
    must be the first of its conversation."""
    if services.rater is not None:
        await _rate_newest(services.rater, message, drafts, ())
        return
    await _add_evidence(services, await _score_newest(services, message, drafts, ()), drafts)


async def _score_newest(services: Services, message: str, drafts: Drafts, earlier: Sequence[str]) -> Rated:
    """Score the draft that has just ended."""
    loop = asyncio.get_running_loop()
    text = drafts.ended[-1].text
    rated = await loop.run_in_executor(services.scoring, services.scorer.rated, message, text, earlier)
    drafts.set_score(rated.score)
    return rated


async def _rate_newest(rater: Rater, message: str, drafts: Drafts, earlier: Sequence[str]) -> None:
    """Have another rater score the draft that has just ended. It gives no evidence, and may wait for a server."""
    drafts.set_score(await asyncio.to_thread(rater.score, message, drafts.ended[-1].text, earlier))


async def _add_evidence(services: Services, rated: Rated, drafts: Drafts) -> None:
    """Set the same score again with its evidence, the words that carried it."""
    loop, text = asyncio.get_running_loop(), drafts.ended[-1].text
    drafts.set_score(await loop.run_in_executor(services.scoring, services.scorer.evidenced, rated, text))
