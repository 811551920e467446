"""The declaration of a model provider. Each is one file of `providers/`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from heard.chat_app.models.records import ModelSpec

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

    from heard.chat_app.models.connections import Connections
    from heard.chat_app.models.hub_model import HubEngine
    from heard.chat_app.models.llama_engine import Engine
    from heard.chat_app.models.waiting_queue import Ticket

NO_KEY = "none"
"""The key of an entry that names none: without any, a client library would send a vendor's key to this server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The arguments of one call to a model."""

    spec: ModelSpec
    key: str = field(repr=False)
    """From the entry's environment variable, or NO_KEY."""
    max_tokens: int
    connections: "Connections"
    longest_gap: float
    """Longest pause in seconds before a chunk; above all of our own limits."""
    engine: "Engine | None" = None
    """The one that runs this model."""
    hub: "HubEngine | None" = None
    ticket: "Ticket | None" = None
    """The slot of the engine, if one was waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """The `PROVIDER` that a file of `providers/` declares."""

    name: str
    """Its name in models.toml."""
    chat: "Callable[[Call], BaseChatModel]"
    """Returns the LangChain chat model for one call."""
    module: str
    """The module that a call needs: a client library, or our own code."""
    extra_modules: tuple[str, ...] = ()
    """Further modules that must be installed."""
    extra: str | None = None
    """The extra of heard that installs the module, as in `pip install "heard[anthropic]"`; None if none is needed."""
    errors: tuple[str, ...] = ()
    """The module's own exceptions, each as "module:Class"."""
    loggers: tuple[str, ...] = ()
    """Its libraries' loggers: their records hold whole requests (debug) or a provider's text (warnings)."""
    header_variables: tuple[str, ...] = ()
    """Environment variables from which the client adds headers, perhaps a key, to calls of any server."""
    protocol: str = ""
    """Name of its protocol in a sentence."""
    url: str | None = None
    """Default `base_url`; None where an entry must give one, or has none."""
    local: Literal["engine", "hub"] | None = None
    """The engine in this process that runs the model; None for a model on a server, and for echo."""
    served: bool = True
    """Whether the model is on a server, so that an entry may have `base_url`."""
    named: bool = True
    """Whether there is more than one model, so that an entry may have `model` and `key_env`."""
    files: bool = False
    """Whether an entry may name a GGUF file by `file` (of the Hub with `repo`), or a model of the catalogue."""
    example: str = "the server's own name for the model"
    """What `model` is, in a sentence."""
    own_path: tuple[str, ...] = ()
    """Path endings that the client adds by itself; they are removed from a `base_url`."""
    key_wanted: str | None = None
    """Usual name of the key's environment variable, if the vendor's own server requires a key."""
    extras: tuple[str, ...] = ()
    """Which of extra_body, headers and default_query an entry may have."""
    reasons: bool = True
    """Whether an entry may say how much the model should think."""
    any_class: bool = False
    """Whether an entry names the class of its model, with its arguments."""
    seed: bool = True
    """Whether an entry may have a seed."""
    hottest: int = 2
    """Highest temperature."""
    most_context: int = 10_000_000
    """Highest `context_tokens` of an entry."""
    sampling: tuple[str, ...] = (
        "top_p",
        "top_k",
        "min_p",
        "typical_p",
        "repeat_penalty",
        "repeat_last_n",
        "repetition_penalty",
        "frequency_penalty",
        "presence_penalty",
    )
    """Sampling parameters that a server may know. Others are refused, as a server would ignore a misspelt one."""
    gives_reasons: bool = True
    """Whether every whole reply comes with the reason of its end; else one that ends without a fault is whole."""
    usage_adds_up: bool = False
    """Whether the token counts of the chunks have to be added up; else the last one is the total."""
