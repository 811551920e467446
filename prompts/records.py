"""What the prompt files become: frozen records, and the built prompt with its fingerprint."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message in the order in which the model reads it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The whole text that goes to a model."""

    messages: tuple[PromptMessage, ...]
    max_tokens: int
    """Upper bound of the reply, in the model's own tokens."""

    @property
    def sha256(self) -> str:
        """64 hex digits over roles and contents in order: equal exactly when a model would read the same."""
        body = json.dumps([[m.role, m.content] for m in self.messages], ensure_ascii=True)
        return hashlib.sha256(body.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Starter:
    """A first message that a person can send with one click."""

    label: str
    message: str


@dataclass(frozen=True, slots=True)
class Persona:
    """Who answers. One YAML file in `prompts/personas/`; `id` is the file's name."""

    id: str
    name: str
    """Shown in the profile menu and as the author of replies."""
    description: str
    system: str
    """The system message; empty when the whole prompt is in `user_template`."""
    user_template: str
    """The last user message, with `{prompt}` where the person's words go."""
    max_tokens: int
    order: int
    """Place in the menu, lowest first; the first is the default."""
    starters: tuple[Starter, ...]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How to think before answering. One YAML file in `prompts/strategies/`; empty instructions change nothing."""

    id: str
    name: str
    description: str
    instructions: str
    order: int
