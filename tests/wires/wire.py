"""What every protocol's server can say, and the scripts made of it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from tests.servers import FOREVER, Cut, Script, ScriptedServer, Step

COUNTS = (7, 3)
"""Tokens read and written that a script tells of."""


class Wire(ABC):
    """One protocol. Every method gives bytes of a body of status 200 unless it says otherwise."""

    provider: str
    base: ClassVar[str] = ""
    """Path of the base_url that people write."""
    path: ClassVar[str]
    """End of the path that the client asks for."""
    content_type: ClassVar[str] = "text/event-stream"

    @abstractmethod
    def opening(self) -> bytes:
        """What comes before the first text."""

    @abstractmethod
    def piece(self, text: str) -> bytes:
        """A piece of the reply; may be empty."""

    @abstractmethod
    def ending(self, reason: str = "stop", counts: tuple[int, int] | None = COUNTS) -> bytes:
        """The end; `reason` is stop, length or withheld."""

    @abstractmethod
    def tool_call(self) -> bytes:
        """A call of a tool, and the end that follows on it."""

    @abstractmethod
    def error_event(self, text: str) -> bytes:
        """An error within the stream."""

    @abstractmethod
    def error_body(self, status: int, text: str) -> dict[str, Any]:
        """The JSON body of an answer with this status."""

    @abstractmethod
    def said(self, body: dict[str, Any]) -> list[tuple[str, str]]:
        """The request's messages as (role, text), the role in OpenAI's words."""

    @abstractmethod
    def key_in(self, headers: dict[str, str]) -> str | None:
        """The key that a request carried."""

    def server(self, *scripts: Script) -> ScriptedServer:
        """A server that speaks this protocol."""
        return ScriptedServer(*(scripts or (self.reply("That sounds hard."),)), base=self.base, path=self.path)

    def script(self, *steps: Step) -> Script:
        """Steps of a stream."""
        return Script(steps, headers={"content-type": self.content_type})

    def pieces(self, text: str) -> list[bytes]:
        """`text` word by word."""
        words = text.split(" ")
        return [self.piece(word + (" " if number < len(words) else "")) for number, word in enumerate(words, 1)]

    def steps(self, text: str, reason: str = "stop", counts: tuple[int, int] | None = COUNTS) -> list[bytes]:
        """A whole reply."""
        return [self.opening(), *self.pieces(text), self.ending(reason, counts)]

    def reply(self, text: str, reason: str = "stop", counts: tuple[int, int] | None = COUNTS) -> Script:
        """A whole reply, as a script."""
        return self.script(*self.steps(text, reason, counts))

    def split(self, text: str, size: int) -> Script:
        """A whole reply whose bytes come `size` at a time, through the middle of lines and of characters."""
        body = b"".join(self.steps(text))
        return self.script(*between([body[at : at + size] for at in range(0, len(body), size)], 0.0))

    def begun(self, text: str, *after: Step) -> Script:
        """A reply's beginning, and what happens then."""
        return self.script(self.opening(), *self.pieces(text), *after)

    def stall(self, text: str) -> Script:
        """A reply that stops in the middle while the connection stays open."""
        return self.begun(text, FOREVER)

    def cut(self, text: str) -> Script:
        """A reply whose connection is dropped in the middle."""
        return self.begun(text, 0.05, Cut())

    def refusal(self, status: int, text: str, retry_after: float | str | None = None) -> Script:
        """An error of the API with `text` as the provider's words."""
        headers = {"content-type": "application/json"}
        if retry_after is not None:
            headers["retry-after"] = str(retry_after)
        return Script((json.dumps(self.error_body(status, text)).encode(),), status=status, headers=headers)


def between(steps: Iterable[bytes], pause: float) -> list[Step]:
    """The steps, each after a pause."""
    return [step for one in steps for step in (pause, one)]
