"""Anthropic's messages as named server-sent events."""

import json
from typing import Any, ClassVar

from tests.wires.wire import COUNTS, Wire

REASONS = {"stop": "end_turn", "length": "max_tokens", "withheld": "refusal", "tools": "tool_use"}


def _event(kind: str, **values: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | values)}\n\n".encode()


def _delta(index: int, **delta: object) -> bytes:
    return _event("content_block_delta", index=index, delta=delta)


class AnthropicWire(Wire):
    """A message that starts, blocks with deltas in them, a delta of the message with the reason and counts, a stop."""

    provider = "anthropic"
    path: ClassVar[str] = "/v1/messages"

    def opening(self) -> bytes:
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": COUNTS[0], "output_tokens": 1},
        }  # fmt: skip
        start = _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        return _event("message_start", message=message) + start + _event("ping")

    def piece(self, text: str) -> bytes:
        return _delta(0, type="text_delta", text=text)

    def ending(self, reason: str = "stop", counts: tuple[int, int] | None = COUNTS) -> bytes:
        stop = {"stop_reason": REASONS[reason], "stop_sequence": None}
        read, written = counts or COUNTS  # the protocol has no end without counts
        usage = {"input_tokens": read, "output_tokens": written}
        end = _event("content_block_stop", index=0) + _event("message_delta", delta=stop, usage=usage)
        return end + _event("message_stop")

    def tool_call(self) -> bytes:
        block = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {}}
        start = _event("content_block_start", index=1, content_block=block)
        return start + _delta(1, type="input_json_delta", partial_json="{}") + self.ending("tools")

    def error_event(self, text: str) -> bytes:
        return _event("error", error={"type": "overloaded_error", "message": text})

    def error_body(self, status: int, text: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "some_error", "message": text}, "request_id": "req_1"}

    def said(self, body: dict[str, Any]) -> list[tuple[str, str]]:
        system = [("system", body["system"])] if "system" in body else []
        return system + [(message["role"], message["content"]) for message in body["messages"]]

    def key_in(self, headers: dict[str, str]) -> str | None:
        return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ") or None
