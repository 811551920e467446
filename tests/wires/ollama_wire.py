"""Ollama's `/api/chat`: one JSON object a line."""

import json
from typing import Any, ClassVar

from tests.wires.wire import COUNTS, Wire

REASONS = {"stop": "stop", "length": "length", "withheld": "refusal"}


def _line(**values: object) -> bytes:
    head = {"model": "scripted", "created_at": "2026-01-01T00:00:00Z"}
    return json.dumps(head | values, ensure_ascii=False).encode() + b"\n"


class OllamaWire(Wire):
    """Lines with a message's pieces; the last is done, with the reason and counts."""

    provider = "ollama"
    path: ClassVar[str] = "/api/chat"
    content_type: ClassVar[str] = "application/x-ndjson"

    def opening(self) -> bytes:
        return b""

    def piece(self, text: str) -> bytes:
        return _line(message={"role": "assistant", "content": text}, done=False)

    def ending(self, reason: str = "stop", counts: tuple[int, int] | None = COUNTS) -> bytes:
        told = {"prompt_eval_count": counts[0], "eval_count": counts[1]} if counts else {}
        message = {"role": "assistant", "content": ""}
        return _line(message=message, done=True, done_reason=REASONS[reason], total_duration=5, **told)

    def tool_call(self) -> bytes:
        call = {"function": {"name": "look_up", "arguments": {}}}
        return _line(message={"role": "assistant", "content": "", "tool_calls": [call]}, done=False) + self.ending()

    def error_event(self, text: str) -> bytes:
        return json.dumps({"error": text}).encode() + b"\n"

    def error_body(self, status: int, text: str) -> dict[str, Any]:
        return {"error": text}

    def said(self, body: dict[str, Any]) -> list[tuple[str, str]]:
        return [(message["role"], message["content"]) for message in body["messages"]]

    def key_in(self, headers: dict[str, str]) -> str | None:
        return headers.get("authorization", "").removeprefix("Bearer ") or None
