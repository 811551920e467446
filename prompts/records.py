"""What the prompt files become: frozen records, and the built prompt with its fingerprint."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, Strict, StrictBool, with_config

from heard.prompts.fields import Empathy, Gain, ImpliedName, NonEmpty, Order, Stripped, Tokens, exactly_once
from heard.prompts.variables import variables_in

Role = Literal["system", "user", "assistant"]
Watched = Literal["empathy", "cognitive", "emotional", "behavioral", "perceived"]
"""A number of a score: the mean of the three components, one of them, or how empathic people would call the reply."""


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
    examples: int = 0
    """Exchanges after the system text, a message and its reply each, that are examples and no history."""

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
    """The system message, composed by `prompts/system_prompt.py`; empty when the whole prompt is in `user_template`."""
    user_template: str
    """The last user message, with `{prompt}` where the person's words go."""
    max_tokens: int
    order: int
    """Place in the menu, lowest first; the first is the default."""
    starters: tuple[Starter, ...]
    greeting: str = ""
    """Shown where a chat opens; no model reads it."""
    trim: bool = True
    """Whether a reply ends where debris begins, and with its last whole sentence."""
    examples: int = 0
    """Most examples that go before a message, 0..4."""
    examples_of: str = ""
    """The file in `prompts/examples/` that they are of, without its ending."""
    picture: str = ""
    """The picture beside its replies, a file in its folder; empty for one made of its initial. No model sees it."""


READING = ("emotion", "cause")
"""Variables that hold the encoder's reading of the message: an emotion's name, and the part that carries it."""
MAX_STEPS = 6
"""A person waits for every one of them."""


@dataclass(frozen=True, slots=True)
class Step:
    """One hidden call before the reply. Its text fills `{name}` in what comes after it."""

    name: str
    instructions: NonEmpty
    max_tokens: Tokens = 120


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How to think before answering. One YAML file in `prompts/strategies/`; empty instructions change nothing."""

    id: ImpliedName = ""
    name: str
    description: str
    instructions: Stripped = ""
    """In the system message of the reply, after the persona; may use the variables of READING and of the steps."""
    order: Order = 100
    steps: Annotated[tuple[Step, ...], Field(max_length=MAX_STEPS)] = ()
    """Called in this order, before the first draft."""

    @property
    def uses_reading(self) -> bool:
        """Whether one of its texts uses the encoder's reading."""
        texts = (self.instructions, *(step.instructions for step in self.steps))
        return any(name in variables_in(text) for text in texts for name in READING)


class PolicyKind(StrEnum):
    """When a draft is written again."""

    NEVER = "never"
    BELOW = "below threshold"
    """While its score is low, told of the weakest component or of all that are low."""
    BEST = "best of n"
    """Always, from the same prompt; best-of-n sampling by a score (Stiennon et al. 2020)."""
    CRITIQUE = "critique"
    """While its score is low, told what a hidden critique by facet says of it (Madaan et al. 2023)."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When a draft is written again, and what the rewrite is told. One YAML file in `prompts/policies/`.

    Whatever the kind, the best draft by the number that the policy watches is kept.
    """

    id: ImpliedName = ""
    name: str
    """Shown in the settings panel, where the policy is the one that its switch turns on."""
    description: str
    kind: PolicyKind
    order: Order = 100
    most_drafts: Annotated[int, Field(ge=2, le=9), Strict()] = 3
    """The first draft and its rewrites, 2..9; the data keeps no more of a reply. Of the kind NEVER it is 1."""
    where_room: StrictBool = False
    """Whether a further draft is written only while nobody waits for the embedded engine."""
    watches: Watched = "empathy"
    """The number that is held against `below` and `least_gain`, and by which the best draft is kept. Where a score has
    no such number, nothing is written again."""
    below: Empathy | None = None
    """The number on 1..3 under which a draft is written again; None where the score does not decide."""
    guidance: Literal["weakest", "facets"] = "weakest"
    """Whether a rewrite is told of the lowest component (of the watched one, if it is a component), or of every one
    that is below `below`, the lowest first."""
    least_gain: Gain | None = None
    """It ends when a rewrite gained less than this, 0..2, over the best draft before it; None: not for that."""
    stop_when_formulaic: StrictBool = False
    """It ends when a rewrite is formulaic (`chat_app/conversation/formulaic.py`)."""
    critique: NonEmpty = ""
    """What the critic is told; for the kind `critique` alone."""
    rewrite: Annotated[NonEmpty, exactly_once("draft", "critique")] = ""
    """What the rewrite is told, with `{draft}` and `{critique}`; for the kind `critique` alone."""
