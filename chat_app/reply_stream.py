"""One reply on its way in: time limits, length limit, and the proof that it came whole."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol

from chat_app import failures
from chat_app.failures import Fault, fault_of, provider_errors
from chat_app.records import Delta, ModelFailure, ModelSpec, Usage
from chat_app.text import has_visible, readable

USAGE_SECONDS = 2.0
"""Longest wait for the token counts once a reply is whole."""
CHARACTERS_PER_TOKEN = 16
"""More than a token has in any script: past `max_tokens` times this, the server is ignoring the bound."""


class Chunk(Protocol):
    """What a LangChain chat model yields."""

    @property
    def text(self) -> str:
        """What this chunk adds to the reply; may be empty."""

    @property
    def response_metadata(self) -> Mapping[str, Any]:
        """May hold `finish_reason`, such as "stop" or "length"."""

    @property
    def usage_metadata(self) -> Mapping[str, Any] | None:
        """May hold `input_tokens` and `output_tokens`."""


class ReplyStream:
    """Wraps the chunks of one call. `begin` once, then `items`; `aclose` ends the call at the provider."""

    def __init__(
        self,
        chunks: AsyncIterator[Chunk],
        spec: ModelSpec,
        *,
        max_tokens: int,
        first_token_seconds: float,
        stall_seconds: float,
    ) -> None:
        self._chunks = chunks
        self._spec = spec
        self._errors: tuple[type[Exception], ...] = (ModelFailure, *provider_errors())
        self._room = max_tokens * CHARACTERS_PER_TOKEN
        self._first_token_seconds = first_token_seconds
        self._stall_seconds = stall_seconds
        self._opening = ""
        """Text up to the first visible character."""
        self._half = ""
        """The first half of a surrogate pair, when a server splits one over two chunks."""
        self._whole = False
        self._ended = False
        self._usage: Mapping[str, Any] | None = None

    async def begin(self) -> None:
        """Wait for the first visible text. Raises Fault."""
        deadline = asyncio.get_running_loop().time() + self._first_token_seconds
        while not has_visible(self._opening):
            try:
                async with asyncio.timeout_at(deadline) as limit:
                    text = await self._next()
            except TimeoutError:
                if self._whole and limit.expired():
                    raise Fault(failures.empty(self._spec)) from None
                raise Fault(failures.silent(self._spec, self._first_token_seconds)) from None
            except self._errors as error:
                raise fault_of(error, self._spec, begun=False) from None
            if text is None:
                raise Fault(failures.empty(self._spec))
            self._opening += text
            self._check_opening()

    async def items(self) -> AsyncGenerator[Delta | Usage, None]:
        """The text as it arrives, then Usage. Raises Fault for a reply that breaks off."""
        loop = asyncio.get_running_loop()
        text: str | None = self._opening
        deadline = 0.0
        while text is not None:
            if text:
                yield self._measured(text)
                if self._room <= 0:
                    raise Fault(failures.endless(self._spec))
                deadline = loop.time() + self._stall_seconds
            if self._whole:
                deadline = min(deadline, loop.time() + USAGE_SECONDS)
            try:
                async with asyncio.timeout_at(deadline):
                    text = await self._next()
            except self._errors as error:  # a TimeoutError is an OSError, and so one of them
                if not self._whole:  # else the words are all there, and only the counts were lost
                    raise fault_of(error, self._spec, begun=True) from None
                break
        if not self._whole:
            raise Fault(failures.cut(self._spec))
        counts = self._usage or {}
        yield Usage(counts.get("input_tokens"), counts.get("output_tokens"))

    async def aclose(self) -> None:
        """End the call: the provider's connection or worker is let go at once."""
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()

    async def _next(self) -> str | None:
        """The next chunk's text, often empty; None at the end."""
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            return None
        # LangChain waits by `asyncio.wait_for`, which on Python 3.11 loses a cancellation that comes together with a
        # chunk: without this, now and then a Stop would be overheard.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        self._whole = self._whole or bool(chunk.response_metadata.get("finish_reason"))
        self._usage = chunk.usage_metadata or self._usage
        text = self._half + chunk.text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._half, text = text[-1], text[:-1]
        return readable(text)

    def _check_opening(self) -> None:
        if len(self._opening) > self._room and not has_visible(self._opening):
            raise Fault(failures.endless(self._spec))

    def _measured(self, text: str) -> Delta:
        kept = text[: self._room]
        self._room -= len(text)
        return Delta(kept)
