"""The connections to servers that all model calls of a process share. Made when first needed."""

import ssl
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

import httpx2

from heard.chat_app.models.refusal import Refusal, seconds_to_wait

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0


class Answer(Protocol):
    """A server's answer, of httpx or httpx2."""

    status_code: int

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""

    @property
    def headers(self) -> Any:
        """By name, in any case."""

    async def aclose(self) -> None:
        """Close the connection, unless all of the answer was read."""


OPEN: ContextVar[list[Answer] | None] = ContextVar("OPEN", default=None)
"""Where the call that is being made notes its answers. A client may lose sight of one when its stream is closed early,
and the server would go on writing until the collector of garbage comes by."""


async def receive(answer: Answer) -> None:
    """Note an answer in OPEN. Raises Refusal for one that is no success, before a client reads its text.

    One place for all clients: each would put the provider's words into an exception of its own kind, and not all of
    them keep Retry-After.
    """
    if not answer.is_success:
        raise Refusal(answer.status_code, seconds_to_wait(answer.headers.get("retry-after")))
    if (answers := OPEN.get()) is not None:
        answers.append(answer)


class Connections:
    """HTTP clients for one event loop; `aclose` them when done."""

    def __init__(self) -> None:
        self.kept: dict[object, Any] = {}
        """What a provider makes once for many calls."""
        self._trust: ssl.SSLContext | None = None
        self._clients: tuple[httpx2.AsyncClient, httpx2.Client] | None = None
        self._transports: tuple[httpx.AsyncHTTPTransport, httpx.HTTPTransport] | None = None

    @property
    def trust(self) -> ssl.SSLContext:
        """The root certificates. Reading them takes a twentieth of a second, in which the event loop stands still."""
        self._trust = self._trust or httpx2.create_ssl_context()
        return self._trust

    def clients(self) -> tuple[httpx2.AsyncClient, httpx2.Client]:
        """The client of every call, and one that is never used but which LangChain would make for each call."""
        if self._clients is None:
            timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)  # reading is under the limits of ReplyStream
            hooks = {"response": [receive]}
            self._clients = (
                httpx2.AsyncClient(timeout=timeout, verify=self.trust, event_hooks=hooks),
                httpx2.Client(timeout=timeout, verify=self.trust),
            )
        return self._clients

    def transports(self) -> "tuple[httpx.AsyncHTTPTransport, httpx.HTTPTransport]":
        """The same for a library that makes its own clients, of httpx; it comes with that library."""
        if self._transports is None:
            import httpx

            self._transports = httpx.AsyncHTTPTransport(verify=self.trust), httpx.HTTPTransport(verify=self.trust)
        return self._transports

    async def aclose(self) -> None:
        """Close every connection."""
        self.kept.clear()
        for both in (self._clients, self._transports):
            if both is not None:
                await both[0].aclose()
                both[1].close()
        self._clients = self._transports = None
