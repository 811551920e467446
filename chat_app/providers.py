"""Who serves models: one small function a provider makes its LangChain chat model, and one table names them all.

This file imports no client at its head: a library is loaded only where one of its models is called.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chat_app.records import ModelSpec

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

    from chat_app.connections import Connections
    from chat_app.engine import Engine
    from chat_app.waiting_line import Ticket

NO_KEY = "none"
"""Given where an entry names no key: without one, a client would send a vendor's key to whatever server this is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Everything that one call to a model needs."""

    spec: ModelSpec
    key: str
    """From the entry's environment variable, or NO_KEY."""
    max_tokens: int
    connections: "Connections"
    longest_gap: float
    """Seconds that no chunk may take, under any of our limits."""
    engine: "Engine | None" = None
    ticket: "Ticket | None" = None
    """The slot of the embedded engine, if one was waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One row of the table."""

    chat: "Callable[[Call], BaseChatModel]"
    """Makes the chat model for one call."""
    module: str
    """What has to be imported before a call: a client library, or our own code."""
    url: str | None = None
    """Where an entry without `base_url` goes; None for a model in this process."""


def load_client(name: str) -> None:
    """Import what calls to this provider need. It takes a second or more, so it is done before the first reply."""
    importlib.import_module(PROVIDERS[name].module)


def _embedded(call: Call) -> "BaseChatModel":
    from chat_app.embedded import EmbeddedChat

    assert call.engine is not None
    return EmbeddedChat(
        engine=call.engine,
        max_tokens=call.max_tokens,
        temperature=call.spec.temperature,
        sampling=call.spec.sampling,
        seed=call.spec.seed,
        ticket=call.ticket,
    )


def _echo(call: Call) -> "BaseChatModel":
    from chat_app.echo import EchoChat

    return EchoChat(max_tokens=call.max_tokens)


def _openai(call: Call) -> "BaseChatModel":
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    spec = call.spec
    client, idle_client = call.connections.clients()
    url = spec.base_url or OPENAI_URL
    # OpenAI itself has renamed the bound; other servers know it by its old name.
    bound = "max_completion_tokens" if url == OPENAI_URL else "max_tokens"
    return ChatOpenAI(
        model=spec.model,
        base_url=url,
        api_key=SecretStr(call.key),
        temperature=spec.temperature,
        seed=spec.seed,
        max_retries=0,
        streaming=True,
        stream_usage=True,
        use_responses_api=False,
        timeout=client.timeout,
        # Never reached, as ours are shorter; but only with a limit does LangChain close the connection at once.
        stream_chunk_timeout=call.longest_gap,
        http_async_client=client,
        http_client=idle_client,
        http_socket_options=(),  # concerns the sync client, which is not used
        openai_proxy="",  # from OPENAI_PROXY it would clash with our client, which knows HTTPS_PROXY
        extra_body={**spec.sampling, bound: call.max_tokens},
    )


OPENAI_URL = "https://api.openai.com/v1"

PROVIDERS = {
    "embedded": Provider(chat=_embedded, module="chat_app.embedded"),
    "echo": Provider(chat=_echo, module="chat_app.echo"),
    "openai": Provider(chat=_openai, url=OPENAI_URL, module="langchain_openai"),
}
"""Every provider by the name that models.toml has for it."""
