"""A real HTTP server on loopback that speaks OpenAI's streaming protocol, with faults as a test orders them.

    with ScriptedServer(busy(retry_after=0.1), reply("Hello there.")) as server:
        ...  # server.base_url, server.requests, server.wait_for_disconnect()

Each request plays the next script, and the last one is played for all requests after it. The server runs in a thread
with an event loop of its own, so a test may be synchronous, asynchronous or a browser.
"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import uvicorn

FOREVER = 3600.0
"""Seconds; longer than any test waits."""
EVENT_STREAM = "text/event-stream"


class Cut:
    """A step: drop the connection here, in the middle of the body."""


Step = bytes | float | Cut
"""Bytes to send, seconds to wait, or the cut."""


@dataclass(frozen=True, slots=True)
class Script:
    """One answer of the server."""

    steps: tuple[Step, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": EVENT_STREAM})
    before_headers: float = 0.0
    """Seconds until the status line."""


def event(payload: object) -> bytes:
    """One server-sent event."""
    return f"data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n".encode()


def chunk(text: str | None = None, *, finish: str | None = None, usage: tuple[int, int] | None = None) -> bytes:
    """One `chat.completion.chunk`: a piece of text, the end, or the token counts (prompt, completion)."""
    choices: list[dict[str, Any]] = []
    if usage is None:
        choices = [{"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}]
    counts = usage and {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    return event(base | {"choices": choices, "usage": counts})


ROLE = event(
    {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
    }
)  # fmt: skip
DONE = event("[DONE]")


def pieces(text: str) -> list[bytes]:
    """The chunks of `text`, word by word."""
    words = text.split(" ")
    return [chunk(word + (" " if index < len(words) - 1 else "")) for index, word in enumerate(words)]


def reply(text: str = "That sounds hard.", *, pause: float = 0.0, usage: bool = True, finish: str = "stop") -> Script:
    """A whole reply, `pause` seconds before each word."""
    steps: list[Step] = [ROLE]
    for piece in pieces(text):
        steps += [pause, piece] if pause else [piece]
    steps.append(chunk(finish=finish))
    if usage:
        steps.append(chunk(usage=(7, len(text.split(" ")))))
    return Script((*steps, DONE))


def refusal(status: int, text: str = "refused", *, retry_after: str | None = None) -> Script:
    """An error of the API, in OpenAI's shape, with `text` as the provider's words."""
    headers = {"content-type": "application/json"} | ({"retry-after": retry_after} if retry_after else {})
    body = {"error": {"message": text, "type": "some_error", "code": "some_code"}}
    return Script((json.dumps(body).encode(),), status=status, headers=headers)


def busy(retry_after: float | str | None = None) -> Script:
    """429, with Retry-After in seconds or as given."""
    return refusal(429, retry_after=None if retry_after is None else str(retry_after))


def silence() -> Script:
    """Headers come, and nothing more."""
    return Script((FOREVER,))


def no_headers() -> Script:
    """The request is taken, and not even a status line comes."""
    return Script(before_headers=FOREVER)


def stall(text: str = "That sounds") -> Script:
    """A reply that stops in the middle while the connection stays open."""
    return Script((ROLE, *pieces(text), FOREVER))


def cut(text: str = "That sounds") -> Script:
    """A reply whose connection is dropped in the middle."""
    return Script((ROLE, *pieces(text), 0.05, Cut()))


def unfinished(text: str = "That sounds") -> Script:
    """A reply that ends in good order but was never said to be finished."""
    return Script((ROLE, *pieces(text), DONE))


def garbage(after: str = "") -> Script:
    """Broken JSON, at once or after some text."""
    return Script((ROLE, *(pieces(after) if after else ()), event('{"choices": [{"delta": {"content": "x')))


def wrong_shape() -> Script:
    """JSON that is not the protocol's."""
    return Script((event(["what", "is", "this"]), event({"choices": "none"}), DONE))


def error_event(text: str, after: str = "") -> Script:
    """An error inside of the stream, as vLLM and others send it, with `text` as the provider's words."""
    fault = event({"error": {"message": text, "type": "server_error", "code": 500}})
    return Script((ROLE, *(pieces(after) if after else ()), fault, DONE))


def nothing() -> Script:
    """A stream that ends before it begins."""
    return Script((DONE,))


