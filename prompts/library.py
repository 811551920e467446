"""Reads the prompt files: personas, strategies, guidance; policies by `policies.py`.

A developer adds a persona by dropping a file into the folder. Every key is checked: a misspelt field is refused with
the file, the fault and the nearest right name, because a persona whose `max_tokns` was silently ignored would run a
study under the wrong condition.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prompts.files import PromptFileError, file_id, number_of, read_keys, text_of, yaml_files
from prompts.policies import read_policies
from prompts.records import Persona, Policy, Starter, Strategy

BUILT_IN = Path(__file__).parent
MAX_TOKENS = 640
"""The study's limit for a reply: the length of the longest human answer."""

_PERSONA_KEYS = {"name", "description", "system", "user_template", "max_tokens", "order", "starters"}
_STRATEGY_KEYS = {"name", "description", "instructions", "order"}
_STARTER_KEYS = {"label", "message"}
_GUIDANCE_KEYS = {"cognitive", "emotional", "behavioral"}


@dataclass(frozen=True, slots=True)
class PromptLibrary:
    """All prompt files of one folder, read and checked once."""

    personas: dict[str, Persona]
    """By id, in menu order; the first is the default."""
    strategies: dict[str, Strategy]
    """By id, in menu order."""
    guidance: dict[str, str]
    """What a rewrite is told, by component: cognitive, emotional, behavioral."""
    policies: dict[str, Policy]
    """When a draft is written again, by id: those that come with heard, and the folder's own beside or in place of
    them."""

    @classmethod
    def load(cls, folder: Path | None = None, persona_word: str = "supportive listener") -> "PromptLibrary":
        """Read `personas/*.yaml`, `strategies/*.yaml` and `guidance.yaml` in `folder` (default: the ones that come
        with heard).

        `persona_word` replaces `{persona_word}` in every text of a persona and of the guidance. Raises PromptFileError.
        """
        folder = folder or BUILT_IN
        personas = [_persona(path, persona_word) for path in yaml_files(folder / "personas")]
        strategies = [_strategy(path) for path in yaml_files(folder / "strategies")]
        guidance = _guidance(folder / "guidance.yaml", persona_word)
        return cls(
            personas={p.id: p for p in sorted(personas, key=lambda p: (p.order, p.id))},
            strategies={s.id: s for s in sorted(strategies, key=lambda s: (s.order, s.id))},
            guidance=guidance,
            policies=read_policies(folder / "policies"),
        )


def _filled(text: str, word: str) -> str:
    return text.replace("{persona_word}", word)


def _persona(path: Path, word: str) -> Persona:
    values = read_keys(path, _PERSONA_KEYS)
    template = text_of(path, values, "user_template", "{prompt}")
    if template.count("{prompt}") != 1:
        raise PromptFileError(f"{path}: user_template must hold {{prompt}} exactly once, where the person's words go.")
    system = _filled(text_of(path, values, "system", ""), word).strip()
    if not system and template == "{prompt}":
        raise PromptFileError(f"{path}: give a system text or a user_template; with neither the model gets no persona.")
    return Persona(
        id=file_id(path),
        name=_filled(text_of(path, values, "name"), word),
        description=_filled(text_of(path, values, "description"), word),
        system=system,
        user_template=_filled(template, word),
        max_tokens=number_of(path, values, "max_tokens", MAX_TOKENS, 1, MAX_TOKENS),
        order=number_of(path, values, "order", 100, 0, 1_000_000),
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
    values = read_keys(path, _STRATEGY_KEYS)
    return Strategy(
        id=file_id(path),
        name=text_of(path, values, "name"),
        description=text_of(path, values, "description"),
        instructions=text_of(path, values, "instructions", "").strip(),
        order=number_of(path, values, "order", 100, 0, 1_000_000),
    )


def _guidance(path: Path, word: str) -> dict[str, str]:
    values = read_keys(path, _GUIDANCE_KEYS)
    return {key: _filled(text_of(path, values, key), word).strip() for key in sorted(_GUIDANCE_KEYS)}
