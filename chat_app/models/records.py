"""Records of a model call: the model, the items of its stream, and the failure of a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from heard.errors import UserError

Reasoning = Literal["none", "low", "medium", "high"]
"""How much a model is asked to think before it replies."""
DEFAULT_TEMPERATURE = 0.7


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One entry of `models.toml`: everything needed to call a model."""

    id: str
    """The entry's name, shown in the settings panel and stored with each draft."""
    provider: str
    """A name of `heard.chat_app.models.providers.PROVIDERS`."""
    model: str
    """The provider's own name for the model."""
    label: str
    """What people read in the settings panel."""
    base_url: str | None = None
    key_env: str | None = None
    """Name of the environment variable with the key; None for a server without one. The key itself is never stored."""
    temperature: float | None = DEFAULT_TEMPERATURE
    """0..2; None sends none, and the server takes its own."""
    seed: int | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    """Further sampling parameters under the provider's names, such as top_p; stored with each draft."""
    context_tokens: int = 8192
    """Most tokens that prompt and reply may have together, without `thinking_tokens`."""
    reasoning: Reasoning | None = None
    """None sends nothing of it."""
    thinking_tokens: int = 0
    """Room for thinking, beside the reply's own bound."""
    length_name: str | None = None
    """Under which name a server of OpenAI's protocol gets the bound: "max_tokens", "max_completion_tokens" or "none";
    None for the one that is known of it."""
    system_role: str = "system"
    """"system", or "user" for a model that has no such role: the system text then begins the first message."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, as they are."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of the request. A value "env:NAME" is that environment variable's."""
    default_query: Mapping[str, str] = field(default_factory=dict)
    """Parameters behind the address, such as Azure's api-version."""
    input_price: float | None = None
    """Of a million tokens read, in any currency."""
    output_price: float | None = None
    """Of a million tokens written, thinking included."""
    class_path: str | None = None
    """Of a model of LangChain: "package.module.Class"."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of that class. A text "env:NAME" is that environment variable's."""
    file: str | None = None
    """Of an embedded model that is not in the catalogue: the path of a GGUF file, or with `repo` its name there."""
    repo: str | None = None
    """"owner/name" or "owner/name@revision" of the Hugging Face Hub."""
    adapter: str | None = None
    """Of an embedded model: the path of the weights that are added to its own. Such a model has learnt how to answer,
    so a persona's examples are not put before its messages."""
    tiny: bool = False
    """Whether it is known to be too small to follow a conversation, which people should be told."""
    fallback: str | None = None
    """The entry that answers if this model fails before its first token and the `AnswerRequest` allows a fallback."""


class FailureKind(StrEnum):
    """Why a model gave no reply, or no complete one. The values are stored by `heard compare`."""

    UNREACHABLE = "unreachable"
    NOT_INSTALLED = "not_installed"
    """An extra package is missing."""
    BAD_KEY = "bad_key"
    BUSY = "busy"
    """429."""
    SERVER_ERROR = "server_error"
    """5xx."""
    REJECTED = "rejected"
    """4xx other than a key or 429."""
    COOLING_DOWN = "resting"
    """Not called: its server has failed too often in a row."""
    SILENT = "silent"
    """No first token within the limit."""
    CUT = "cut"
    """The stream ended, stalled or died in the middle."""
    EMPTY = "empty"
    """The stream was complete and had no visible character."""
    UNRATED = "unrated"
    """The model has answered, and the rater that was to score the answer gave no numbers."""
    NO_QUOTA = "no_quota"
    """The account has nothing left. Stays so until somebody pays."""


class ModelFailure(UserError):
    """A model call that failed; `str()` is a plain sentence that names the fault and the next step.

    The provider's own text is left out on purpose: it can quote the person's words or a key.
    """

    def __init__(self, kind: FailureKind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
        self.reason: str | None = None
        """What the server said of it, without keys and without the words of the prompt: for the log and for `heard
        models try`, and not for a page."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a model's text, as it arrived; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of what the model thinks before or between what it says; empty where it only shows that it does."""

    text: str


@dataclass(frozen=True, slots=True)
class Rethought:
    """Every Delta so far was thinking: `text`, all of it. What follows is the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model has no free slot; `ahead` calls are served first (1 or more)."""

    ahead: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Last item of a complete stream: the provider's token counts, None where it gave none."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cut: bool = False
    """Whether the reply ended because it had reached the token limit."""


StreamItem = Delta | Thinking | Rethought | Waiting | Usage
