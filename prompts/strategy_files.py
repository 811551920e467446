"""One strategy from its file; the fields are in docs/prompts.md."""

import re
from pathlib import Path
from typing import Any

from heard.prompts.files import nearest
from heard.prompts.persona_files import MAX_TOKENS
from heard.prompts.prompt_file import PromptFile
from heard.prompts.records import READING, Step, Strategy
from heard.prompts.variables import variables_in

MOST_STEPS = 6
"""A person waits for every one of them."""
STEP_TOKENS = 120
"""Of a step that says nothing else."""
_KEYS = ("name", "description", "instructions", "order", "steps")
_STEP_KEYS = ("name", "instructions", "max_tokens")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TAKEN = (*READING, "prompt", "persona_word", "reading")


def read_strategy(path: Path) -> tuple[Strategy, list[str]]:
    """The strategy and the faults of its file; with faults it may not be used."""
    file = PromptFile(path, _KEYS)
    steps = _steps(file)
    instructions = file.text("instructions", "").strip()
    file.check_variables("instructions", instructions, (*READING, *(step.name for step in steps)))
    for place, step in enumerate(steps):
        later = [*(other.instructions for other in steps[place + 1 :]), instructions]
        if not any(step.name in variables_in(text) for text in later):
            file.fault(f"nothing after the step {step.name} uses {{{step.name}}}. Put it where its text goes.")
    strategy = Strategy(
        id=file.id,
        name=file.text("name"),
        description=file.text("description"),
        instructions=instructions,
        order=file.number("order", 100, 0, 1_000_000),
        steps=tuple(steps),
    )
    return strategy, file.faults


def _steps(file: PromptFile) -> list[Step]:
    steps: list[Step] = []
    items = file.listed("steps", "name, instructions and, if you like, max_tokens")
    if len(items) > MOST_STEPS:
        file.fault(f"steps: at most {MOST_STEPS}, because a person waits for each of them.")
    for item in items:
        step = _step(file, item, steps)
        if step is not None:
            steps.append(step)
    return steps


def _step(file: PromptFile, item: Any, before: list[Step]) -> Step | None:
    if not isinstance(item, dict):
        file.fault("each step needs name and instructions.")
        return None
    for key in item:
        if key not in _STEP_KEYS:
            file.fault(f'steps: unknown key "{key}". {nearest(str(key), _STEP_KEYS)}')
    name, instructions, most = item.get("name"), item.get("instructions"), item.get("max_tokens", STEP_TOKENS)
    if not isinstance(name, str) or not isinstance(instructions, str) or not instructions.strip():
        file.fault("each step needs name and instructions, both texts.")
        return None
    names = [step.name for step in before]
    if not _NAME.fullmatch(name):
        file.fault(f'step "{name}": a step\'s name may use a-z, 0-9 and _, because it is a variable.')
    if name in _TAKEN or name in names:
        file.fault(f"step {name}: this name has a meaning already. Give the step another.")
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MAX_TOKENS:
        file.fault(f"step {name}: max_tokens must be a whole number from 1 to {MAX_TOKENS}, not {most!r}.")
        most = STEP_TOKENS
    file.check_variables(f"step {name}", instructions, (*READING, *names))
    return Step(name, instructions.strip(), most)
