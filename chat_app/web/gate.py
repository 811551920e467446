"""What every request passes before a page or the chat sees it: headers, origin, consent, and a net under all faults.

Plain ASGI, because Starlette's BaseHTTPMiddleware does not see websockets, and the chat is one.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heard.chat_app.common.identity import CHAT_COOKIE, Identity, cookies_of
from heard.chat_app.web.logs import kind_and_place
from heard.chat_app.web.pages.rendering import error_page
from heard.db.errors import StoreError

MOUNT = "/chat"
OPEN_TO_ALL = ("/chat/assets/", "/chat/public/", "/chat/avatars/", "/chat/favicon", "/chat/logo")
"""Files of the page without anything of anybody; they need no consent."""
CLOSED = (
    "/chat/copilot", "/chat/mcp", "/chat/docs", "/chat/redoc", "/chat/openapi.json", "/chat/project/file",
    "/chat/project/share", "/chat/auth/jwt", "/chat/auth/oauth",
)  # fmt: skip
"""Doors of Chainlit that this program does not use: uploads, tool servers, embedding, sharing, other logins."""
MOST_BYTES = 1_048_576
"""Of a request body. A message travels by websocket; no form or call here comes near this."""

FAULT = "Something went wrong on this server. Please try again; if it stays so, tell whoever runs this page."
FOREIGN = "This request came from another page, so it was not carried out. Open the page here and try again."

log = logging.getLogger(__name__)


class Shield:
    """Security headers on every answer, and no fault text of any code on a page.

    An exception, or an answer of 5xx from the mounted chat (whose text may quote SQL or a message), becomes `FAULT`.
    """

    def __init__(self, app: ASGIApp, *, chat_policy: Callable[[], str], secure_cookies: bool) -> None:
        self.app, self.chat_policy, self.secure_cookies = app, chat_policy, secure_cookies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        in_chat = is_chat(scope["path"])
        started = replaced = gone = False

        async def watched() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] in ("http.disconnect", "websocket.disconnect")
            return message

        async def shielded(message: Message) -> None:
            nonlocal started, replaced
            if message["type"] == "http.response.start":
                started = True
                if in_chat and message["status"] >= 500:
                    replaced = True
                    await self._fault(scope, receive, self._with_headers(send, in_chat))
                    return
                self._add_headers(message, in_chat)
            if not replaced:
                await send(message)

        try:
            await self.app(scope, watched, shielded)
        except Exception as error:  # noqa: BLE001 - the outermost boundary of a request: the server's log would quote it
            # A browser that leaves in the middle of an answer is no fault: Starlette's own middleware raises then, and
            # by the ASGI specification so does `send`, with an OSError.
            left = gone or (scope["type"] == "websocket" and isinstance(error, OSError))
            level = logging.DEBUG if left else logging.ERROR
            log.log(level, "A request failed: %s", kind_and_place(type(error), error.__traceback__))
            if scope["type"] == "http" and not started:
                await self._fault(scope, receive, self._with_headers(send, in_chat))

    async def _fault(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer(scope, 500, "Something went wrong", FAULT)(scope, receive, send)

    def _with_headers(self, send: Send, in_chat: bool) -> Send:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(message, in_chat)
            await send(message)

        return with_headers

    def _add_headers(self, message: Message, in_chat: bool) -> None:
        headers = MutableHeaders(scope=message)
        if in_chat:
            headers["Content-Security-Policy"] = self.chat_policy()
        headers.setdefault("Content-Security-Policy", PAGE_POLICY)  # a page of ours may have brought its own
        headers["X-Content-Type-Options"] = "nosniff"
        headers["X-Frame-Options"] = "DENY"
        headers["Referrer-Policy"] = "same-origin"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
        if self.secure_cookies:
            message["headers"] = [
                (name, value + b"; Secure" if name == b"set-cookie" and b"; secure" not in value.lower() else value)
                for name, value in message["headers"]
            ]


PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Doorkeeper:
    """Refuse what another site makes a browser send, and bodies larger than any request here needs.

    Unsafe methods and websockets with a foreign `Origin` get 403. Chainlit's socket accepts any origin, and a page on
    another port of the same name is "same site" to a cookie, so SameSite alone would not do. Forms must name their
    origin; elsewhere a program without a browser may leave it out.
    """

    FORMS = ("/consent", "/you/erase", "/scorer", "/scorer/flag", "/results")
    FORMS_BELOW = "/survey/"

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403 or 413."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        unsafe = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if unsafe and not self._may(scope["path"], headers):
            await answer(scope, 403, "Not from this page", FOREIGN)(scope, receive, send)
            return
        arrived = 0

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            if message["type"] == "http.request":
                arrived += len(message.get("body", b""))
                if arrived > MOST_BYTES:
                    raise HTTPException(413)
            return message

        await self.app(scope, counted, send)

    def _may(self, path: str, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is None:
            form = path in self.FORMS or path.startswith(self.FORMS_BELOW)
            return not form or headers.get("sec-fetch-site") == "same-origin"
        return origin.lower() in {f"{scheme}://{headers.get('host', '').lower()}" for scheme in ("http", "https")}


class Tokens(Protocol):
    """The chat's own login tokens."""

    def owner(self, token: str) -> str | None:
        """The participant in a token, or None when it is not valid."""

    def make(self, participant_id: str) -> str:
        """A token for a participant."""


