"""The hidden steps of a strategy: calls of the same model before the reply, whose texts go into its prompt.

They are recorded with the first draft (`StepRecord`) for researchers. Nothing of them reaches a page, not even that
there are any. A step that fails or returns nothing fails the reply, because a reply written without it would count
under the wrong strategy.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial

from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.context_window import fit_prompt
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import FailureKind, ModelFailure, Waiting
from heard.db.records import StepRecord
from heard.prompts.build import build_prompt, for_step
from heard.prompts.history import TokenCounter
from heard.prompts.records import Prompt, PromptMessage, Step
from heard.scorer.errors import ScorerError

READING_STEP = "reading"
"""Name of the record that holds the encoder's reading of the message; it precedes all steps."""

log = logging.getLogger(__name__)


async def run_steps(services: Services, request: AnswerRequest, drafts: Drafts) -> AsyncGenerator[Waiting, None]:
    """Run the steps in order and set `drafts.variables`, the values of the strategy's variables.

    Yields only Waiting, while no slot is free. Raises ModelFailure. What had arrived by then is in `drafts`, also when
    the generator is closed early.
    """
    values = await _read_emotion(services, request, drafts) if request.strategy.uses_reading else {}
    for step in request.strategy.steps:
        fitted = await fit_prompt(services.models, request.model, partial(_step_prompt, request, step, values))
        drafts.begin_step(request.model, fitted.prompt, step.name)
        try:
            fitted.check()
            async with aclosing(services.models.stream(request.model, fitted.prompt)) as stream:
                async for item in stream:
                    drafts.add_item(item)
                    if isinstance(item, Waiting):
                        yield item
        except ModelFailure as failure:
            log.warning("step %s of strategy %s failed: %s", step.name, request.strategy.id, failure.kind)
            raise
        values[step.name] = drafts.end_step()
    drafts.variables = values


def _step_prompt(request: AnswerRequest, step: Step, values: Mapping[str, str], count: TokenCounter) -> Prompt:
    persona, strategy = for_step(request.persona, request.strategy, step, values)
    return build_prompt(
        persona,
        strategy,
        request.history,
        request.text,
        summary=request.summary,
        context_tokens=request.model.context_tokens,
        count=count,
    )


async def _read_emotion(services: Services, request: AnswerRequest, drafts: Drafts) -> dict[str, str]:
    """Return the encoder's reading of the message as variables, and record it like a step."""
    reader = services.reader
    prompt = Prompt((PromptMessage("user", request.text),), max_tokens=0)
    drafts.begin(request.model, prompt, 1, None)
    if reader is None:
        raise ModelFailure(FailureKind.UNREACHABLE, "No message is read for emotion here. Choose another strategy.")
    began = time.perf_counter()
    try:
        found = await asyncio.get_running_loop().run_in_executor(services.scoring, reader.read, request.text)
    except ScorerError as error:
        raise ModelFailure(FailureKind.UNREACHABLE, str(error)) from None
    reading = {"emotion": found.emotion, "probability": round(found.probability, 4), "cause": found.cause}
    drafts.steps.append(
        StepRecord(
            name=READING_STEP,
            text=json.dumps(reading, ensure_ascii=False),
            prompt_sha256=prompt.sha256,
            model=f"reading {reader.file.sha256[:12]}",
            max_tokens=0,
            first_token_seconds=None,
            total_seconds=time.perf_counter() - began,
            prompt_tokens=None,
            completion_tokens=None,
        )
    )
    return {"emotion": found.named, "cause": found.cause}
