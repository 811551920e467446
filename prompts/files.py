"""A YAML file of prompts as checked values; every fault is told with the file and the nearest right name."""

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from prompts.variables import variables_in

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# In C where the library has it: a thousand files in a tenth of the time.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class PromptFileError(Exception):
    """Prompt files that cannot be used; `str()` names the file, the fault and the next step."""

    exit_status = 2

    def __init__(self, *faults: str) -> None:
        more = len(faults) - 1
        rest = f" And {more} more: `heard prompts check` lists them all." if more else ""
        super().__init__(faults[0] + rest)
        self.faults = faults
        """A sentence each."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that helps with a misspelt name: the nearest right one, or all of them."""
    names = sorted(known)
    match = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {match[0]}?" if match else f"Known: {', '.join(names)}." if names else "None can stand here."


def yaml_files(folder: Path) -> list[Path]:
    """The .yaml files of a folder, by name. Raises PromptFileError for a folder without one."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise PromptFileError(f"{folder} holds no .yaml file. Put at least one there.")
    stray = sorted(folder.glob("*.yml"))
    if stray:
        raise PromptFileError(f"{stray[0]}: prompt files end in .yaml. Rename it.")
    return paths


class PromptFile:
    """One file while it is read. What is faulty is noted in `faults` and gives a harmless value, so that all faults of
    a file are found at once; nothing of a file with faults may be used."""

    def __init__(self, path: Path, keys: Iterable[str]) -> None:
        """`keys`: those that may stand in it."""
        self.path = path
        self.faults: list[str] = []
        """A sentence each, with the file's path."""
        self.values = self._read()
        known = set(keys)
        for key in self.values:
            if key not in known:
                self.fault(f'unknown key "{key}". {nearest(str(key), known)}')

    @property
    def id(self) -> str:
        """The name that the file gives to what it holds."""
        if not _ID.fullmatch(self.path.stem):
            self.fault("a file name may use a-z, 0-9, - and _ (at most 40), because it is the name in the data.")
        return self.path.stem

    def fault(self, sentence: str) -> None:
        """Note a fault."""
        self.faults.append(f"{self.path}: {sentence}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        if self._unread:
            return ""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            self.fault(f"{key} is missing." if value is None else f"{key} must be a text, not {_kind(value)}.")
            return ""
        return value

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number of `low`..`high`."""
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fault(f"{key} must be a whole number from {low} to {high}, not {value!r}.")
            return default
        return value

    def listed(self, key: str, wanted: str) -> Sequence[Any]:
        """A list, empty where there is none; `wanted` says of what."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            self.fault(f"{key} must be a list of {wanted}.")
            return []
        return value

    def check_variables(self, where: str, text: str, known: Iterable[str]) -> None:
        """Note each variable of `text` that nobody fills; `known` are those that somebody does."""
        names = set(known)
        for name in dict.fromkeys(variables_in(text)):
            if name not in names:
                self.fault(f"{where} uses {{{name}}}, which nobody fills. {nearest(name, names)}")

    @property
    def _unread(self) -> bool:
        # Of a file that could not be read at all, one fault is enough.
        return not self.values and bool(self.faults)

    def _read(self) -> dict[Any, Any]:
        try:
            values = yaml.load(self.path.read_text(encoding="utf-8"), _LOADER)
        except (OSError, UnicodeDecodeError) as error:
            self.faults.append(f"{self.path} cannot be read: {error}.")
            return {}
        except yaml.YAMLError as error:
            place = getattr(error, "problem_mark", None)
            where = f" at line {place.line + 1}" if place else ""
            self.faults.append(
                f"{self.path} is not valid YAML{where}. Mend that line; a text with a colon needs quotes."
            )
            return {}
        if not isinstance(values, dict) or not values:
            self.faults.append(f"{self.path} must hold keys such as name and description.")
            return {}
        return values


def _kind(value: Any) -> str:
    return {"dict": "keys of its own", "list": "a list"}.get(type(value).__name__, f"{type(value).__name__}")
