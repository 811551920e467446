"""HTTP clients that all model calls of a process share; made when first needed."""

import asyncio
import logging
import ssl
import sys
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

import httpx2

from heard.chat_app.models.http_status import MOST_BYTES, HttpStatusError, ServerWords, seconds_to_wait, words_of

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
REASON_SECONDS = 2.0
"""Longest wait for the text of an error."""

log = logging.getLogger(__name__)


class Response(Protocol):
    """A server's response, of httpx or httpx2."""

    status_code: int

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""

    @property
    def headers(self) -> Any:
        """The headers; names in any case."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yield the body."""

    async def aclose(self) -> None:
        """Close the connection, unless the whole response was read."""


OPEN_RESPONSES: ContextVar[list[Response] | None] = ContextVar("OPEN_RESPONSES", default=None)
"""Responses of the current call, to be closed with it. A client library may forget one when its stream is closed early,
and the server would go on writing until it is garbage collected."""


async def check_response(response: Response) -> None:
    """Add a response to OPEN_RESPONSES. Raises HttpStatusError if its status is not 2xx.

    An event hook of every client: each library would put the provider's words into an exception of its own, and not all
    of them keep Retry-After.
    """
    if not response.is_success:
        wait, said = seconds_to_wait(response.headers.get("retry-after")), await _said(response)
        raise HttpStatusError(response.status_code, wait, said)
    if (responses := OPEN_RESPONSES.get()) is not None:
        responses.append(response)


def _httpx_errors() -> tuple[type[Exception], ...]:
    """Those of httpx, where a library that uses it is loaded."""
    loaded: Any = sys.modules.get("httpx")
    return (loaded.HTTPError,) if loaded is not None else ()


async def _said(response: Response) -> ServerWords:
    """What an error's body says, as far as it comes soon; nothing of one of 5xx, which is no answer to a request."""
    if not 400 <= response.status_code < 500:
        return ServerWords()
    errors: tuple[type[Exception], ...] = (TimeoutError, ValueError, httpx2.HTTPError, *_httpx_errors())
    body = b""
    try:
        async with asyncio.timeout(REASON_SECONDS):
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MOST_BYTES:
                    break
    except errors as error:
        log.info("a server's reason could not be read: %s", type(error).__name__)
    return words_of(body)


class Connections:
    """HTTP clients for one event loop; `aclose` them when done."""

    def __init__(self) -> None:
        self.cache: dict[object, Any] = {}
        """Objects that a provider makes once for many calls."""
        self._ssl_context: ssl.SSLContext | None = None
        self._clients: tuple[httpx2.AsyncClient, httpx2.Client] | None = None
        self._transports: tuple[httpx.AsyncHTTPTransport, httpx.HTTPTransport] | None = None

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """The root certificates. Reading them blocks the event loop for a twentieth of a second."""
        self._ssl_context = self._ssl_context or httpx2.create_ssl_context()
        return self._ssl_context

    def clients(self) -> tuple[httpx2.AsyncClient, httpx2.Client]:
        """Return the client for every call, and an unused sync one, which LangChain would otherwise make each time."""
        if self._clients is None:
            timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)  # reading is under the limits of ReplyStream
            hooks = {"response": [check_response]}
            self._clients = (
                httpx2.AsyncClient(timeout=timeout, verify=self.ssl_context, event_hooks=hooks),
                httpx2.Client(timeout=timeout, verify=self.ssl_context),
            )
        return self._clients

    def transports(self) -> "tuple[httpx.AsyncHTTPTransport, httpx.HTTPTransport]":
        """Return the same as transports, for a library that makes its own httpx clients."""
        if self._transports is None:
            import httpx

            self._transports = (
                httpx.AsyncHTTPTransport(verify=self.ssl_context),
                httpx.HTTPTransport(verify=self.ssl_context),
            )
        return self._transports

    async def aclose(self) -> None:
        """Close every connection."""
        self.cache.clear()
        for both in (self._clients, self._transports):
            if both is not None:
                await both[0].aclose()
                both[1].close()
        self._clients = self._transports = None
