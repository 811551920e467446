"""OpenAI's chat completions as server-sent events; vLLM and many other servers speak them too."""

import json
from typing import Any, ClassVar

from tests import servers
from tests.wires.wire import COUNTS, Wire

REASONS = {"stop": "stop", "length": "length", "withheld": "content_filter"}


class OpenAIWire(Wire):
    """`data:` lines of `chat.completion.chunk`, counts in a chunk of their own, `[DONE]` last."""

    base: ClassVar[str] = "/v1"
    path: ClassVar[str] = "/v1/chat/completions"

    def __init__(self, provider: str) -> None:
        self.provider = provider

    def opening(self) -> bytes:
        return servers.ROLE

    def piece(self, text: str) -> bytes:
        return servers.chunk(text)

    def ending(self, reason: str = "stop", counts: tuple[int, int] | None = COUNTS) -> bytes:
        told = servers.chunk(usage=counts) if counts else b""
        return servers.chunk(finish=REASONS[reason]) + told + servers.DONE

    def tool_call(self) -> bytes:
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
        part = json.loads(servers.chunk("").removeprefix(b"data: "))
        part["choices"][0]["delta"] = {"tool_calls": [call]}
        return servers.event(part) + servers.chunk(finish="tool_calls") + servers.DONE

    def error_event(self, text: str) -> bytes:
        return servers.event({"error": {"message": text, "type": "server_error", "code": 500}})

    def error_body(self, status: int, text: str) -> dict[str, Any]:
        return {"error": {"message": text, "type": "some_error", "code": "some_code"}}

    def said(self, body: dict[str, Any]) -> list[tuple[str, str]]:
        return [(message["role"], message["content"]) for message in body["messages"]]

    def key_in(self, headers: dict[str, str]) -> str | None:
        return headers["authorization"].removeprefix("Bearer ")
