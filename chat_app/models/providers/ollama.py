"""An Ollama server."""

from functools import cache
from typing import TYPE_CHECKING, Any

from heard.chat_app.models.env_values import resolved
from heard.chat_app.models.provider import Call, Provider
from heard.chat_app.models.records import ModelSpec

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

URL = "http://127.0.0.1:11434"


@cache
def _chat_class() -> "type[BaseChatModel]":
    """LangChain's class, which passes thinking on only where it asks for it: models that think unasked would be silent,
    and a model that cannot refuses to be asked."""
    from langchain_ollama import ChatOllama
    from pydantic import PrivateAttr

    class HearingChatOllama(ChatOllama):
        """ChatOllama that always hears the thinking, and asks for it only if it is told to."""

        _asked: bool | str | None = PrivateAttr(default=None)

        def _chat_params(self, *given: Any, **named: Any) -> dict[str, Any]:
            return super()._chat_params(*given, **named) | {"think": self._asked}

    return HearingChatOllama


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    import httpx

    from heard.chat_app.models.connections import CONNECT_SECONDS, check_response

    spec = call.spec
    sampling: dict[str, Any] = dict(spec.sampling)
    headers = resolved(spec.headers, spec)
    transport, idle_transport = call.connections.transports()

    async def sign(request: httpx.Request) -> None:
        # Here, as headers given to the model show in its representation. The client has put OLLAMA_API_KEY there.
        request.headers["authorization"] = f"Bearer {call.key}"
        request.headers.update(headers)

    made: Any = _chat_class()
    chat: BaseChatModel = made(
        model=spec.model,
        base_url=spec.base_url or URL,
        temperature=spec.temperature,
        seed=spec.seed,
        num_predict=call.max_tokens + spec.thinking_tokens,
        # Its own default is small, and cuts off the beginning of a talk in silence.
        num_ctx=spec.context_tokens + spec.thinking_tokens,
        client_kwargs={"timeout": httpx.Timeout(None, connect=CONNECT_SECONDS), "follow_redirects": False},
        async_client_kwargs={
            "transport": transport,
            "event_hooks": {"request": [sign], "response": [check_response]},
        },
        sync_client_kwargs={"transport": idle_transport},
        reasoning=True,
        **sampling,
    )
    chat._asked = _reasoning(spec)  # type: ignore[attr-defined]
    return chat


def _reasoning(spec: ModelSpec) -> bool | str | None:
    """How Ollama is told how much to think: whether at all, and gpt-oss by a word."""
    if spec.reasoning is None:
        return None
    if spec.reasoning == "none":
        return False
    return spec.reasoning if "gpt-oss" in spec.model else True


PROVIDER = Provider(
    name="ollama",
    chat=chat_model,
    module="langchain_ollama",
    extra="ollama",
    errors=("ollama:ResponseError",),
    loggers=("ollama", "langchain_ollama"),
    protocol="Ollama's protocol",
    url=URL,
    own_path=("/v1", "/api"),
    extras=("headers",),
    sampling=("top_p", "top_k", "repeat_penalty", "repeat_last_n"),
)
