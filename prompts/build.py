"""Builds the whole prompt of one call: persona, strategy, what was said before, and the person's new words."""

from collections.abc import Sequence

from prompts.records import Persona, Prompt, PromptMessage, Strategy

CHARACTERS_PER_TOKEN = 3.0
"""A careful estimate for English (about 4 is usual): too few tokens are assumed to fit rather than too many."""


def build_prompt(
    persona: Persona,
    strategy: Strategy,
    history: Sequence[tuple[str, str]],
    text: str,
    *,
    guidance: str | None = None,
    context_tokens: int = 8192,
) -> Prompt:
    """The messages for one reply.

    `history` holds earlier (message, reply) pairs, oldest first; the oldest are left out when prompt and reply would
    not fit `context_tokens` (by a character estimate; the engine's own limit still holds). `guidance` is what a
    rewrite is told. With the plain strategy, no guidance and no history, a persona that is only a `user_template`
    gives exactly that text as the one message, as the study did.
    """
    system = "\n\n".join(part for part in (persona.system, strategy.instructions, guidance) if part)
    head = [PromptMessage("system", system)] if system else []
    last = PromptMessage("user", persona.user_template.replace("{prompt}", text))

    room = (context_tokens - persona.max_tokens) * CHARACTERS_PER_TOKEN
    room -= sum(len(message.content) for message in [*head, last])
    kept: list[PromptMessage] = []
    for asked, answered in reversed(history):
        room -= len(asked) + len(answered)
        if room < 0:
            break
        kept[:0] = [PromptMessage("user", asked), PromptMessage("assistant", answered)]
    return Prompt(messages=(*head, *kept, last), max_tokens=persona.max_tokens)
