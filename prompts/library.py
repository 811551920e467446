"""Reads the prompt files: personas, strategies, guidance.

A developer adds a persona by dropping a file into the folder. Every key is checked: a misspelt field is refused with
the file, the fault and the nearest right name, because a persona whose `max_tokns` was silently ignored would run a
study under the wrong condition.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from prompts.records import Persona, Starter, Strategy

BUILT_IN = Path(__file__).parent
MAX_TOKENS = 640
"""The study's limit for a reply: the length of the longest human answer."""

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_PERSONA_KEYS = {"name", "description", "system", "user_template", "max_tokens", "order", "starters"}
_STRATEGY_KEYS = {"name", "description", "instructions", "order"}
_STARTER_KEYS = {"label", "message"}
_GUIDANCE_KEYS = {"cognitive", "emotional", "behavioral"}


class PromptFileError(Exception):
    """A prompt file that cannot be used; `str()` names the file, the fault and the next step."""

    exit_status = 2


@dataclass(frozen=True, slots=True)
class PromptLibrary:
    """All prompt files of one folder, read and checked once."""

    personas: dict[str, Persona]
    """By id, in menu order; the first is the default."""
    strategies: dict[str, Strategy]
    """By id, in menu order."""
    guidance: dict[str, str]
    """What a rewrite is told, by component: cognitive, emotional, behavioral."""

    @classmethod
    def load(cls, folder: Path | None = None, persona_word: str = "supportive listener") -> "PromptLibrary":
        """Read `personas/*.yaml`, `strategies/*.yaml` and `guidance.yaml` in `folder` (default: the ones that come
        with heard).

        `persona_word` replaces `{persona_word}` in every text of a persona and of the guidance. Raises PromptFileError.
        """
        folder = folder or BUILT_IN
        personas = [_persona(path, persona_word) for path in _files(folder / "personas")]
        strategies = [_strategy(path) for path in _files(folder / "strategies")]
        guidance = _guidance(folder / "guidance.yaml", persona_word)
        return cls(
            personas={p.id: p for p in sorted(personas, key=lambda p: (p.order, p.id))},
            strategies={s.id: s for s in sorted(strategies, key=lambda s: (s.order, s.id))},
            guidance=guidance,
        )


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that helps with a misspelt name: the nearest right one, or all of them."""
    match = difflib.get_close_matches(name, sorted(known), n=1)
    return f"Did you mean {match[0]}?" if match else f"Known: {', '.join(sorted(known))}."


def _files(folder: Path) -> list[Path]:
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise PromptFileError(f"{folder} holds no .yaml file. Put at least one there.")
    stray = sorted(folder.glob("*.yml"))
    if stray:
        raise PromptFileError(f"{stray[0]}: prompt files end in .yaml. Rename it.")
    return paths


def _read(path: Path, keys: set[str]) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
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
    for key in values:
        if key not in keys:
            raise PromptFileError(f'{path}: unknown key "{key}". {nearest(str(key), keys)}')
    return values


def _text(path: Path, values: dict[str, Any], key: str, default: str | None = None) -> str:
    value = values.get(key, default)
    if not isinstance(value, str):
        fault = "is missing" if value is None else f"must be a text, not {type(value).__name__}"
        raise PromptFileError(f"{path}: {key} {fault}.")
    return value


def _number(path: Path, values: dict[str, Any], key: str, default: int, low: int, high: int) -> int:
    value = values.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise PromptFileError(f"{path}: {key} must be a whole number from {low} to {high}, not {value!r}.")
    return value


def _id(path: Path) -> str:
    if not _ID.fullmatch(path.stem):
        raise PromptFileError(
            f"{path}: a file name may use a-z, 0-9, - and _ (at most 40), because it is the name in the data."
        )
    return path.stem


def _filled(text: str, word: str) -> str:
    return text.replace("{persona_word}", word)


def _persona(path: Path, word: str) -> Persona:
    values = _read(path, _PERSONA_KEYS)
    template = _text(path, values, "user_template", "{prompt}")
    if template.count("{prompt}") != 1:
        raise PromptFileError(f"{path}: user_template must hold {{prompt}} exactly once, where the person's words go.")
    system = _filled(_text(path, values, "system", ""), word).strip()
    if not system and template == "{prompt}":
        raise PromptFileError(f"{path}: give a system text or a user_template; with neither the model gets no persona.")
    return Persona(
        id=_id(path),
        name=_filled(_text(path, values, "name"), word),
        description=_filled(_text(path, values, "description"), word),
        system=system,
        user_template=_filled(template, word),
        max_tokens=_number(path, values, "max_tokens", MAX_TOKENS, 1, MAX_TOKENS),
        order=_number(path, values, "order", 100, 0, 1_000_000),
        starters=_starters(path, values.get("starters", [])),
    )


def _starters(path: Path, items: Any) -> tuple[Starter, ...]:
    if not isinstance(items, list):
        raise PromptFileError(f"{path}: starters must be a list of label and message.")
    for item in items:
        if (
            not isinstance(item, dict)
            or set(item) != _STARTER_KEYS
            or not all(isinstance(v, str) for v in item.values())
        ):
            raise PromptFileError(f"{path}: each starter needs label and message, both texts, and nothing else.")
    return tuple(Starter(item["label"], item["message"]) for item in items)


def _strategy(path: Path) -> Strategy:
    values = _read(path, _STRATEGY_KEYS)
    return Strategy(
        id=_id(path),
        name=_text(path, values, "name"),
        description=_text(path, values, "description"),
        instructions=_text(path, values, "instructions", "").strip(),
        order=_number(path, values, "order", 100, 0, 1_000_000),
    )


def _guidance(path: Path, word: str) -> dict[str, str]:
    values = _read(path, _GUIDANCE_KEYS)
    return {key: _filled(_text(path, values, key), word).strip() for key in sorted(_GUIDANCE_KEYS)}
