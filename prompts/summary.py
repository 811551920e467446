"""The prompt of a running summary: what was summed up before, and the turns that have since fallen out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, Strict, with_config

from heard.prompts.fields import MAX_TOKENS, NonEmpty
from heard.prompts.history import Exchange, TokenCounter, prompt_tokens, token_upper_bound
from heard.prompts.records import Prompt, PromptMessage

SHORTEST = 40
"""Characters that are left of an over-long text at least."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class SummaryInstructions:
    """`summary.yaml`: what the model is told, and how long a summary may be."""

    instructions: NonEmpty
    max_tokens: Annotated[int, Field(ge=16, le=MAX_TOKENS), Strict()] = 160


def build_summary_prompt(
    instructions: SummaryInstructions,
    summary: str | None,
    turns: Sequence[Exchange],
    *,
    context_tokens: int,
    count: TokenCounter,
) -> tuple[Prompt, int]:
    """The prompt that sums up the oldest of `turns`, and how many of them it holds: as many as fit, one at least.

    `summary` is that of the turns before them. A single turn that does not fit is shortened at its end.
    """

    def messages(part: Sequence[Exchange]) -> list[PromptMessage]:
        parts = [f"Summary so far:\n{summary}"] if summary else []
        parts += [f"Person: {message}" + (f"\nListener: {reply}" if reply else "") for message, reply in part]
        return [PromptMessage("system", instructions.instructions), PromptMessage("user", "\n\n".join(parts))]

    def fits(part: Sequence[Exchange]) -> bool:
        made = messages(part)
        return token_upper_bound(message.content for message in made) <= room or prompt_tokens(made, count) <= room

    room = context_tokens - instructions.max_tokens
    number = len(turns)
    while number > 1 and not fits(turns[:number]):
        number -= max(1, number // 8)
    part = list(turns[:number])
    while not fits(part) and max(map(len, part[0])) > SHORTEST:
        message, reply = part[0]
        longest = max(len(message), len(reply)) // 2
        part = [(message[:longest], reply[:longest])]
    return Prompt(tuple(messages(part)), instructions.max_tokens), number