def blank() -> Script:
    """A whole reply of white space and zero-width characters."""
    return Script((ROLE, chunk(" \n"), chunk("\u200b"), chunk(finish="stop"), chunk(usage=(7, 2)), DONE))


def web_page(text: str = "Welcome") -> Script:
    """Status 200 and a web page: what a wrong base_url often gives."""
    page = f"<!doctype html><html><body><h1>{text}</h1></body></html>"
    return Script((page.encode(),), headers={"content-type": "text/html"})


def giant(characters: int) -> Script:
    """One huge piece of text, from a server that ignores the bound."""
    return Script((ROLE, chunk("a" * characters), chunk(finish="length"), DONE))


def endless(word: str = "word ") -> Script:
    """A server that never stops writing."""
    return Script((ROLE, *(chunk(word * 20), 0.005) * 100_000))


class ScriptedServer:
    """The server. A context manager; every attribute may be read from the test's thread while it runs."""

    def __init__(self, *scripts: Script, base: str = "/v1", path: str = "/v1/chat/completions") -> None:
        """`base` is the path of `base_url`; what is asked for under any path that does not end in `path` is unknown."""
        self.scripts = scripts or (reply(),)
        self.requests: list[dict[str, Any]] = []
        """The JSON bodies, in order."""
        self.paths: list[str] = []
        """Of every request, answered by a script or not."""
        self.queries: list[str] = []
        """What stands behind the path of each request that a script answered."""
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        """When each request came, on `time.monotonic`."""
        self.disconnects = 0
        """Requests that the client dropped before the answer was whole."""
        self.written = 0
        """Pieces of bodies sent so far."""
        self.open = self.most_open = 0
        """Requests that are being answered now, and the most that ever were at once."""
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}{base}"
        self._path = path
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            log_config=None,
            log_level="critical",
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=0,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_until(lambda: self._server.started, "the server to start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)
        self._socket.close()

    def wait_for_disconnect(self, seconds: float = 5.0) -> float:
        """Wait until a client has dropped its connection; the seconds that it took. Raises TimeoutError."""
        return self.wait_until(lambda: self.disconnects > 0, "a disconnect", seconds)

    @staticmethod
    def wait_until(condition: Callable[[], bool], what: str, seconds: float = 10.0) -> float:
        """Wait for `condition`. Raises TimeoutError naming `what`."""
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > seconds:
                raise TimeoutError(f"waited {seconds} s for {what}")
            time.sleep(0.005)
        return time.monotonic() - began

    async def _answer(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.paths.append(scope["path"])
        if not scope["path"].endswith(self._path):
            await _send_all(send, refusal(404, "no such path"))
            return
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.times.append(time.monotonic())
        self.queries.append(scope["query_string"].decode())
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        self.requests.append(json.loads(body))
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        playing = asyncio.ensure_future(_send_all(self._counted(send), script))
        leaving = asyncio.ensure_future(_disconnect(receive))
        await asyncio.wait((playing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            self.disconnects += 1
        self.open -= 1
        for task in (playing, leaving):
            task.cancel()
        await asyncio.gather(playing, leaving, return_exceptions=True)

    def _counted(self, send: Any) -> Any:
        async def counting(message: MutableMapping[str, Any]) -> None:
            await send(message)
            self.written += bool(message.get("body"))

        return counting


async def _disconnect(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_all(send: Any, script: Script) -> None:
    """Play the script; a `Cut` returns early, at which uvicorn drops the connection."""
    await asyncio.sleep(script.before_headers)
    headers: Iterable[tuple[bytes, bytes]] = [(name.encode(), value.encode()) for name, value in script.headers.items()]
    await send({"type": "http.response.start", "status": script.status, "headers": list(headers)})
    for step in script.steps:
        if isinstance(step, Cut):
            return
        if isinstance(step, float):
            await asyncio.sleep(step)
        else:
            await send({"type": "http.response.body", "body": step, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def asked(server: ScriptedServer, times: int, seconds: float = 20) -> None:
    """Wait until the server has had so many requests. Raises TimeoutError."""
    for _ in range(round(seconds / 0.02)):
        if len(server.requests) >= times:
            return
        await asyncio.sleep(0.02)
    raise TimeoutError(f"{len(server.requests)} of {times} requests came within {seconds} s")
