"""Connections that never say what they want are closed: uvicorn itself has no limit for the head of a request."""

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""From a connection, or from the first byte of a further request on it, to the end of the request's head."""


class ImpatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with HEAD_SECONDS for each head. For the body see `body_limit.py`."""

    def __init__(self, config: Config, *more: Any, **named: Any) -> None:
        super().__init__(config, *more, **named)
        self._head_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and wait for the rest of the head if they are none yet."""
        before = self.scope
        super().data_received(data)
        if self.scope is not before or self._is_answering():
            self._forget_deadline()
        elif self._head_deadline is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._head_deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _forget_deadline(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None

    def _give_up(self) -> None:
        self._head_deadline = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()
