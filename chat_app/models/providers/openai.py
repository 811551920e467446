"""OpenAI, and any server that speaks its protocol."""

from typing import TYPE_CHECKING

from heard.chat_app.models.provider import Call, Provider

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

URL = "https://api.openai.com/v1"


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    spec = call.spec
    client, idle_client = call.connections.clients()
    url = spec.base_url or URL
    # OpenAI itself has renamed the bound; other servers know it by its old name.
    bound = "max_completion_tokens" if url == URL else "max_tokens"
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


PROVIDER = Provider(
    name="openai",
    chat=chat_model,
    module="langchain_openai",
    errors=("openai:OpenAIError",),
    loggers=("openai", "langchain_openai"),
    header_variables=("OPENAI_CUSTOM_HEADERS",),
    protocol="OpenAI's protocol",
    url=URL,
)
