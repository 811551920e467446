"""A YAML file of prompts as checked values; every fault is told with the file and the nearest right name."""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from heard.errors import UserError

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# In C where the library has it: a thousand files in a tenth of the time.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class PromptFileError(UserError):
    """Prompt files that cannot be used; `str()` names the file, the fault and the next step."""

    def __init__(self, *faults: str) -> None:
        more = len(faults) - 1
        super().__init__(faults[0] + (f" And {more} more: `heard prompts check` lists them all." if more else ""))
        self.faults = faults
        """A sentence each."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that helps with a misspelt name: the nearest right one, or all of them."""
    names = sorted(known)
    match = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {match[0]}?" if match else f"Known: {', '.join(names)}."


def yaml_files(folder: Path) -> list[Path]:
    """The .yaml files of a folder, by name. Raises PromptFileError for a folder without one."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise PromptFileError(f"{folder} holds no .yaml file. Put at least one there.")
    stray = sorted(folder.glob("*.yml"))
    if stray:
        raise PromptFileError(f"{stray[0]}: prompt files end in .yaml. Rename it.")
    return paths


def read_keys(path: Path, keys: set[str]) -> dict[str, Any]:
    """The values of a file that may hold `keys` and no others. Raises PromptFileError."""
    values = read_values(path)
    unknown = unknown_keys(path, values, keys)
    if unknown:
        raise PromptFileError(*unknown)
    return values


def unknown_keys(path: Path, values: dict[str, Any], keys: Iterable[str]) -> list[str]:
    """A sentence for each key among `values` that is none of `keys`."""
    known = set(keys)
    return [f'{path}: unknown key "{key}". {nearest(str(key), known)}' for key in values if key not in known]


def read_values(path: Path) -> dict[str, Any]:
    """The values of a file, whatever their keys. Raises PromptFileError."""
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _LOADER)
    except (OSError, UnicodeDecodeError) as error:
        raise PromptFileError(f"{path} cannot be read: {error}.") from error
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        where = f" at line {place.line + 1}" if place else ""
        raise PromptFileError(
            f"{path} is not valid YAML{where}. Mend that line; a text with a colon needs quotes."
        ) from error
    if not isinstance(values, dict):
        raise PromptFileError(f"{path} must hold keys such as name and description.")
    return values


def text_of(path: Path, values: dict[str, Any], key: str, default: str | None = None) -> str:
    """A text among `values`; without a default it must be there. Raises PromptFileError."""
    value = values.get(key, default)
    if not isinstance(value, str):
        fault = "is missing" if value is None else f"must be a text, not {type(value).__name__}"
        raise PromptFileError(f"{path}: {key} {fault}.")
    return value


def number_of(path: Path, values: dict[str, Any], key: str, default: int, low: int, high: int) -> int:
    """A whole number of `low`..`high` among `values`. Raises PromptFileError."""
    value = values.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise PromptFileError(f"{path}: {key} must be a whole number from {low} to {high}, not {value!r}.")
    return value


def decimal_of(
    path: Path, values: dict[str, Any], key: str, default: float | None, low: float, high: float
) -> float | None:
    """A number of `low`..`high` among `values`, or the default where it is absent. Raises PromptFileError."""
    value = values.get(key, default)
    if value is None and key not in values:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise PromptFileError(f"{path}: {key} must be a number from {low:g} to {high:g}, not {value!r}.")
    return float(value)


def switch_of(path: Path, values: dict[str, Any], key: str, default: bool) -> bool:
    """true or false among `values`. Raises PromptFileError."""
    value = values.get(key, default)
    if not isinstance(value, bool):
        raise PromptFileError(f"{path}: {key} must be true or false, not {value!r}.")
    return value


def word_of(path: Path, values: dict[str, Any], key: str, default: str | None, known: Iterable[str]) -> str:
    """One of the `known` words among `values`; without a default it must be there. Raises PromptFileError."""
    words = list(known)
    value = text_of(path, values, key, default)
    if value not in words:
        raise PromptFileError(f'{path}: {key} cannot be "{value}". {nearest(value, words)}')
    return value


def file_id(path: Path) -> str:
    """The name that a file gives to what it holds. Raises PromptFileError for one that the data could not keep."""
    if not _ID.fullmatch(path.stem):
        raise PromptFileError(
            f"{path}: a file name may use a-z, 0-9, - and _ (at most 40), because it is the name in the data."
        )
    return path.stem
