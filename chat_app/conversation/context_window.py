"""A prompt that fits its model's window, and a plain sentence where that cannot be."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from heard.chat_app.models.client import Models
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec
from heard.prompts.history import Exchange, TokenCounter, exchanges_included, prompt_tokens, token_upper_bound
from heard.prompts.records import Prompt

Build = Callable[[TokenCounter], Prompt]
"""Makes a prompt for a window, given a counter of tokens."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt and whether its model can read it."""

    prompt: Prompt
    fault: ModelFailure | None

    def check(self) -> None:
        """Raise ModelFailure (rejected) when even the last message alone is too long for the model."""
        if self.fault is not None:
            raise self.fault


async def fitted(models: Models, spec: ModelSpec, build: Build) -> Fitted:
    """The prompt that `build` makes with the model's counter; counting is done off the event loop."""
    return await asyncio.to_thread(_fitted, models, spec, build)


def _fitted(models: Models, spec: ModelSpec, build: Build) -> Fitted:
    count = partial(models.count_tokens, spec)
    prompt = build(count)
    room = spec.context_tokens - prompt.max_tokens
    too_long = (
        models.counts_exactly(spec)  # else its server is the judge
        and token_upper_bound(message.content for message in prompt.messages) > room
        and prompt_tokens(prompt.messages, count) > room
    )
    return Fitted(prompt, _too_long(spec) if too_long else None)


def _too_long(spec: ModelSpec) -> ModelFailure:
    return ModelFailure(
        FailureKind.REJECTED,
        f"Your message is longer than {spec.label} can read at once: it takes at most {spec.context_tokens:,} tokens "
        f"(about {3 * spec.context_tokens:,} letters of English, fewer in other scripts), its answer included. Shorten "
        "it, send it in parts, or choose a model with more room.",
    )


async def common_history(
    models: Models, builds: Sequence[tuple[ModelSpec, Build]], history: Sequence[Exchange]
) -> list[Exchange]:
    """The turns of `history` that all of these prompts hold: what every source of a ballot gets alike."""
    if not history or not builds:
        return list(history)
    made = await asyncio.gather(*(fitted(models, spec, build) for spec, build in builds))
    held = [exchanges_included(one.prompt, history) for one in made]
    return [pair for pair, everywhere in zip(history, map(all, zip(*held, strict=True)), strict=True) if everywhere]
