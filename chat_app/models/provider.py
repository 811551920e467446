"""What a provider of models declares about itself. Each is one file of `providers/`."""

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
"""Given where an entry names no key: without one, a client would send a vendor's key to whatever server this is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Everything that one call to a model needs."""

    spec: ModelSpec
    key: str = field(repr=False)
    """From the entry's environment variable, or NO_KEY."""
    max_tokens: int
    connections: "Connections"
    longest_gap: float
    """Seconds that no chunk may take, under any of our limits."""
    engine: "Engine | None" = None
    hub: "HubEngine | None" = None
    ticket: "Ticket | None" = None
    """The slot of either engine, if one was waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What one file of `providers/` declares as its `PROVIDER`."""

    name: str
    """As models.toml has it."""
    chat: "Callable[[Call], BaseChatModel]"
    """Makes the chat model for one call."""
    module: str
    """What has to be imported before a call: a client library, or our own code."""
    beside: tuple[str, ...] = ()
    """Further modules that must be there."""
    extra: str | None = None
    """The extra of heard that brings the module, as in `pip install "heard[anthropic]"`; None if it is always there."""
    errors: tuple[str, ...] = ()
    """The module's own exceptions, each "module:Class"."""
    protocol: str = ""
    """As a sentence names it."""
    url: str | None = None
    """Where an entry without `base_url` goes; None where there is no such place."""
    local: Literal["engine", "hub"] | None = None
    """Which engine of this process the model runs on; None where it runs somewhere else."""
    served: bool = True
    """Whether the model is on a server, so that base_url has a meaning."""
    named: bool = True
    """Whether there is more than one, so that model and key_env have a meaning."""
    example: str = "the server's own name for the model"
    """What model is, as a sentence names it."""
    own_path: tuple[str, ...] = ()
    """Ends of an address that the client adds by itself, and which are taken off a `base_url`."""
    key_wanted: str | None = None
    """The usual name for the key's variable, where the vendor's own server takes nobody without one."""
    seed: bool = True
    """Whether the protocol knows a seed."""
    hottest: int = 2
    """Largest temperature."""
    most_context: int = 10_000_000
    """Largest `context_tokens` that an entry may name."""
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
    """Further parameters that a server may know; an unknown one is a misspelling that it would ignore."""
    adds_counts: bool = False
    """Whether the chunks' token counts are parts of a sum; else the last one is whole."""
