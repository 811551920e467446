"""OpenAI, and any server that speaks its protocol."""

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

from heard.chat_app.models.accepted import OPENAI_URL, length_name
from heard.chat_app.models.env_values import resolved
from heard.chat_app.models.provider import Call, Provider
from heard.chat_app.models.reasoning_blocks import thinking_field

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

URL = OPENAI_URL


@cache
def _chat_class() -> "type[BaseChatModel]":
    """LangChain's class, which drops what the protocol does not name: thinking and refusals, and the request's extras
    kept out of every representation."""
    from langchain_openai import ChatOpenAI
    from pydantic import PrivateAttr

    class HearingChatOpenAI(ChatOpenAI):
        """ChatOpenAI that hears the thinking, and sends headers and parameters of the address."""

        _extras: dict[str, Any] = PrivateAttr(default_factory=dict)

        def _get_request_payload(self, *given: Any, **named: Any) -> dict[str, Any]:
            return super()._get_request_payload(*given, **named) | self._extras

        def _convert_chunk_to_generation_chunk(self, chunk: Any, *more: Any) -> Any:
            made = super()._convert_chunk_to_generation_chunk(_without_parts(chunk), *more)
            delta = next((choice.get("delta") for choice in chunk.get("choices") or ()), None) or {}
            if made is not None:
                kept = {"reasoning_content": thinking_field(delta), "refusal": delta.get("refusal")}
                made.message.additional_kwargs.update({name: value for name, value in kept.items() if value})
            return made

    return HearingChatOpenAI


def _without_parts(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk whose text is one, where a server sends it in parts, as Mistral does for models that think."""
    choices = chunk.get("choices") or []
    for choice in choices:
        delta = choice.get("delta")
        if isinstance(delta, dict) and isinstance(content := delta.get("content"), list):
            texts = [str(part.get("text") or "") for part in content if part.get("type") == "text"]
            first = {**choice, "delta": {**delta, "content": "".join(texts)}}
            return {**chunk, "choices": [first]}
    return chunk


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call. Raises ModelFailure if a variable of its headers is not set."""
    from pydantic import SecretStr

    spec = call.spec
    # A text that comes in parts is another shape than the library's, which would quote it.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    client, idle_client = call.connections.clients()
    body = {**spec.sampling, **_reasoning(call), **resolved(spec.extra_body, spec)}
    if (bound := length_name(spec)) is not None:
        body[bound] = call.max_tokens + spec.thinking_tokens
    made: Any = _chat_class()
    chat: BaseChatModel = made(
        model=spec.model,
        base_url=spec.base_url or URL,
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
        extra_body=body,
    )
    headers, query = resolved(spec.headers, spec), resolved(spec.default_query, spec)
    chat._extras = {  # type: ignore[attr-defined]
        name: value for name, value in (("extra_headers", headers), ("extra_query", query)) if value
    }
    return chat


def _reasoning(call: Call) -> dict[str, Any]:
    """How the protocol says how much to think; vLLM passes a word on to the model's chat template as well."""
    word = call.spec.reasoning
    if word is None:
        return {}
    if call.spec.provider != "vllm":
        return {"reasoning_effort": word}
    template = {"chat_template_kwargs": {"enable_thinking": word != "none", "thinking": word != "none"}}
    return template if word == "none" else {"reasoning_effort": word, **template}


PROVIDER = Provider(
    name="openai",
    chat=chat_model,
    module="langchain_openai",
    errors=("openai:OpenAIError",),
    loggers=("openai", "langchain_openai"),
    header_variables=("OPENAI_CUSTOM_HEADERS",),
    protocol="OpenAI's protocol",
    url=URL,
    extras=("extra_body", "headers", "default_query"),
)
