"""Anthropic's own servers."""

import warnings
from typing import TYPE_CHECKING, Any

from heard.chat_app.models.accepted import thinks_by_budget, thinks_only_if_asked
from heard.chat_app.models.env_values import resolved
from heard.chat_app.models.provider import Call, Provider

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

URL = "https://api.anthropic.com"
LEAST_BUDGET = 1024
"""Tokens, the fewest that Anthropic takes."""


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    from anthropic import AsyncAnthropic
    from langchain_anthropic import ChatAnthropic
    from pydantic import SecretStr

    spec, url = call.spec, call.spec.base_url or URL
    sampling: dict[str, Any] = {**spec.sampling, **_reasoning(call)}
    if spec.extra_body:
        sampling["model_kwargs"] = {"extra_body": resolved(spec.extra_body, spec)}
    # ReplyStream ends such a reply, and says so in a sentence.
    warnings.filterwarnings("ignore", "Received unexpected tool content block", UserWarning)
    chat = ChatAnthropic(
        model_name=spec.model,
        base_url=url,
        api_key=SecretStr(call.key),
        temperature=spec.temperature,
        max_tokens_to_sample=call.max_tokens + spec.thinking_tokens,
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
        default_headers=resolved(spec.headers, spec),
        default_query=resolved(spec.default_query, spec),
    )
    chat.__dict__["_async_client"] = client  # where LangChain keeps what it has made
    return chat


def _reasoning(call: Call) -> dict[str, Any]:
    """How Anthropic's models are told how much to think: by tokens, or newer ones by a word."""
    spec = call.spec
    if spec.reasoning is None or (spec.reasoning == "none" and thinks_only_if_asked(spec.model)):
        return {}
    if spec.reasoning == "none":
        return {"thinking": {"type": "disabled"}}
    if thinks_by_budget(spec.model):
        return {"thinking": {"type": "enabled", "budget_tokens": max(LEAST_BUDGET, spec.thinking_tokens)}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": spec.reasoning}}


PROVIDER = Provider(
    name="anthropic",
    chat=chat_model,
    module="langchain_anthropic",
    extra="anthropic",
    errors=("anthropic:AnthropicError",),
    loggers=("anthropic", "langchain_anthropic"),
    header_variables=("ANTHROPIC_CUSTOM_HEADERS",),
    protocol="Anthropic's protocol",
    url=URL,
    own_path=("/v1",),
    key_wanted="ANTHROPIC_API_KEY",
    extras=("extra_body", "headers", "default_query"),
    seed=False,
    hottest=1,
    sampling=("top_p", "top_k"),
)
