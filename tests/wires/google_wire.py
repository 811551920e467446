"""Google's Gemini API: `streamGenerateContent` with `alt=sse`."""

import json
from typing import Any, ClassVar

from tests.wires.wire import COUNTS, Wire

REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "withheld": "SAFETY"}


def _event(values: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(values)}\r\n\r\n".encode()


def _part(part: dict[str, Any] | None, **more: object) -> bytes:
    content = {"parts": [part], "role": "model"} if part is not None else {"role": "model"}
    usage = {"promptTokenCount": COUNTS[0], "totalTokenCount": COUNTS[0]}
    values = {"candidates": [{"content": content, "index": 0} | more], "usageMetadata": usage}
    return _event(values | {"modelVersion": "scripted", "responseId": "r1"})


class GoogleWire(Wire):
    """Whole responses, one an event, whose counts are sums so far; the last has the reason."""

    provider = "google"
    path: ClassVar[str] = "/v1beta/models/scripted:streamGenerateContent"

    def opening(self) -> bytes:
        return b""

    def piece(self, text: str) -> bytes:
        return _part({"text": text})

    def ending(self, reason: str = "stop", counts: tuple[int, int] | None = COUNTS) -> bytes:
        candidate = {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": REASONS[reason], "index": 0}
        values: dict[str, Any] = {"candidates": [candidate], "modelVersion": "scripted"}
        if counts:
            read, written = counts
            usage = {"promptTokenCount": read, "candidatesTokenCount": written, "totalTokenCount": read + written}
            values["usageMetadata"] = usage
        return _event(values)

    def tool_call(self) -> bytes:
        return _part({"functionCall": {"name": "look_up", "args": {}}}, finishReason="STOP")

    def error_event(self, text: str) -> bytes:
        return _event(self.error_body(503, text))

    def error_body(self, status: int, text: str) -> dict[str, Any]:
        return {"error": {"code": status, "message": text, "status": "SOME_ERROR"}}

    def said(self, body: dict[str, Any]) -> list[tuple[str, str]]:
        system = body.get("systemInstruction")
        words = [("system", system["parts"][0]["text"])] if system else []
        names = {"user": "user", "model": "assistant"}
        return words + [(names[content["role"]], content["parts"][0]["text"]) for content in body["contents"]]

    def key_in(self, headers: dict[str, str]) -> str | None:
        return headers.get("x-goog-api-key")
