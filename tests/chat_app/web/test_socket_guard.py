"""When a socket has said whom it wants to talk to, and when it is closed because it never did."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from heard.chat_app.common.identity import Identity
from heard.chat_app.web.socket_guard import SocketGuard

SECONDS = 0.2


async def _passed_on(frames: list[str]) -> list[Message]:
    """Return what the chat gets of a socket that sends `frames`, and then nothing for three times `SECONDS`."""
    got: list[Message] = []
    sent = [{"type": "websocket.connect"}, *({"type": "websocket.receive", "text": frame} for frame in frames)]

    async def browser() -> Message:
        if not sent:
            await asyncio.sleep(3 * SECONDS)
            return {"type": "websocket.disconnect", "code": 1000}
        return sent.pop(0)

    async def chat(scope: Scope, receive: Receive, send: Send) -> None:
        while not got or got[-1]["type"] != "websocket.disconnect":
            got.append(await receive())

    async def nothing(message: Message) -> None: ...

    guard = SocketGuard(chat, identity=Identity(b"x" * 32), message_limit=100, per_minute=0, seconds=SECONDS)
    await guard({"type": "websocket", "path": "/chat/ws/socket.io", "headers": []}, browser, nothing)
    return got


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(["40{}"], id="a socket from the start"),
        pytest.param(["2probe", "5"], id="polled until its upgrade"),
        pytest.param(["2probe", "5", "3"], id="and alive"),
    ],
)
async def test_who_has_said_whom_they_want_may_be_silent(frames: list[str]) -> None:
    assert (await _passed_on(frames))[-1]["code"] == 1000


@pytest.mark.parametrize("frames", [[], ["2probe"], ["3", "3"]])
async def test_who_never_says_whom_they_want_is_closed(frames: list[str]) -> None:
    assert (await _passed_on(frames))[-1]["code"] == 1008
