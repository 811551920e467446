"""The hidden steps of a strategy: calls of the same model before the reply, whose texts go into its prompt.

They are recorded with the first draft (`StepRecord`) for researchers, and nothing of them leaves here towards a page:
not a word, and not that there are any. A step that fails or comes back empty fails the reply, because a reply written
without it would stand under the wrong strategy.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial

from heard.chat_app.conversation.answer_request import Asked
from heard.chat_app.conversation.context_window import fitted
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import FailureKind, ModelFailure, Waiting
from heard.db.records import StepRecord
from heard.prompts.build import build_prompt
from heard.prompts.chain import for_step
from heard.prompts.history import TokenCounter
from heard.prompts.records import Prompt, PromptMessage, Step
from heard.scorer.errors import ScorerError

READING_STEP = "reading"
"""Name of the record of the encoder's reading, which comes before all steps."""

log = logging.getLogger(__name__)


async def run_steps(services: Services, asked: Asked, made: Drafts) -> AsyncGenerator[Waiting, None]:
    """Run the steps in order and put what fills the strategy's variables into `made.values`.

    Yields nothing but the waiting for a free slot. Raises ModelFailure; what had arrived is then in `made`, as it is
    when the generator is closed in the middle.
    """
    values = await _reading(services, asked, made) if asked.strategy.uses_reading else {}
    for step in asked.strategy.steps:
        made_to_fit = await fitted(services.models, asked.model, partial(_step_prompt, asked, step, values))
        made.begin_step(asked.model, made_to_fit.prompt, step.name)
        try:
            made_to_fit.check()
            async with aclosing(services.models.stream(asked.model, made_to_fit.prompt)) as stream:
                async for item in stream:
                    made.take(item)
                    if isinstance(item, Waiting):
                        yield item
        except ModelFailure as failure:
            log.warning("step %s of strategy %s failed: %s", step.name, asked.strategy.id, failure.kind)
            raise
        values[step.name] = made.end_step()
    made.values = values


def _step_prompt(asked: Asked, step: Step, values: Mapping[str, str], count: TokenCounter) -> Prompt:
    persona, strategy = for_step(asked.persona, asked.strategy, step, values)
    return build_prompt(
        persona,
        strategy,
        asked.history,
        asked.text,
        summary=asked.summary,
        context_tokens=asked.model.context_tokens,
        count=count,
    )


async def _reading(services: Services, asked: Asked, made: Drafts) -> dict[str, str]:
    """The encoder's reading of the message as variables; recorded like a step."""
    reader = services.reader
    prompt = Prompt((PromptMessage("user", asked.text),), max_tokens=0)
    made.begin(asked.model, prompt, 1, None)
    if reader is None:
        raise ModelFailure(FailureKind.UNREACHABLE, "No message is read for emotion here. Choose another strategy.")
    began = time.perf_counter()
    try:
        found = await asyncio.get_running_loop().run_in_executor(services.scoring, reader.read, asked.text)
    except ScorerError as error:
        raise ModelFailure(FailureKind.UNREACHABLE, str(error)) from None
    told = {"emotion": found.emotion, "probability": round(found.probability, 4), "cause": found.cause}
    made.steps.append(
        StepRecord(
            name=READING_STEP,
            text=json.dumps(told, ensure_ascii=False),
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
