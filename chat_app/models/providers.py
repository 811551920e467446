"""Who serves models: one small function a provider makes its LangChain chat model, and one table names them all.

This file imports no client at its head: a library is loaded only where one of its models is called.
"""

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from heard.chat_app.conversation.events import ModelSpec

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
    """One row of the table."""

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


def is_installed(name: str) -> bool:
    """Whether the package of a provider is there. Imports nothing."""
    provider = PROVIDERS[name]
    return all(importlib.util.find_spec(module) is not None for module in (provider.module, *provider.beside))


def load_client(name: str) -> None:
    """Import what calls to this provider need. It takes a second or more, so it is done before the first reply."""
    importlib.import_module(PROVIDERS[name].module)


def _embedded(call: Call) -> "BaseChatModel":
    from heard.chat_app.models.local_chat import EmbeddedChat

    assert call.engine is not None
    return EmbeddedChat(
        engine=call.engine,
        max_tokens=call.max_tokens,
        temperature=call.spec.temperature,
        sampling=call.spec.sampling,
        seed=call.spec.seed,
        ticket=call.ticket,
    )


def _transformers(call: Call) -> "BaseChatModel":
    from heard.chat_app.models.local_chat import EmbeddedChat

    assert call.hub is not None
    return EmbeddedChat(
        engine=call.hub.model(call.spec),
        max_tokens=call.max_tokens,
        temperature=call.spec.temperature,
        sampling=call.spec.sampling,
        seed=call.spec.seed,
        ticket=call.ticket,
    )


def _echo(call: Call) -> "BaseChatModel":
    from heard.chat_app.models.echo import EchoChat

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


def _anthropic(call: Call) -> "BaseChatModel":
    from anthropic import AsyncAnthropic
    from langchain_anthropic import ChatAnthropic
    from pydantic import SecretStr

    spec, url = call.spec, call.spec.base_url or ANTHROPIC_URL
    sampling: dict[str, Any] = dict(spec.sampling)
    # ReplyStream ends such a reply, and says so in a sentence.
    warnings.filterwarnings("ignore", "Received unexpected tool content block", UserWarning)
    chat = ChatAnthropic(
        model_name=spec.model,
        base_url=url,
        api_key=SecretStr(call.key),
        temperature=spec.temperature,
        max_tokens_to_sample=call.max_tokens,
        max_retries=0,
        timeout=None,
        stop=None,
        streaming=True,
        **sampling,
    )
    # LangChain's own would be shared by all event loops of a process and keep connections past the end of one.
    client = AsyncAnthropic(
        api_key=call.key,
        base_url=url,
        max_retries=0,
        timeout=None,
        http_client=call.connections.clients()[0],
        open_telemetry=False,
    )
    chat.__dict__["_async_client"] = client  # where LangChain keeps what it has made
    return chat


def _google(call: Call) -> "BaseChatModel":
    from google import genai
    from google.genai.types import HttpOptions
    from langchain_google_genai import ChatGoogleGenerativeAI
    from pydantic import SecretStr

    spec, url, kept = call.spec, call.spec.base_url or GOOGLE_URL, call.connections.kept
    name = ("google", url, spec.model, call.key)
    if name not in kept:  # making one takes a twentieth of a second
        client, idle_client = call.connections.clients()
        kept[name] = ChatGoogleGenerativeAI(
            model=spec.model,
            base_url=url,
            api_key=SecretStr(call.key),
            vertexai=False,  # whatever the environment says: that goes by other keys, to another address
            max_retries=1,  # of attempts; 0 would be the library's own number
            client_args={"verify": call.connections.trust},
        )
        options = HttpOptions(base_url=url, api_version="v1beta", httpx_client=idle_client, httpx_async_client=client)
        kept[name].client = genai.Client(vertexai=False, api_key=call.key, http_options=options)
    sampling: dict[str, Any] = dict(spec.sampling)
    thinking = sampling.pop("thinking_budget", None)
    # What a model thinks counts as output, and would leave a short reply no room.
    room = call.max_tokens + max(0, int(thinking or 0))
    values = {"temperature": spec.temperature, "seed": spec.seed, "max_output_tokens": room, **sampling}
    if thinking is not None:
        values["thinking_budget"] = int(thinking)
    chat: BaseChatModel = kept[name].model_copy(update=values)
    return chat


