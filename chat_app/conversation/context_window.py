"""Fit prompts to their model's context window, and say in a sentence when even the last message is too long."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from heard.chat_app.models.client import Models
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec
from heard.prompts.history import Exchange, TokenCounter, exchanges_included, prompt_tokens, token_upper_bound
from heard.prompts.records import Prompt

PromptBuilder = Callable[[TokenCounter], Prompt]
"""Builds a prompt, given a function that counts the model's tokens."""


@dataclass(frozen=True, slots=True)
class FittedPrompt:
    """A prompt, and the failure to raise if it does not fit the model's context window."""

    prompt: Prompt
    failure: ModelFailure | None

    def check(self) -> None:
        """Raise ModelFailure (REJECTED) if even the last message alone is too long for the model."""
        if self.failure is not None:
            raise self.failure


async def fit_prompt(models: Models, spec: ModelSpec, build: PromptBuilder) -> FittedPrompt:
    """Return the prompt that `build` makes with the model's token counter. Tokens are counted off the event loop."""
    return await asyncio.to_thread(_fit_prompt, models, spec, build)


def _fit_prompt(models: Models, spec: ModelSpec, build: PromptBuilder) -> FittedPrompt:
    count = partial(models.count_tokens, spec)
    prompt = build(count)
    room = spec.context_tokens - prompt.max_tokens
    too_long = (
        models.counts_exactly(spec)  # else its server is the judge
        and token_upper_bound(message.content for message in prompt.messages) > room
        and prompt_tokens(prompt.messages, count) > room
    )
    return FittedPrompt(prompt, _too_long(spec) if too_long else None)


def _too_long(spec: ModelSpec) -> ModelFailure:
    return ModelFailure(
        FailureKind.REJECTED,
        f"Your message is longer than {spec.label} can read at once: it takes at most {spec.context_tokens:,} tokens "
        f"(about {3 * spec.context_tokens:,} letters of English, fewer in other scripts), its answer included. Shorten "
        "it, send it in parts, or choose a model with more room.",
    )


async def common_history(
    models: Models, builds: Sequence[tuple[ModelSpec, PromptBuilder]], history: Sequence[Exchange]
) -> list[Exchange]:
    """Return the turns of `history` that fit every one of these prompts, so that all sources of a ballot get the same
    history."""
    if not history or not builds:
        return list(history)
    fitted = await asyncio.gather(*(fit_prompt(models, spec, build) for spec, build in builds))
    held = [exchanges_included(one.prompt, history) for one in fitted]
    return [pair for pair, everywhere in zip(history, map(all, zip(*held, strict=True)), strict=True) if everywhere]