class ConsentGate:
    """The mounted chat, pages and socket alike, opens only to a visitor whose newest answer allows it.

    It also drops a login token of the chat that belongs to another visitor id than the signed cookie: after erasing,
    or with a cookie that was tampered with, the old token must not bring the old person back.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        identity: Identity,
        may_chat: Callable[[str], Awaitable[bool]],
        tokens: "Tokens",
    ) -> None:
        self.app, self.identity, self.may_chat, self.tokens = app, identity, may_chat, tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, send a page to `/`, or answer 401, 404 or 503."""
        path = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or not is_chat(path) or path.startswith(OPEN_TO_ALL):
            await self.app(scope, receive, send)
            return
        if path.startswith(CLOSED):
            await answer(scope, 404, "Not here", "There is nothing at this address.")(scope, receive, send)
            return
        participant = self.identity.participant_from_headers(Headers(scope=scope))
        try:
            allowed = participant is not None and await self.may_chat(participant)
        except StoreError as error:
            await answer(scope, 503, "The database does not answer", str(error))(scope, receive, send)
            return
        if participant is None or not allowed:
            await closed(scope)(scope, receive, send)
            return
        await self._pass(scope, receive, send, participant)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, participant: str) -> None:
        cookies = cookies_of(Headers(scope=scope))
        names = sorted(name for name in cookies if name == CHAT_COOKIE or name.startswith(f"{CHAT_COOKIE}_"))
        token = cookies.get(CHAT_COOKIE) or "".join(cookies[name] for name in names)
        headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        own = bool(token) and self.tokens.owner(token) == participant
        if not own:
            others = "; ".join(f"{name}={value}" for name, value in cookies.items() if name not in names)
            headers = [(name, value) for name, value in headers if name != b"cookie"]
            headers.append((b"cookie", others.encode("latin-1", "ignore")))

        async def signed_in(message: Message) -> None:
            # Signed in with the page itself: Chainlit's own way costs a refused call, a login page and a second load.
            if message["type"] == "http.response.start" and message["status"] == 200:
                response = Response()
                response.set_cookie(CHAT_COOKIE, self.tokens.make(participant), httponly=True, samesite="lax")
                MutableHeaders(scope=message).append("set-cookie", response.headers["set-cookie"])
            await send(message)

        fresh = not own and wants_page(scope) and scope["method"] == "GET"
        await self.app({**scope, "headers": headers}, receive, signed_in if fresh else send)


def is_chat(path: str) -> bool:
    """Whether a path belongs to the mounted chat."""
    return path == MOUNT or path.startswith(MOUNT + "/")


def wants_page(scope: Scope) -> bool:
    """Whether the caller is a browser that opens a page, rather than a script or another program."""
    return scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")


def closed(scope: Scope) -> Response:
    """The answer to somebody without consent: to the first page, or 401 (403 for a socket) for a program."""
    if wants_page(scope) and scope["method"] in ("GET", "HEAD"):
        return RedirectResponse("/", 303)
    sentence = "The chat opens after the questions on the first page are answered."
    return answer(scope, 403 if scope["type"] == "websocket" else 401, "Not open yet", sentence)


def answer(scope: Scope, status: int, title: str, sentence: str) -> Response:
    """A plain page for a browser, JSON for a program."""
    if wants_page(scope):
        return error_page(status, title, sentence)
    return JSONResponse({"detail": sentence}, status)
