"""Google's Gemini API."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heard.chat_app.models.provider import Call, Provider
from heard.chat_app.models.records import ModelSpec

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

URL = "https://generativelanguage.googleapis.com"


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    from google import genai
    from google.genai.types import HttpOptions
    from langchain_google_genai import ChatGoogleGenerativeAI
    from pydantic import SecretStr

    spec, url, cache = call.spec, call.spec.base_url or URL, call.connections.cache
    name = ("google", url, spec.model, call.key)
    if name not in cache:  # making one takes a twentieth of a second
        client, idle_client = call.connections.clients()
        cache[name] = ChatGoogleGenerativeAI(
            model=spec.model,
            base_url=url,
            api_key=SecretStr(call.key),
            vertexai=False,  # whatever the environment says: that goes by other keys, to another address
            max_retries=1,  # of attempts; 0 would be the library's own number
            client_args={"verify": call.connections.ssl_context},
        )
        options = HttpOptions(base_url=url, api_version="v1beta", httpx_client=idle_client, httpx_async_client=client)
        cache[name].client = genai.Client(vertexai=False, api_key=call.key, http_options=options)
    sampling: dict[str, Any] = dict(spec.sampling)
    thinking = sampling.pop("thinking_budget", None)
    # What a model thinks counts as output, and would leave a short reply no room.
    room = call.max_tokens + max(spec.thinking_tokens, int(thinking or 0))
    values = {"temperature": spec.temperature, "seed": spec.seed, "max_output_tokens": room, **sampling}
    if thinking is not None:
        values["thinking_budget"] = int(thinking)
    elif spec.reasoning is not None:
        values |= _reasoning(spec, ChatGoogleGenerativeAI.model_fields)
    chat: BaseChatModel = cache[name].model_copy(update=values)
    return chat


def _reasoning(spec: ModelSpec, known: Mapping[str, Any]) -> dict[str, Any]:
    """How Gemini is told how much to think: by a word, and before its third version by tokens. `known` are the fields
    of LangChain's class, which has renamed one."""
    thinks = spec.reasoning != "none"
    if "gemini-2" in spec.model:
        return {"thinking_budget": spec.thinking_tokens if thinks else 0, "include_thoughts": thinks}
    level = "reasoning_effort" if "reasoning_effort" in known else "thinking_level"
    return {level: spec.reasoning if thinks else "minimal", "include_thoughts": thinks}


PROVIDER = Provider(
    name="google",
    chat=chat_model,
    module="langchain_google_genai",
    extra="google",
    errors=("google.genai.errors:APIError", "langchain_google_genai.chat_models:ChatGoogleGenerativeAIError"),
    loggers=("google_genai", "langchain_google_genai"),
    protocol="Google's protocol",
    url=URL,
    own_path=("/v1beta",),
    key_wanted="GEMINI_API_KEY",
    sampling=("top_p", "top_k", "frequency_penalty", "presence_penalty", "thinking_budget"),
    usage_adds_up=True,
)
