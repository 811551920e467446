"""Thinking and refusals that a server sends apart from the text, in every shape in which LangChain passes them on."""

from collections.abc import Mapping, Sequence
from typing import Any

FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Fields of a message, and of a piece of one, that hold thinking: those of DeepSeek, vLLM, llama.cpp, OpenRouter, Groq,
Ollama and others. The first that is there counts: a server may send the same text under two names."""
BLOCKS = {"thinking", "reasoning", "redacted_thinking", "reasoning_content", "thought", "reasoning.text",
          "reasoning.summary", "reasoning.encrypted"}  # fmt: skip
"""Types of a block of content that is thinking."""
_TEXTS = ("thinking", "reasoning", "reasoning_content", "text", "summary", "content", "thought")


def thinking_in(chunk: object) -> str | None:
    """Return the thinking in a chunk of LangChain: "" where there is some without a text, None where there is none."""
    more = getattr(chunk, "additional_kwargs", None) or {}
    for field in FIELDS:
        if more.get(field):
            return _text_in(more[field])
    content = getattr(chunk, "content", None)
    blocks = [block for block in content if _is_thinking(block)] if isinstance(content, list) else []
    return "".join(map(_text_in, blocks)) if blocks else None


def thinking_field(delta: Mapping[str, Any]) -> Any:
    """Return what a piece of OpenAI's protocol has of thinking, under whichever name; None if it has nothing."""
    found = next((delta[field] for field in FIELDS if delta.get(field)), None)
    if found is None and isinstance(details := delta.get("reasoning_details"), list):
        found = [block for block in details if _is_thinking(block)]
    if not found and isinstance(content := delta.get("content"), list):
        found = [block for block in content if _is_thinking(block)]
    return found or None


def is_refusal(chunk: object) -> bool:
    """Whether a chunk says by a field or a block of its own that the model refuses."""
    content = getattr(chunk, "content", None)
    blocks = content if isinstance(content, list) else []
    return bool((getattr(chunk, "additional_kwargs", None) or {}).get("refusal")) or any(
        isinstance(block, Mapping) and block.get("type") == "refusal" for block in blocks
    )


def _is_thinking(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") in BLOCKS


def _text_in(value: object) -> str:
    """Return the text of a block, however deep it lies."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return next((text for name in _TEXTS if (text := _text_in(value.get(name)))), "")
    if isinstance(value, Sequence):
        return "".join(map(_text_in, value))
    return ""
