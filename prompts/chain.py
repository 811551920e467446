"""Every call of one reply in order: the hidden steps of its strategy, then the reply itself."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from heard.prompts.build import build_prompt
from heard.prompts.records import Persona, Prompt, Step, Strategy
from heard.prompts.variables import fill, variables_in


def for_step(persona: Persona, strategy: Strategy, step: Step, values: Mapping[str, str]) -> tuple[Persona, Strategy]:
    """Persona and strategy for `build_prompt` to make the call of one step: as usual, with the step's instructions in
    the system text and its own bound. `values` fill its variables; those without a value stay as they stand."""
    instructions = fill(step.instructions, values)
    return replace(persona, max_tokens=step.max_tokens), replace(strategy, instructions=instructions, steps=())


def for_reply(strategy: Strategy, values: Mapping[str, str]) -> Strategy:
    """The strategy for `build_prompt` to make the reply's own call, after its steps."""
    return replace(strategy, instructions=fill(strategy.instructions, values), steps=())


def reply_calls(persona: Persona, strategy: Strategy, message: str) -> Iterator[tuple[str, Prompt, list[str]]]:
    """Each call of a reply to a first message: its name, its prompt, and the variables that stand in it unfilled."""
    for step in strategy.steps:
        prompt = build_prompt(*for_step(persona, strategy, step, {}), [], message)
        yield f"step {step.name}, hidden", prompt, list(dict.fromkeys(variables_in(step.instructions)))
    unfilled = list(dict.fromkeys(variables_in(strategy.instructions)))
    yield "reply", build_prompt(persona, strategy, [], message), unfilled
