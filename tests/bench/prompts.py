"""Prompt files: how long a thousand personas take to check, an edit among them to be seen, and a prompt to build."""

import os
import shutil
import tempfile
import time
from pathlib import Path

from heard.prompts.build import build_prompt, for_reply
from heard.prompts.library import BUILT_IN, PromptLibrary
from tests.bench.table import Row, at_most

PERSONAS = 1_000
ROUNDS = 5
BUILDS = 1_000
TURNS = 20
"""Of the conversation before the message; it fills most of the window."""


def prompts() -> list[Row]:
    """The rows of this part. The personas are copies of the longest that is shipped."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(BUILT_IN / "strategies", folder / "strategies")
        shutil.copy(BUILT_IN / "guidance.yaml", folder)
        (folder / "personas").mkdir()
        text = (BUILT_IN / "personas" / "neighbour.yaml").read_text(encoding="utf-8")
        for number in range(PERSONAS):
            (folder / "personas" / f"p{number}.yaml").write_text(text, encoding="utf-8")
        checks, looks, edits = [], [], []
        for number in range(ROUNDS):
            began = time.perf_counter()
            library = PromptLibrary.load(folder)
            checks.append(time.perf_counter() - began)
            began = time.perf_counter()
            assert not library.refresh()
            looks.append(1000 * (time.perf_counter() - began))
            edited = folder / "personas" / "p0.yaml"
            edited.write_text(f"{text}# edit {number}\n", encoding="utf-8")
            os.utime(edited, (number, number))
            began = time.perf_counter()
            assert library.refresh()
            edits.append(1000 * (time.perf_counter() - began))
        assert len(library.personas) == PERSONAS
    return [
        at_most("1,000 persona files checked", checks, "s", 2),
        at_most("a look at 1,000 persona files for edits, before a turn", looks, "ms", 50),
        at_most("one edit among 1,000 persona files taken in", edits, "ms", 100),
        at_most("prompt building, 20 turns before the message", _builds(), "ms", 1),
    ]


def _builds() -> list[float]:
    """Milliseconds of each build."""
    library = PromptLibrary.load()
    persona, strategy = library.personas["neighbour"], library.strategies["multifaceted-feedback"]
    values = {"draft": "d " * 200, "critique": "c " * 120}
    history = [("I had a long day. " * 10, "That sounds tiring. " * 20)] * TURNS
    times = []
    for _ in range(BUILDS):
        began = time.perf_counter()
        build_prompt(persona, for_reply(strategy, values), history, "And now I can't sleep.")
        times.append(1000 * (time.perf_counter() - began))
    return times
