"""What every request passes on its way in and out: security headers, a net under all faults, and its origin.

Plain ASGI, because Starlette's BaseHTTPMiddleware does not see websockets, and the chat is one.
"""

import logging
import re
from collections.abc import Callable, Sequence

from fastapi.responses import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heard.chat_app.web.consent_gate import OWN, PUBLIC_PATHS, is_chat
from heard.chat_app.web.logs import kind_and_place
from heard.chat_app.web.pages.rendering import error_response

NO_FRAME = "frame-ancestors 'none'"
"""What every policy here says of frames, until `frame_ancestors` says otherwise."""
PAGE_POLICY = f"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; {NO_FRAME}"
"""Content-Security-Policy of a page that brings none of its own."""
SERVER_FAULT = "Something went wrong on this server. Please try again; if it stays so, tell whoever runs this page."
CROSS_ORIGIN = "This request came from another page, so it was not carried out. Open the page here and try again."

log = logging.getLogger(__name__)


class SecurityHeaders:
    """Security headers on every response."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        chat_policy: Callable[[], str],
        secure_cookies: bool,
        frame_ancestors: Sequence[str] = (),
    ) -> None:
        self.app, self.chat_policy, self.secure_cookies = app, chat_policy, secure_cookies
        self.frame_ancestors = frame_ancestors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(message, scope["path"])
            await send(message)

        await self.app(scope, receive, with_headers)

    def _add_headers(self, message: Message, path: str) -> None:
        headers = MutableHeaders(scope=message)
        if is_chat(path):
            headers["Content-Security-Policy"] = self.chat_policy()
        headers.setdefault("Content-Security-Policy", PAGE_POLICY)  # a page of ours may have brought its own
        headers.setdefault("Cache-Control", caching(path))
        headers["X-Content-Type-Options"] = "nosniff"
        if self.frame_ancestors and not path.startswith(("/results", "/desk")):  # a researcher's pages are in no frame
            policy, allowed = headers["Content-Security-Policy"], " ".join(self.frame_ancestors)
            headers["Content-Security-Policy"] = policy.replace(NO_FRAME, f"frame-ancestors 'self' {allowed}")
        else:
            headers["X-Frame-Options"] = "DENY"
        headers["Referrer-Policy"] = "same-origin"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
        if self.secure_cookies or self.frame_ancestors:
            message["headers"] = [
                (name, self._cookie(value) if name == b"set-cookie" else value) for name, value in message["headers"]
            ]

    def _cookie(self, value: bytes) -> bytes:
        """Return a cookie as it is sent over TLS; where other sites may frame the page, as one of that frame alone
        (https://developer.mozilla.org/docs/Web/Privacy/Guides/Privacy_sandbox/Partitioned_cookies)."""
        if b"; secure" not in value.lower():
            value += b"; Secure"
        lax = re.compile(rb"; *samesite=lax", re.IGNORECASE)
        if self.frame_ancestors and lax.search(value):
            value = lax.sub(b"; SameSite=None", value) + b"; Partitioned"
        return value


def caching(path: str) -> str:
    """Return the Cache-Control of an answer that brings none: only files without anything of anybody are kept."""
    return "no-cache" if path.startswith((*PUBLIC_PATHS, "/static/")) else "no-store"


class ErrorBoundary:
    """No fault text of any code on a page.

    An exception, or a response of 5xx from the mounted chat (whose text may quote SQL or a message), becomes
    `SERVER_FAULT`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        started = replaced = disconnected = False

        async def watched_receive() -> Message:
            nonlocal disconnected
            message = await receive()
            disconnected = disconnected or message["type"] in ("http.disconnect", "websocket.disconnect")
            return message

        async def guarded_send(message: Message) -> None:
            nonlocal started, replaced
            if message["type"] == "http.response.start":
                started = True
                if is_chat(scope["path"]) and message["status"] >= 500 and OWN not in scope:
                    replaced = True
                    await _server_error(scope)(scope, receive, send)
            if not replaced:
                await send(message)

        try:
            await self.app(scope, watched_receive, guarded_send)
        except Exception as error:  # noqa: BLE001 - the outermost boundary of a request: the server's log would quote it
            # A browser that leaves in the middle of a response is no fault: Starlette's own middleware raises then, and
            # by the ASGI specification so does `send`, with an OSError.
            left = disconnected or (scope["type"] == "websocket" and isinstance(error, OSError))
            level = logging.DEBUG if left else logging.ERROR
            log.log(level, "A request failed: %s", kind_and_place(type(error), error.__traceback__))
            if scope["type"] == "http" and not started:
                await _server_error(scope)(scope, receive, send)


def _server_error(scope: Scope) -> Response:
    return error_response(scope, 500, "Something went wrong", SERVER_FAULT)


class OriginCheck:
    """Refuse what another site makes a browser send.

    Unsafe methods and websockets with a foreign `Origin` get 403. Chainlit's socket accepts any origin, and a page on
    another port of the same name is "same site" to a cookie, so SameSite alone would not do. Forms must name their
    origin; elsewhere a program without a browser may leave it out. The public host's own origin passes whatever `Host`
    a proxy has put in; with a port only where the browser itself says that it is the same.
    """

    FORMS = ("/consent", "/you/erase", "/you/leave", "/scorer", "/scorer/flag", "/results", "/desk", "/help/country")
    FORMS_BELOW = ("/survey/", "/desk/")

    def __init__(self, app: ASGIApp, *, public_host: str = "") -> None:
        self.app, self.public_host = app, public_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with 403."""
        unsafe = scope["type"] == "websocket" or scope.get("method", "GET") not in ("GET", "HEAD", "OPTIONS")
        if unsafe and not self._same_origin(scope["path"], Headers(scope=scope)):
            await error_response(scope, 403, "Not from this page", CROSS_ORIGIN)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _same_origin(self, path: str, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is None:
            form = path in self.FORMS or path.startswith(self.FORMS_BELOW)
            return not form or headers.get("sec-fetch-site") == "same-origin"
        origin = origin.lower()
        hosts = {headers.get("host", "").lower(), self.public_host} - {""}
        if origin in {f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts}:
            return True
        named = bool(self.public_host) and re.fullmatch(rf"https?://{re.escape(self.public_host)}:\d{{1,5}}", origin)
        return bool(named) and headers.get("sec-fetch-site") == "same-origin"
