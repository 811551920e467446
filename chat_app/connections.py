"""The connections to servers that all model calls of a process share. Made when first needed."""

import httpx2

CONNECT_SECONDS = 10.0


class Connections:
    """HTTP clients for one event loop; `aclose` them when done."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None
        self._idle_client: httpx2.Client | None = None

    def clients(self) -> tuple[httpx2.AsyncClient, httpx2.Client]:
        """The client of every call, and one that is never used.

        LangChain would make the second for each call: the server's event loop would stand still for the twentieth of
        a second in which it reads the root certificates.
        """
        if self._client is None or self._idle_client is None:
            timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)  # reading is under the limits of ReplyStream
            trust = httpx2.create_ssl_context()
            self._client = httpx2.AsyncClient(timeout=timeout, verify=trust)
            self._idle_client = httpx2.Client(timeout=timeout, verify=trust)
        return self._client, self._idle_client

    async def aclose(self) -> None:
        """Close every connection."""
        client, self._client = self._client, None
        idle, self._idle_client = self._idle_client, None
        if client is not None:
            await client.aclose()
        if idle is not None:
            idle.close()
