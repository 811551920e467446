"""What a model is known to accept. What is not known, and not set in models.toml, is not sent."""

import ipaddress
import re
from urllib.parse import urlsplit

from heard.chat_app.models.records import DEFAULT_TEMPERATURE, ModelSpec, Reasoning
from heard.chat_app.models.thinking import THINKING_NAMES

OPENAI_URL = "https://api.openai.com/v1"
AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_OPENAI_THINKERS = re.compile(r"(?:^|[/.])(?:o\d|gpt-[5-9]|codex-)(?!.*chat-latest)", re.IGNORECASE)
_OPENAI_OTHERS = re.compile(r"(?:^|[/.])(?:gpt-3|gpt-4|chatgpt-4)", re.IGNORECASE)
_CLAUDE_WARM = re.compile(r"claude-(?:2|3|instant|(?:opus|sonnet|haiku)-4(?:-[0-6])?(?:-\d{8})?$)", re.IGNORECASE)
_CLAUDE_BUDGET = re.compile(r"claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8})?$)", re.IGNORECASE)
_CLAUDE_PLAIN = re.compile(r"claude-(?:2|3-(?!7)|instant)", re.IGNORECASE)
_NO_SYSTEM = {
    "openai": re.compile(r"(?:^|[/.])o1-(?:mini|preview)|gemma-(?:1\.1-|2-)?\d+b", re.IGNORECASE),
    "vllm": re.compile(r"gemma-(?:1\.1-|2-)?\d+b", re.IGNORECASE),
    "google": re.compile(r"gemma-", re.IGNORECASE),
}
_GEMINI_THINKERS = re.compile(r"gemini-(?:2\.5-(?:pro|flash(?!-lite))|[3-9])", re.IGNORECASE)
ROOM: dict[str, int] = {"none": 0, "low": 1024, "medium": 4096, "high": 16_384}
"""Tokens of thinking that are given by the word of `reasoning`."""
UNASKED_ROOM = 4096
"""The same for a model that is known to think without a word."""


def default_temperature(provider: str, model: str, url: str | None, reasoning: Reasoning | None) -> float | None:
    """Return the temperature of an entry that names none: None where the model may refuse one."""
    thinks = reasoning not in (None, "none")
    match provider:
        case "anthropic":
            known = bool(_CLAUDE_WARM.search(model)) and not thinks
        case "openai":
            known = not _OPENAI_THINKERS.search(model) and (bool(_OPENAI_OTHERS.search(model)) or on_this_network(url))
        case "langchain":
            known = False
        case _:
            known = not _OPENAI_THINKERS.search(model)
    return DEFAULT_TEMPERATURE if known else None


def default_room(spec: ModelSpec, reasoning: Reasoning | None) -> int:
    """Return the tokens for thinking of an entry that names none; never more than half of its context."""
    if reasoning is not None:
        wanted = ROOM[reasoning]
    elif "thinking_budget" in spec.sampling:
        wanted = max(0, int(spec.sampling["thinking_budget"]))
    else:
        wanted = UNASKED_ROOM if _thinks_unasked(spec) else 0
    return min(wanted, spec.context_tokens // 2)


def _thinks_unasked(spec: ModelSpec) -> bool:
    match spec.provider:
        case "openai" | "vllm" | "ollama":
            return bool(_OPENAI_THINKERS.search(spec.model) or THINKING_NAMES.search(spec.model))
        case "google":
            return bool(_GEMINI_THINKERS.search(spec.model))
        case "anthropic":
            return not (_CLAUDE_PLAIN.search(spec.model) or _CLAUDE_WARM.search(spec.model))
        case _:
            return False


def length_name(spec: ModelSpec) -> str | None:
    """Return the name under which a server of OpenAI's protocol takes the bound of a reply; None to send none."""
    if spec.length_name is not None:
        return None if spec.length_name == "none" else spec.length_name
    if {"max_tokens", "max_completion_tokens"} & set(spec.extra_body):
        return None
    url = spec.base_url or OPENAI_URL
    host = urlsplit(url).hostname or ""
    renamed = url == OPENAI_URL or host.endswith(AZURE_HOSTS) or _OPENAI_THINKERS.search(spec.model)
    return "max_completion_tokens" if renamed else "max_tokens"


def default_system_role(provider: str, model: str) -> str:
    """Return "user" for a model that is known to refuse the system role."""
    refuses = _NO_SYSTEM.get(provider)
    return "user" if refuses is not None and refuses.search(model) else "system"


def thinks_by_budget(model: str) -> bool:
    """Whether a model of Anthropic is told by a number of tokens how much to think; newer ones are told by a word."""
    return bool(_CLAUDE_BUDGET.search(model))


def thinks_only_if_asked(model: str) -> bool:
    """Whether a model of Anthropic thinks only if it is asked to, so that there is nothing to turn off."""
    return bool(_CLAUDE_WARM.search(model))


def thinks_in_its_output(spec: ModelSpec) -> bool:
    """Whether the output is known to begin with thinking, perhaps without a mark that says so."""
    if spec.reasoning == "none" or spec.provider in ("anthropic", "google", "echo"):
        return False
    return (spec.base_url or "") != OPENAI_URL and bool(THINKING_NAMES.search(spec.model))


def on_this_network(url: str | None) -> bool:
    """Whether an address is of this machine or of a private network, where engines take every parameter."""
    host = urlsplit(url or OPENAI_URL).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".local", ".internal", ".lan", ".localhost"))
