"""A model call whose text the person never sees, such as a critique or a summary."""

import time
from contextlib import aclosing

from heard.chat_app.common.text import clean_unicode
from heard.chat_app.conversation.thinking_step import ThinkingNotes
from heard.chat_app.models.client import Models
from heard.chat_app.models.records import Delta, ModelSpec, Rethought, Usage
from heard.db.records import StepRecord
from heard.prompts.records import Prompt


async def ask_hidden(
    models: Models, model: ModelSpec, prompt: Prompt, name: str, thoughts: list[StepRecord] | None = None
) -> StepRecord:
    """Call a model and return its text with times and counts, as a record called `name`. What it thinks is put into
    `thoughts`. Raises ModelFailure."""
    thinking = ThinkingNotes()
    began, first, usage = time.perf_counter(), None, Usage(None, None)
    pieces: list[str] = []
    async with aclosing(models.stream(model, prompt)) as stream:
        async for item in stream:
            thinking.note(item)
            if isinstance(item, Rethought):
                first, pieces = None, []
            elif isinstance(item, Delta):
                first = first if first is not None else time.perf_counter() - began
                pieces.append(item.text)
            elif isinstance(item, Usage):
                usage = item
    thought = thinking.step(model=model.id, prompt_sha256=prompt.sha256, max_tokens=prompt.max_tokens, of=name)
    if thoughts is not None and thought is not None:
        thoughts.append(thought)
    return StepRecord(
        name=name,
        text=clean_unicode("".join(pieces)).strip(),
        prompt_sha256=prompt.sha256,
        model=model.id,
        max_tokens=prompt.max_tokens,
        first_token_seconds=first,
        total_seconds=time.perf_counter() - began,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cut=usage.cut,
    )