def _ollama(call: Call) -> "BaseChatModel":
    import httpx
    from langchain_ollama import ChatOllama

    from heard.chat_app.models.connections import CONNECT_SECONDS, receive

    spec = call.spec
    sampling: dict[str, Any] = dict(spec.sampling)
    transport, idle_transport = call.connections.transports()

    async def sign(request: httpx.Request) -> None:
        # Here, as headers given to the model show in its representation. The client has put OLLAMA_API_KEY there.
        request.headers["authorization"] = f"Bearer {call.key}"

    return ChatOllama(
        model=spec.model,
        base_url=spec.base_url or OLLAMA_URL,
        temperature=spec.temperature,
        seed=spec.seed,
        num_predict=call.max_tokens,
        num_ctx=spec.context_tokens,  # its own default is small, and cuts off the beginning of a talk in silence
        client_kwargs={"timeout": httpx.Timeout(None, connect=CONNECT_SECONDS), "follow_redirects": False},
        async_client_kwargs={
            "transport": transport,
            "event_hooks": {"request": [sign], "response": [receive]},
        },
        sync_client_kwargs={"transport": idle_transport},
        **sampling,
    )


OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
GOOGLE_URL = "https://generativelanguage.googleapis.com"
OLLAMA_URL = "http://127.0.0.1:11434"

_OPENAI = Provider(
    chat=_openai,
    module="langchain_openai",
    errors=("openai:OpenAIError",),
    protocol="OpenAI's protocol",
)

PROVIDERS = {
    "embedded": Provider(chat=_embedded, module="heard.chat_app.models.local_chat", served=False, named=False),
    "echo": Provider(chat=_echo, module="heard.chat_app.models.echo", served=False, named=False),
    "openai": replace(_OPENAI, url=OPENAI_URL),
    "anthropic": Provider(
        chat=_anthropic,
        module="langchain_anthropic",
        extra="anthropic",
        errors=("anthropic:AnthropicError",),
        protocol="Anthropic's protocol",
        url=ANTHROPIC_URL,
        own_path=("/v1",),
        key_wanted="ANTHROPIC_API_KEY",
        seed=False,
        hottest=1,
        sampling=("top_p", "top_k"),
    ),
    "google": Provider(
        chat=_google,
        module="langchain_google_genai",
        extra="google",
        errors=("google.genai.errors:APIError", "langchain_google_genai.chat_models:ChatGoogleGenerativeAIError"),
        protocol="Google's protocol",
        url=GOOGLE_URL,
        own_path=("/v1beta",),
        key_wanted="GEMINI_API_KEY",
        sampling=("top_p", "top_k", "frequency_penalty", "presence_penalty", "thinking_budget"),
        adds_counts=True,
    ),
    "ollama": Provider(
        chat=_ollama,
        module="langchain_ollama",
        extra="ollama",
        errors=("ollama:ResponseError",),
        protocol="Ollama's protocol",
        url=OLLAMA_URL,
        own_path=("/v1", "/api"),
        sampling=("top_p", "top_k", "repeat_penalty", "repeat_last_n"),
    ),
    "vllm": _OPENAI,
    "transformers": Provider(
        chat=_transformers,
        module="transformers",
        beside=("torch",),
        extra="hub",
        served=False,
        example="a name of the Hugging Face Hub, or a folder with weights",
        sampling=("top_p", "top_k", "min_p", "typical_p", "repetition_penalty"),
    ),
}
"""Every provider by the name that models.toml has for it."""
