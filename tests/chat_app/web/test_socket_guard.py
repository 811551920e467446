"""When a socket has said whom it wants to talk to, and when it is closed because it never did."""

import asyncio
import uuid

import pytest
from starlette.types import Message, Receive, Scope, Send

from heard.chat_app.common.identity import VISITOR_COOKIE, Identity
from heard.chat_app.web.socket_guard import MOST_SOCKETS, TRY_LATER, SocketGuard

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


async def test_a_visitor_has_sockets_enough_and_no_end_of_them() -> None:
    identity, refused = Identity(b"x" * 32), list[int]()
    cookies = {name: identity.sign(str(uuid.UUID(int=number))) for number, name in enumerate(("this one", "another"))}
    until = asyncio.Event()

    async def chat(scope: Scope, receive: Receive, send: Send) -> None:
        await until.wait()

    async def browser() -> Message:
        return {"type": "websocket.connect"}

    async def told(message: Message) -> None:
        refused.append(message["code"])

    guard = SocketGuard(chat, identity=identity, message_limit=100, per_minute=0)

    def opened(who: str) -> asyncio.Task[None]:
        cookie = f"{identity.cookie_name(VISITOR_COOKIE)}={cookies[who]}"
        scope = {"type": "websocket", "path": "/chat/ws/socket.io", "headers": [(b"cookie", cookie.encode())]}
        return asyncio.create_task(guard(scope, browser, told))

    many = [opened("this one") for _ in range(MOST_SOCKETS)]
    await asyncio.sleep(0)
    await opened("this one")
    assert refused == [TRY_LATER]
    other = opened("another")
    until.set()
    await asyncio.gather(other, *many, opened("this one"))
    assert refused == [TRY_LATER]
