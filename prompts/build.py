"""Builds the whole prompt of one call: persona, strategy, what was said before, and the person's new words."""

from collections.abc import Sequence

from heard.prompts.history import Exchange, TokenCounter, estimate_tokens, with_history
from heard.prompts.records import Persona, Prompt, PromptMessage, Strategy


def build_prompt(
    persona: Persona,
    strategy: Strategy,
    history: Sequence[Exchange],
    text: str,
    *,
    guidance: str | None = None,
    summary: str | None = None,
    context_tokens: int = 8192,
    count: TokenCounter = estimate_tokens,
) -> Prompt:
    """The messages for one reply.

    `history` holds earlier (message, reply) pairs, oldest first, and `summary` what was told between its first pair and
    the others. Where prompt and reply would not fit `context_tokens` by `count`, pairs are left out as
    `prompts/history.py` says. `guidance` is what a rewrite is told. With the plain strategy, no guidance and no
    history, a persona that is only a `user_template` gives exactly that text as the one message, as the study did.
    """
    system = "\n\n".join(part for part in (persona.system, strategy.instructions, guidance) if part)
    head = [PromptMessage("system", system)] if system else []
    last = PromptMessage("user", persona.user_template.replace("{prompt}", text))

    messages = with_history(head, history, last, summary=summary, room=context_tokens - persona.max_tokens, count=count)
    return Prompt(messages=tuple(messages), max_tokens=persona.max_tokens)
