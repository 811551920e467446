"""The gate before the mounted chat: it opens to whoever has agreed, and to nobody else.

Plain ASGI, because Starlette's BaseHTTPMiddleware does not see websockets, and the chat is one.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heard.chat_app.common.identity import CHAT_COOKIE, Identity, cookies_of
from heard.chat_app.web.pages.rendering import error_response, wants_page
from heard.db.errors import StoreError

MOUNT = "/chat"
OWN = "heard.own"
"""Mark in the scope of a request below MOUNT whose fault is told by a page of ours, and not by the chat."""
PUBLIC_PATHS = ("/chat/assets/", "/chat/public/", "/chat/avatars/", "/chat/favicon", "/chat/logo")
"""Files of the page without anything of anybody; they need no consent."""
BLOCKED_PATHS = (
    "/chat/copilot", "/chat/mcp", "/chat/docs", "/chat/redoc", "/chat/openapi.json", "/chat/project/file",
    "/chat/project/share", "/chat/auth/jwt", "/chat/auth/oauth",
)  # fmt: skip
"""Routes of Chainlit that this program does not use: uploads, tool servers, embedding, sharing, other logins."""


class LoginTokens(Protocol):
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
        tokens: LoginTokens,
    ) -> None:
        self.app, self.identity, self.may_chat, self.tokens = app, identity, may_chat, tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, redirect a page to `/`, or respond with 401, 404 or 503."""
        path = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or not is_chat(path) or path.startswith(PUBLIC_PATHS):
            await self.app(scope, receive, send)
            return
        if path.startswith(BLOCKED_PATHS):
            await error_response(scope, 404, "Not here", "There is nothing at this address.")(scope, receive, send)
            return
        participant = self.identity.participant_from_headers(Headers(scope=scope))
        try:
            allowed = participant is not None and await self.may_chat(participant)
        except StoreError as error:
            scope[OWN] = True
            await error_response(scope, 503, "The database is in trouble", str(error))(scope, receive, send)
            return
        if participant is None or not allowed:
            await consent_required(scope)(scope, receive, send)
            return
        await self._pass(scope, receive, send, participant)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, participant: str) -> None:
        cookies = cookies_of(Headers(scope=scope))
        chat = self.identity.cookie_name(CHAT_COOKIE)
        names = sorted(name for name in cookies if name == chat or name.startswith(f"{chat}_"))
        token = cookies.get(chat) or "".join(cookies[name] for name in names)
        headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        own = bool(token) and self.tokens.owner(token) == participant
        if not own:
            others = "; ".join(f"{name}={value}" for name, value in cookies.items() if name not in names)
            headers = [(name, value) for name, value in headers if name != b"cookie"]
            headers.append((b"cookie", others.encode("latin-1", "ignore")))

        async def send_signed_in(message: Message) -> None:
            # Signed in with the page itself: Chainlit's own way costs a refused call, a login page and a second load.
            if message["type"] == "http.response.start" and message["status"] == 200:
                response = Response()
                response.set_cookie(chat, self.tokens.make(participant), httponly=True, samesite="lax")
                MutableHeaders(scope=message).append("set-cookie", response.headers["set-cookie"])
            await send(message)

        fresh = not own and wants_page(scope) and scope["method"] == "GET"
        await self.app({**scope, "headers": headers}, receive, send_signed_in if fresh else send)


def is_chat(path: str) -> bool:
    """Whether a path belongs to the mounted chat."""
    return path == MOUNT or path.startswith(MOUNT + "/")


def consent_required(scope: Scope) -> Response:
    """The response to somebody without consent: to the first page, or 401 (403 for a socket) for a program."""
    if wants_page(scope) and scope["method"] in ("GET", "HEAD"):
        return RedirectResponse("/", 303)
    sentence = "The chat opens after the questions on the first page are answered."
    return error_response(scope, 403 if scope["type"] == "websocket" else 401, "Not open yet", sentence)
