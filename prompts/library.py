"""Reads the prompt files: personas, strategies, guidance, policies; and reads them again when they have been edited.

A developer adds a persona by dropping a file into the folder. Every key is checked: a misspelt field is refused with
the file, the fault and the nearest right name, because a persona whose `max_tokns` was silently ignored would run a
study under the wrong condition.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heard.prompts.files import PromptFileError, yaml_files
from heard.prompts.persona_files import MAX_TOKENS, read_persona
from heard.prompts.policy_files import read_policies
from heard.prompts.prompt_file import PromptFile
from heard.prompts.records import Persona, Policy, Strategy
from heard.prompts.strategy_files import read_strategy
from heard.prompts.summary import FILE, SummaryInstructions, read_summary_instructions
from heard.prompts.variables import fill

__all__ = ["BUILT_IN", "MAX_TOKENS", "PromptLibrary"]

BUILT_IN = Path(__file__).parent
_FOLDERS = ("personas", "strategies", "policies")
_FILES = ("guidance.yaml", FILE)
_GUIDANCE_KEYS = ("behavioral", "cognitive", "emotional")

Stamp = tuple[int, int]
"""Of a file: when it was changed, in nanoseconds, and its bytes."""
Kept = dict[str, tuple[Stamp, tuple[Any, list[str]]]]
"""What was read of each file and its faults, so that one edit among a thousand files costs one."""


@dataclass(slots=True)
class PromptLibrary:
    """All prompt files of one folder, read and checked."""

    personas: dict[str, Persona]
    """By id, in menu order; the first is the default."""
    strategies: dict[str, Strategy]
    """By id, in menu order."""
    guidance: dict[str, str]
    """What a rewrite is told, by component: cognitive, emotional, behavioral."""
    policies: dict[str, Policy]
    """When a draft is written again, by id: those that come with heard, and the folder's own beside or in place of
    them."""
    summary: SummaryInstructions
    """How a long conversation is summed up."""
    fault: str | None = None
    """Why files edited since then are not in use, in a sentence; None while all are."""
    waiting: bool = False
    """Whether edited files are left out on purpose; for whoever decides that."""
    _folder: Path = BUILT_IN
    _word: str = ""
    _stamps: dict[str, Stamp] = field(default_factory=dict)
    """Of the files as they were last looked at, broken ones too."""
    _kept: Kept = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path | None = None, persona_word: str = "supportive listener") -> "PromptLibrary":
        """Read `personas/*.yaml`, `strategies/*.yaml` and `guidance.yaml` in `folder` (default: the ones that come
        with heard).

        `persona_word` replaces `{persona_word}` in every text of a persona and of the guidance. Raises PromptFileError
        with every fault of every file.
        """
        library = cls({}, {}, {}, {}, SummaryInstructions("", 0), _folder=folder or BUILT_IN, _word=persona_word)
        library._stamps = _stamps(library._folder)
        faults = library._read()
        if faults:
            raise PromptFileError(*faults)
        return library

    @property
    def edited(self) -> bool:
        """Whether a file has come, gone or changed since they were last read. Costs a look at each file's entry."""
        return _stamps(self._folder) != self._stamps

    def refresh(self) -> bool:
        """Take in what has been edited; whether there was anything. A set with a fault is left out whole: the last
        good one stays, and `fault` says why. Records that were handed out before stay as they are."""
        stamps = _stamps(self._folder)
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        faults = self._read()
        self.fault = str(PromptFileError(*faults)) if faults else None
        return True

    def _read(self) -> list[str]:
        """Replace what is held if every file is sound; else the faults."""
        faults: list[str] = []
        personas: list[Persona] = self._folder_of("personas", lambda path: read_persona(path, self._word), faults)
        strategies: list[Strategy] = self._folder_of("strategies", read_strategy, faults)
        guidance, wrong = self._once(self._folder / "guidance.yaml", lambda path: _guidance(path, self._word))
        summary, wrong_too = read_summary_instructions(self._folder)
        faults += [*wrong, *wrong_too]
        try:
            policies = read_policies(self._folder / "policies")
        except PromptFileError as error:
            faults += error.faults
        if not faults:
            self.policies, self.summary = policies, summary
            self.personas = {p.id: p for p in sorted(personas, key=lambda p: (p.order, p.id))}
            self.strategies = {s.id: s for s in sorted(strategies, key=lambda s: (s.order, s.id))}
            self.guidance = guidance
        return faults

    def _folder_of(self, name: str, read: Callable[[Path], tuple[Any, list[str]]], faults: list[str]) -> list[Any]:
        try:
            paths = yaml_files(self._folder / name)
        except PromptFileError as error:
            faults += error.faults
            return []
        found = []
        for path in paths:
            record, wrong = self._once(path, read)
            found.append(record)
            faults += wrong
        return found

    def _once(self, path: Path, read: Callable[[Path], tuple[Any, list[str]]]) -> tuple[Any, list[str]]:
        name = str(path)
        stamp, kept = self._stamps.get(name), self._kept.get(name)
        if stamp is None or kept is None or kept[0] != stamp:
            kept = (stamp or (0, 0), read(path))
            self._kept[name] = kept
        return kept[1]


def _stamps(folder: Path) -> dict[str, Stamp]:
    # By scandir, which asks the system once a file: a turn waits for this.
    found = {}
    for place, wanted in (*((folder / name, "") for name in _FOLDERS), *((folder, name) for name in _FILES)):
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.name == wanted or (not wanted and entry.name.endswith((".yaml", ".yml"))):
                        seen = entry.stat()
                        found[entry.path] = (seen.st_mtime_ns, seen.st_size)
        except OSError:
            continue  # gone, or not readable: reading it tells
    return found


def _guidance(path: Path, word: str) -> tuple[dict[str, str], list[str]]:
    file, found = PromptFile(path, _GUIDANCE_KEYS), {}
    for key in _GUIDANCE_KEYS:
        text = file.text(key)
        file.check_variables(key, text, ("persona_word",))
        found[key] = fill(text, {"persona_word": word}).strip()
    return found, file.faults
