"""The prompts of one reply: of its own call, and before it of the hidden steps that its strategy has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from heard.prompts.example_files import Example
from heard.prompts.history import Exchange, TokenCounter, estimate_tokens, with_history
from heard.prompts.records import Persona, Prompt, PromptMessage, Step, Strategy
from heard.prompts.variables import fill, variables_in


def build_prompt(
    persona: Persona,
    strategy: Strategy,
    history: Sequence[Exchange],
    text: str,
    *,
    guidance: str | None = None,
    summary: str | None = None,
    examples: Sequence[Example] = (),
    context_tokens: int = 8192,
    count: TokenCounter = estimate_tokens,
) -> Prompt:
    """The messages for one reply.

    `history` holds earlier (message, reply) pairs, oldest first, and `summary` what was told between its first pair and
    the others. `examples` go before them all, in this order, as turns. Where prompt and reply would not fit
    `context_tokens` by `count`, examples and then pairs are left out as `prompts/history.py` says. `guidance` is what a
    rewrite is told. With the plain strategy, no guidance, no examples and no history, a persona that is only a
    `user_template` gives exactly that text as the one message, as the study did.
    """
    system = "\n\n".join(part for part in (persona.system, strategy.instructions, guidance) if part)
    head = [PromptMessage("system", system)] if system else []
    last = PromptMessage("user", persona.user_template.replace("{prompt}", text))

    messages, shown = with_history(
        head,
        history,
        last,
        summary=summary,
        room=context_tokens - persona.max_tokens,
        count=count,
        examples=[example.exchanges for example in examples],
    )
    return Prompt(messages=tuple(messages), max_tokens=persona.max_tokens, examples=shown)


def for_step(persona: Persona, strategy: Strategy, step: Step, values: Mapping[str, str]) -> tuple[Persona, Strategy]:
    """Persona and strategy for `build_prompt` to make the call of one step: as usual, with the step's instructions in
    the system text and its own bound. `values` fill its variables; those without a value stay as they stand."""
    instructions = fill(step.instructions, values)
    return replace(persona, max_tokens=step.max_tokens), replace(strategy, instructions=instructions, steps=())


def for_reply(strategy: Strategy, values: Mapping[str, str]) -> Strategy:
    """The strategy for `build_prompt` to make the reply's own call, after its steps."""
    return replace(strategy, instructions=fill(strategy.instructions, values), steps=())


def reply_calls(
    persona: Persona, strategy: Strategy, message: str, examples: Sequence[Example] = ()
) -> Iterator[tuple[str, Prompt, list[str]]]:
    """Each call of a reply to a first message: its name, its prompt, and the variables that stand in it unfilled. The
    reply's own call alone has `examples`."""
    for step in strategy.steps:
        prompt = build_prompt(*for_step(persona, strategy, step, {}), [], message)
        yield f"step {step.name}, hidden", prompt, list(dict.fromkeys(variables_in(step.instructions)))
    unfilled = list(dict.fromkeys(variables_in(strategy.instructions)))
    yield "reply", build_prompt(persona, strategy, [], message, examples=examples), unfilled
