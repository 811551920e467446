"""One strategy from its file; the fields are in docs/prompts.md."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from heard.prompts.files import read_record
from heard.prompts.records import READING, Strategy
from heard.prompts.variables import unfilled, variables_in
from heard.validation import Fault

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TAKEN = (*READING, "prompt", "persona_word", "reading")


def read_strategy(path: Path) -> Strategy:
    """The strategy of a file. Raises PromptFileError with every fault."""
    return replace(read_record(path, Strategy, _faults_of_variables), id=path.stem)


def _faults_of_variables(values: Mapping[str, Any]) -> Iterator[Fault]:
    """Names of steps that cannot be variables, variables that nobody fills, and steps whose text nothing uses."""
    steps = values.get("steps")
    items = [item if isinstance(item, dict) else {} for item in (steps if isinstance(steps, list) else ())]
    texts = [str(item.get("instructions", "")) for item in items] + [str(values.get("instructions", ""))]
    known = list(READING)
    for number, item in enumerate(items):
        name, place = item.get("name"), ("steps", number, "name")
        for fault in unfilled(texts[number], known):
            yield Fault(("steps", number, "instructions"), f"steps.{number + 1}.instructions {fault}")
        if not isinstance(name, str):
            continue
        if not _NAME.fullmatch(name):
            yield Fault(place, f'step "{name}": a step\'s name may use a-z, 0-9 and _, because it is a variable.')
        elif name in known or name in _TAKEN:
            yield Fault(place, f"step {name}: this name has a meaning already. Give the step another.")
        elif not any(name in variables_in(text) for text in texts[number + 1 :]):
            yield Fault(place, f"nothing after the step {name} uses {{{name}}}. Put it where its text goes.")
        known.append(name)
    for fault in unfilled(texts[-1], known):
        yield Fault(("instructions",), f"instructions {fault}")
