"""The stream of one reply: its time limits, its length limit, and the check that it is complete."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol

from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.models import failures
from heard.chat_app.models.connections import OPEN_RESPONSES, Response
from heard.chat_app.models.failures import AttemptError, attempt_error, provider_errors
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import Delta, ModelFailure, ModelSpec, Usage

USAGE_SECONDS = 2.0
"""Longest wait for the token counts once a reply is complete."""
CHARACTERS_PER_TOKEN = 16
"""More than a token has in any script: past `max_tokens` times this, the server ignores the token limit."""

# Finish reasons of OpenAI, Anthropic, Google and Ollama. Every other reason is a regular end.
LENGTH_REASONS = {"length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"}
TOOL_REASONS = {"tool_calls", "function_call", "tool_use", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}
FILTER_REASONS = {
    "content_filter",
    "refusal",
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "LANGUAGE",
}


class Chunk(Protocol):
    """A chunk that a LangChain chat model yields."""

    @property
    def text(self) -> str:
        """Text that this chunk adds to the reply; may be empty."""

    @property
    def response_metadata(self) -> Mapping[str, Any]:
        """May hold the finish reason, such as "stop" or "length", under one of REASON_KEYS."""

    @property
    def usage_metadata(self) -> Mapping[str, Any] | None:
        """May hold `input_tokens` and `output_tokens`."""


REASON_KEYS = ("finish_reason", "stop_reason", "done_reason")


class ReplyStream:
    """The chunks of one call. Call `begin` once, then `items`; `aclose` ends the call at the provider."""

    def __init__(
        self,
        chunks: AsyncIterator[Chunk],
        spec: ModelSpec,
        *,
        max_tokens: int,
        first_token_seconds: float,
        stall_seconds: float,
        total_seconds: float,
        ends_at: float,
    ) -> None:
        """`ends_at` is when the call's `total_seconds` are over, by the event loop's clock: earlier attempts, and the
        pauses between them, count."""
        self._chunks = chunks
        self._spec = spec
        self._errors: tuple[type[Exception], ...] = (ModelFailure, *provider_errors(spec))
        self._characters_left = max_tokens * CHARACTERS_PER_TOKEN
        self._first_token_seconds = first_token_seconds
        self._stall_seconds = stall_seconds
        self._total_seconds = total_seconds
        self._ends_at = ends_at
        self._responses: list[Response] = []
        self._opening = ""
        """Text up to the first visible character."""
        self._half_surrogate = ""
        """The first half of a surrogate pair that a server has split over two chunks."""
        self._finished = False
        self._cut = False
        self._usage_adds_up = PROVIDERS[spec.provider].usage_adds_up
        self._usage: dict[str, int] = {}

    async def begin(self) -> None:
        """Wait for the first visible text. Raises AttemptError."""
        token = OPEN_RESPONSES.set(self._responses)
        try:
            await self._begin()
        finally:
            OPEN_RESPONSES.reset(token)

    async def _begin(self) -> None:
        deadline = min(asyncio.get_running_loop().time() + self._first_token_seconds, self._ends_at)
        while not has_visible(self._opening):
            try:
                async with asyncio.timeout_at(deadline) as limit:
                    text = await self._next()
            except TimeoutError:
                if self._finished and limit.expired():
                    raise AttemptError(failures.empty_reply(self._spec)) from None
                raise AttemptError(
                    failures.no_first_token(self._spec, min(self._first_token_seconds, self._total_seconds))
                ) from None
            except self._errors as error:
                raise attempt_error(error, self._spec, has_text=False) from None
            if text is None:
                raise AttemptError(failures.empty_reply(self._spec))
            self._opening += text
            self._check_opening()

    async def items(self) -> AsyncGenerator[Delta | Usage, None]:
        """Yield the text as it arrives, then Usage. Raises AttemptError for a reply that breaks off."""
        loop = asyncio.get_running_loop()
        text: str | None = self._opening
        deadline = 0.0
        while text is not None:
            if text:
                yield self._within_limit(text)
                if self._characters_left <= 0:
                    raise AttemptError(failures.too_many_tokens(self._spec))
                deadline = min(loop.time() + self._stall_seconds, self._ends_at)
            if self._finished:
                deadline = min(deadline, loop.time() + USAGE_SECONDS)
            try:
                async with asyncio.timeout_at(deadline):
                    text = await self._next()
            except self._errors as error:  # a TimeoutError is an OSError, and so one of them
                if self._finished:  # the text is complete, and only the counts were lost
                    break
                if isinstance(error, TimeoutError) and loop.time() >= self._ends_at:
                    raise AttemptError(failures.too_long(self._spec, self._total_seconds)) from None
                raise attempt_error(error, self._spec, has_text=True) from None
        if not self._finished:
            raise AttemptError(failures.stream_cut(self._spec))
        yield Usage(self._usage.get("input_tokens"), self._usage.get("output_tokens"), self._cut)

    async def aclose(self) -> None:
        """End the call: the provider's connection is closed, or its worker released."""
        close = getattr(self._chunks, "aclose", None)
        try:
            if close is not None:
                await close()
        finally:
            for response in self._responses:
                await response.aclose()

    async def _next(self) -> str | None:
        """Return the next chunk's text, often empty; None at the end."""
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            return None
        # LangChain waits by `asyncio.wait_for`, which on Python 3.11 loses a cancellation that comes together with a
        # chunk: without this, now and then a Stop would be overheard.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        self._note_end(chunk)
        self._note_counts(chunk.usage_metadata)
        text = self._half_surrogate + chunk.text
        self._half_surrogate = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._half_surrogate, text = text[-1], text[:-1]
        return clean_unicode(text)

    def _note_end(self, chunk: Chunk) -> None:
        data = chunk.response_metadata
        reasons = [str(data[name]) for name in REASON_KEYS if data.get(name)]
        has_text = has_visible(self._opening)
        if getattr(chunk, "tool_call_chunks", None) or not TOOL_REASONS.isdisjoint(reasons):
            raise AttemptError(failures.tool_call(self._spec, has_text=has_text))
        if not FILTER_REASONS.isdisjoint(reasons):
            raise AttemptError(failures.content_filtered(self._spec, has_text=has_text))
        self._cut = self._cut or not LENGTH_REASONS.isdisjoint(reasons)
        self._finished = self._finished or bool(reasons) or data.get("done") is True  # an older Ollama gives no reason

    def _note_counts(self, counts: Mapping[str, Any] | None) -> None:
        if counts:
            before = self._usage if self._usage_adds_up else {}
            self._usage = {name: before.get(name, 0) + counts[name] for name in ("input_tokens", "output_tokens")}

    def _check_opening(self) -> None:
        if len(self._opening) > self._characters_left and not has_visible(self._opening):
            raise AttemptError(failures.too_many_tokens(self._spec))

    def _within_limit(self, text: str) -> Delta:
        kept = text[: self._characters_left]
        self._characters_left -= len(text)
        return Delta(kept)
