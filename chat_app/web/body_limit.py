"""How large a request's body may be, and how long it may take to come.

Not Starlette's RequestBodyLimitMiddleware, because that puts a text of its own in place of ours.
"""

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heard.chat_app.web.pages.rendering import error_response

LARGEST_BODY = 1_048_576
"""Bytes that are taken from the line at all. A message travels by websocket; no form or call comes near this."""
SMALL_FORM = 32_768
"""Bytes of a form without long texts."""
BODY_SECONDS = 20.0
"""From the head of a request to the end of its body."""
JSON = ("/api/score", "/vote")
"""These bound their bodies themselves (`json_route.py`), for they have sentences of their own."""
TEXTS = ("/scorer", "/scorer/flag")
TEXTS_BELOW = ("/survey/", "/chat/")
TOO_LARGE = "The request is too large. Send a shorter text."
TOO_SLOW = "The request did not arrive in time. Please send it again."


class BodyLimit:
    """Refuse bodies that are larger than this address needs, or that never end."""

    def __init__(self, app: ASGIApp, *, message_limit: int, seconds: float = BODY_SECONDS) -> None:
        """`message_limit`: characters of the longest text."""
        self.app, self.seconds = app, seconds
        # Two such texts and a note as a form has them: a character is at most four bytes, and a byte three signs.
        self.most_text = min(LARGEST_BODY, 65_536 + 2 * 12 * message_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with 413.

        HTTPException (413, 408) reaches whoever reads a body that is larger than was told, or too slow.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _Body(receive, self._most(scope["path"]), asyncio.get_running_loop().time() + self.seconds)
        told = Headers(scope=scope).get("content-length", "")
        if told.isdigit() and int(told) > body.most:
            if int(told) <= LARGEST_BODY:
                # Taken from the line and dropped: a browser shows no answer while it is still sending.
                with suppress(HTTPException):
                    await body.drop()
            await error_response(scope, 413, "Too much at once", TOO_LARGE)(scope, receive, send)
            return
        await self.app(scope, body.receive, send)

    def _most(self, path: str) -> int:
        if path in JSON:
            return LARGEST_BODY
        return self.most_text if path in TEXTS or path.startswith(TEXTS_BELOW) else SMALL_FORM


class _Body:
    """One request's body on its way in."""

    def __init__(self, receive: Receive, most: int, until: float) -> None:
        self._receive, self.most, self._until = receive, most, until
        self._arrived = 0
        self._ended = False

    async def receive(self) -> Message:
        """The next message. Raises HTTPException."""
        if self._ended:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408) from None
        if message["type"] == "http.request":
            self._arrived += len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._arrived > self.most:
                raise HTTPException(413)
        return message

    async def drop(self) -> None:
        """Read to the end, and keep nothing. Raises HTTPException (408)."""
        self.most = LARGEST_BODY
        while not self._ended and (await self.receive())["type"] == "http.request":
            pass
