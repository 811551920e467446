"""Why a server says that a reply has ended. Only ends that are known to be good are; every other is broken off."""

import re
from collections.abc import Mapping
from typing import Any

from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec

REASON_KEYS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "finishReason")
"""Keys of a chunk's metadata that may hold the reason."""
GOOD = {"stop", "end_turn", "eos", "eos_token", "stop_sequence", "complete", "completed", "end_of_text", "endoftext"}
"""The reply is whole. All reasons here are in small letters."""
LENGTH = {"length", "max_tokens", "max_output_tokens", "max_length", "token_limit", "model_context_window_exceeded"}
"""The reply was cut at its bound."""
NOT_YET = {"", "none", "null", "finish_reason_unspecified"}
"""The reply goes on."""
TOOLS = {
    "tool_calls", "function_call", "tool_use", "malformed_function_call", "unexpected_tool_call",
    "too_many_tool_calls", "tool_call",
}  # fmt: skip
WITHHELD = {
    "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii", "language",
    "image_safety", "guardrail_intervened", "error_toxic", "sensitive",
}  # fmt: skip
REFUSED = {"refusal", "refused"}
FAULTS = {"error", "insufficient_system_resource", "network_error", "internal_error", "server_error", "timeout"}
ABORTED = {"abort", "aborted", "cancelled", "canceled", "interrupted"}
FULL = {"model_length", "context_length", "error_limit"}
"""The model's context window is full."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")


def reason_in(metadata: Mapping[str, Any]) -> str | None:
    """Return the reason in a chunk's metadata, in small letters; None if the reply goes on."""
    for key in REASON_KEYS:
        reason = str(metadata.get(key) or "").casefold().removeprefix("finish_reason_")
        if reason not in NOT_YET | {"unspecified"}:
            return reason
    feedback = metadata.get("prompt_feedback")
    if isinstance(feedback, Mapping) and feedback.get("block_reason"):
        return "safety"
    incomplete = metadata.get("incomplete_details")
    if isinstance(incomplete, Mapping) and incomplete.get("reason"):
        return str(incomplete["reason"]).casefold()
    return "stop" if metadata.get("done") is True else None  # an older Ollama gives no reason


def bad_end(spec: ModelSpec, reason: str, *, has_text: bool) -> ModelFailure | None:
    """Return the failure of a reply that ended for this reason; None if it is whole or was cut at its bound.
    `has_text` says whether text came before."""
    if reason in GOOD | LENGTH:
        return None
    kind = FailureKind.CUT if has_text else FailureKind.EMPTY
    if reason in TOOLS:
        return ModelFailure(
            kind,
            f'"{spec.label}" called a tool instead of answering, and there are none here. Send the message again, '
            "or choose another model.",
        )
    if reason in REFUSED:
        return refused(spec, has_text=has_text)
    if reason in WITHHELD:
        return withheld(spec, has_text=has_text)
    if reason in FAULTS:
        text = f'The server of "{spec.label}" broke the reply off for a fault of its own. Send the message again.'
    elif reason in ABORTED:
        text = f'The server of "{spec.label}" gave the reply up before its end. Send the message again.'
    elif reason in FULL:
        text = (
            f'The reply of "{spec.label}" broke off, because its context window is full. Start a new chat, or '
            "choose another model."
        )
    else:
        name = f' ("{reason}")' if _PLAIN.fullmatch(reason) else ""
        text = (
            f'The reply of "{spec.label}" ended for a reason that heard does not know{name}, so it counts as broken '
            "off. Send the message again, or choose another model."
        )
    return ModelFailure(kind, text)


def refused(spec: ModelSpec, *, has_text: bool) -> ModelFailure:
    """Return the failure of a model that refused to answer."""
    return ModelFailure(
        FailureKind.CUT if has_text else FailureKind.EMPTY,
        f'"{spec.label}" refused to answer: its provider withheld the reply under its own rules. Word the message '
        "anew, or choose another model.",
    )


def withheld(spec: ModelSpec, *, has_text: bool) -> ModelFailure:
    """Return the failure of a reply that a safety filter of the provider ended, or did not let begin."""
    return ModelFailure(
        FailureKind.CUT if has_text else FailureKind.EMPTY,
        f'A safety filter of the provider of "{spec.label}" withheld the reply under its own rules. Word the message '
        "anew, or choose another model.",
    )


def only_thinking(spec: ModelSpec) -> ModelFailure:
    """Return the failure of an output that was thinking to its end."""
    return ModelFailure(
        FailureKind.EMPTY,
        f'"{spec.label}" put all that it wrote into thinking, and nothing was left for a reply. Give it more room by '
        "thinking_tokens in models.toml, or less to think by reasoning, or choose another model.",
    )


def still_thinking(spec: ModelSpec, seconds: float) -> ModelFailure:
    """Return the failure of a model that was still thinking when its time was over."""
    return ModelFailure(
        FailureKind.CUT,
        f'"{spec.label}" was still thinking after {seconds:g} seconds, the longest that a reply may take here. Send '
        "the message again, or choose a faster model.",
    )
