"""Behind a proxy: below a path of another host, and under a name that the proxy has for this server.

Plain ASGI, because Starlette's BaseHTTPMiddleware does not see websockets, and the chat is one.
"""

import ipaddress
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LINK = re.compile(rb'((?:\s(?:href|src|action|data-[a-z]+)|og:root_path" content)=")(/(?!/))')
_LINK_IN_JSON = re.compile(rb'("url":\s?"|href=\\")(/(?!/))')
_COOKIE_PATH = re.compile(rb"(;\s*path=)/", re.IGNORECASE)
JSON_WITH_LINKS = ("/chat/project/settings", "/help/country")
"""Where the chat's page asks for the links of its head, and any page for a hand-off as HTML."""


class SubPath:
    """The whole program below `root`, such as /heard, whether or not the proxy takes that off on the way here.

    Everything further in knows no root: it is taken off the path of a request, and put before what the browser is told
    to ask for, in redirects, cookies' paths, and links of pages. What people write is not changed by it, because in a
    page's HTML their quotation marks are escaped.
    """

    def __init__(self, app: ASGIApp, *, root: str) -> None:
        self.app, self.root, self._raw = app, root, root.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        path, raw = scope["path"], scope.get("raw_path") or b""
        if path == self.root or path.startswith(self.root + "/"):
            scope = {**scope, "path": path[len(self.root) :] or "/", "raw_path": raw[len(self._raw) :] or b"/"}
        if scope["path"] in JSON_WITH_LINKS or "text/html" in Headers(scope=scope).get("accept", ""):
            # Chainlit would send its page packed, and then no link could be found in it.
            scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}
        await self.app(scope, receive, _Rewriting(self._raw, scope["path"], send))


class _Rewriting:
    """One response on its way out. A page of HTML is held back until it is whole; everything else goes on at once."""

    def __init__(self, root: bytes, path: str, send: Send) -> None:
        self.root, self.path, self.send = root, path, send
        self.start: Message | None = None
        self.body = b""

    async def __call__(self, message: Message) -> None:
        """Send on, rewritten."""
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            message = {**message, "headers": [self._header(name, value) for name, value in message.get("headers", [])]}
            kind = Headers(raw=message["headers"]).get("content-type", "")
            if message["type"].startswith("http") and (kind.startswith("text/html") or self.path in JSON_WITH_LINKS):
                self.start = message
                return
        if self.start is None or message["type"] != "http.response.body":
            await self.send(message)
            return
        self.body += message.get("body", b"")
        if message.get("more_body"):
            return
        body = (_LINK_IN_JSON if self.path in JSON_WITH_LINKS else _LINK).sub(rb"\1" + self.root + rb"\2", self.body)
        headers = MutableHeaders(scope=self.start)
        if self.body and "content-length" in headers:
            headers["content-length"] = str(len(body))
        await self.send(self.start)
        await self.send({**message, "body": body})

    def _header(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        if name == b"location" and value.startswith(b"/") and not value.startswith(b"//"):
            return name, self.root + value
        if name == b"set-cookie":
            return name, _COOKIE_PATH.sub(lambda found: found[1] + self.root + b"/", value)
        return name, value


class ProxyHost:
    """A proxy's own name for this server, in place of the one that the browser asked for: put the public one there.

    Such are names without a full stop (nginx's `upstream`, a container) and addresses. Nobody can make a browser send
    one of them by a name of their own, which is what refusing unknown names is against. Names of this machine stay.
    """

    def __init__(self, app: ASGIApp, *, public_host: str, known: list[str]) -> None:
        self.app, self.public_host, self.known = app, public_host, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] in ("http", "websocket"):
            host = Headers(scope=scope).get("host", "")
            name = re.sub(r":\d*$", "", host).lower()
            if name not in self.known and (re.fullmatch(r"[a-z0-9_-]+", name) or _is_address(name)):
                headers = [(key, value) for key, value in scope["headers"] if key != b"host"]
                scope = {**scope, "headers": [*headers, (b"host", self.public_host.encode())]}
        await self.app(scope, receive, send)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
