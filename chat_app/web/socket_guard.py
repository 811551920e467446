"""What the chat's socket takes from a browser: frames of bounded size, and not too many of them.

A frame that is too large for a message is dropped, and an event stands in its place, which the page answers with a
sentence. Frames that come too fast wait, and with them the sender: nothing is lost, and nobody else is slowed down.
A socket that never says whom it wants to talk to is closed.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heard.chat_app.common.identity import Identity
from heard.chat_app.common.token_buckets import TokenBuckets
from heard.chat_app.page.chainlit_patches import TOO_LARGE_EVENT
from heard.chat_app.web.body_limit import LARGEST_BODY

SOCKET = "/chat/ws/socket.io"
FRAME_PLUS = 16_384
"""Bytes of a frame beside the text of its message."""
LARGEST_FRAME = 1_048_576
"""Bytes that are taken from the line at all, if messages may not be very long; a larger frame ends its connection
(close code 1009)."""
MOST_SOCKETS = 40
"""Of one visitor at a time: far more pages than anybody has open."""
TRY_LATER = 1013
"""Close code of one more: the page tries again by itself."""
MOST_FRAMES_QUEUED = 4
"""Of one socket, not yet looked at."""
CONNECT_SECONDS = 20.0
"""From the opening of a socket to its first frame of the chat."""
CLOSED_TOO_LARGE = 1009
_EVENT = f'42["{TOO_LARGE_EVENT}"]'
_MESSAGE = '42["client_message"'
_PONG = "3"


def most_characters(message_limit: int) -> int:
    """Return the characters of the largest frame that is passed on.

    Well above `message_limit`, so that a message that is somewhat too long can be kept on its page with a sentence.
    """
    return max(8 * message_limit, 65_536) + FRAME_PLUS


def largest_frame(message_limit: int) -> int:
    """Return the bytes of a frame that are taken from the line."""
    return max(LARGEST_FRAME, 4 * most_characters(message_limit))


class SocketGuard:
    """The guard of every socket of the chat."""

    def __init__(
        self, app: ASGIApp, *, identity: Identity, message_limit: int, per_minute: int, seconds: float = CONNECT_SECONDS
    ) -> None:
        """`message_limit`: characters of the longest message; `per_minute`: frames of one visitor, 0 for no limit;
        half as many messages, of which a sixth may come at once."""
        self.app, self.identity, self.seconds = app, identity, seconds
        self.most = most_characters(message_limit)
        self.frames = TokenBuckets(per_minute)
        self.messages = TokenBuckets(per_minute and max(1, per_minute // 6), seconds=20)
        self._open: Counter[str] = Counter()
        """Sockets of each visitor."""
        self._cut_off: set[str] = set()
        """Visitors whose last socket was closed for a frame above LARGEST_FRAME; told when they come back."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a socket on, with its frames looked at."""
        path = scope.get("path", "")  # a server's start and end have none
        if path.startswith(SOCKET) and scope["type"] == "websocket":
            await self._counted(scope, receive, send)
            return
        if path.startswith(SOCKET) and scope.get("method") == "POST":
            scope, receive = await self._polled(scope, receive)
        await self.app(scope, receive, send)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a websocket on, unless its visitor has MOST_SOCKETS open."""
        visitor = self.identity.participant_from_headers(Headers(scope=scope)) or ""
        if visitor and self._open[visitor] >= MOST_SOCKETS:
            await receive()  # its "connect"
            await send({"type": "websocket.close", "code": TRY_LATER})
            return
        self._open[visitor] += 1
        try:
            await self.app(scope, self._guarded(receive, visitor), send)
        finally:
            self._open[visitor] -= 1
            if not self._open[visitor]:
                del self._open[visitor]

    def _guarded(self, receive: Receive, visitor: str) -> Callable[[], Awaitable[Message]]:
        until = asyncio.get_running_loop().time() + self.seconds
        connected = False
        next_ones: list[Message] = []

        async def guarded() -> Message:
            nonlocal connected
            if next_ones:
                return next_ones.pop()
            try:
                async with asyncio.timeout_at(None if connected else until):
                    message = await receive()
            except TimeoutError:
                return {"type": "websocket.disconnect", "code": 1008}
            if message["type"] == "websocket.disconnect" and message.get("code") == CLOSED_TOO_LARGE:
                self._cut_off.add(visitor)
            if message["type"] != "websocket.receive":
                return message
            text = message.get("text") or ""
            if text == _PONG:  # they keep the socket alive, and come once for each ping
                return message
            # "4": a frame of the chat; "5": what was polled until now, and has said whom it wants, goes on here
            connected = connected or text.startswith(("4", "5"))
            buckets = self.messages if text.startswith(_MESSAGE) else self.frames
            if pause := buckets.seconds_to_pause(visitor):
                await asyncio.sleep(pause)
            told: Message = {"type": "websocket.receive", "text": _EVENT}
            if len(text) > self.most or len(message.get("bytes") or b"") > self.most:
                return told
            if visitor in self._cut_off and text.startswith("42"):  # the page has come back
                self._cut_off.discard(visitor)
                next_ones.append(told)
            return message

        return guarded

    async def _polled(self, scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
        """A socket over plain requests: a body that is too large is dropped like a frame."""
        told = Headers(scope=scope).get("content-length", "")
        if not told.isdigit() or not self.most < int(told) <= LARGEST_BODY:
            return scope, receive
        while (message := await receive())["type"] == "http.request" and message.get("more_body"):
            pass
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        headers.append((b"content-length", str(len(_EVENT)).encode()))

        async def event() -> Message:
            return {"type": "http.request", "body": _EVENT.encode(), "more_body": False}

        return {**scope, "headers": headers}, event
