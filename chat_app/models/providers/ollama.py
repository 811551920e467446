"""An Ollama server."""

from typing import TYPE_CHECKING, Any

from heard.chat_app.models.provider import Call, Provider

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

URL = "http://127.0.0.1:11434"


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    import httpx
    from langchain_ollama import ChatOllama

    from heard.chat_app.models.connections import CONNECT_SECONDS, check_response

    spec = call.spec
    sampling: dict[str, Any] = dict(spec.sampling)
    transport, idle_transport = call.connections.transports()

    async def sign(request: httpx.Request) -> None:
        # Here, as headers given to the model show in its representation. The client has put OLLAMA_API_KEY there.
        request.headers["authorization"] = f"Bearer {call.key}"

    return ChatOllama(
        model=spec.model,
        base_url=spec.base_url or URL,
        temperature=spec.temperature,
        seed=spec.seed,
        num_predict=call.max_tokens,
        num_ctx=spec.context_tokens,  # its own default is small, and cuts off the beginning of a talk in silence
        client_kwargs={"timeout": httpx.Timeout(None, connect=CONNECT_SECONDS), "follow_redirects": False},
        async_client_kwargs={
            "transport": transport,
            "event_hooks": {"request": [sign], "response": [check_response]},
        },
        sync_client_kwargs={"transport": idle_transport},
        **sampling,
    )


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
    sampling=("top_p", "top_k", "repeat_penalty", "repeat_last_n"),
)
