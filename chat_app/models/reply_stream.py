"""One reply on its way in: time limits, length limit, and the proof that it came whole."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol

from heard.chat_app.common.text import has_visible, readable
from heard.chat_app.models import failures
from heard.chat_app.models.connections import OPEN, Answer
from heard.chat_app.models.failures import Fault, fault_of, provider_errors
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import Delta, ModelFailure, ModelSpec, Usage

USAGE_SECONDS = 2.0
"""Longest wait for the token counts once a reply is whole."""
CHARACTERS_PER_TOKEN = 16
"""More than a token has in any script: past `max_tokens` times this, the server is ignoring the bound."""

# Why a reply ended, in the words of OpenAI, Anthropic, Google and Ollama. Every other reason is a good end.
BOUND = {"length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"}
TOOLS = {"tool_calls", "function_call", "tool_use", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}
WITHHELD = {"content_filter", "refusal", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"}


class Chunk(Protocol):
    """What a LangChain chat model yields."""

    @property
    def text(self) -> str:
        """What this chunk adds to the reply; may be empty."""

    @property
    def response_metadata(self) -> Mapping[str, Any]:
        """May hold the reason of the end, such as "stop" or "length", under one of the names in `REASONS`."""

    @property
    def usage_metadata(self) -> Mapping[str, Any] | None:
        """May hold `input_tokens` and `output_tokens`."""


REASONS = ("finish_reason", "stop_reason", "done_reason")


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
        total_seconds: float,
        ends_at: float,
    ) -> None:
        """`ends_at`, by the event loop's clock, is when the call's `total_seconds` are over: earlier attempts, and the
        pauses between them, count."""
        self._chunks = chunks
        self._spec = spec
        self._errors: tuple[type[Exception], ...] = (ModelFailure, *provider_errors(spec))
        self._room = max_tokens * CHARACTERS_PER_TOKEN
        self._first_token_seconds = first_token_seconds
        self._stall_seconds = stall_seconds
        self._total_seconds = total_seconds
        self._ends_at = ends_at
        self._answers: list[Answer] = []
        self._opening = ""
        """Text up to the first visible character."""
        self._half = ""
        """The first half of a surrogate pair, when a server splits one over two chunks."""
        self._whole = False
        self._cut = False
        self._adds_counts = PROVIDERS[spec.provider].adds_counts
        self._usage: dict[str, int] = {}

    async def begin(self) -> None:
        """Wait for the first visible text. Raises Fault."""
        noting = OPEN.set(self._answers)
        try:
            await self._begin()
        finally:
            OPEN.reset(noting)

    async def _begin(self) -> None:
        deadline = min(asyncio.get_running_loop().time() + self._first_token_seconds, self._ends_at)
        while not has_visible(self._opening):
            try:
                async with asyncio.timeout_at(deadline) as limit:
                    text = await self._next()
            except TimeoutError:
                if self._whole and limit.expired():
                    raise Fault(failures.empty(self._spec)) from None
                raise Fault(failures.silent(self._spec, min(self._first_token_seconds, self._total_seconds))) from None
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
                deadline = min(loop.time() + self._stall_seconds, self._ends_at)
            if self._whole:
                deadline = min(deadline, loop.time() + USAGE_SECONDS)
            try:
                async with asyncio.timeout_at(deadline):
                    text = await self._next()
            except self._errors as error:  # a TimeoutError is an OSError, and so one of them
                if self._whole:  # the words are all there, and only the counts were lost
                    break
                if isinstance(error, TimeoutError) and loop.time() >= self._ends_at:
                    raise Fault(failures.overlong(self._spec, self._total_seconds)) from None
                raise fault_of(error, self._spec, begun=True) from None
        if not self._whole:
            raise Fault(failures.cut(self._spec))
        yield Usage(self._usage.get("input_tokens"), self._usage.get("output_tokens"), self._cut)

    async def aclose(self) -> None:
        """End the call: the provider's connection or worker is let go at once."""
        close = getattr(self._chunks, "aclose", None)
        try:
            if close is not None:
                await close()
        finally:
            for answer in self._answers:
                await answer.aclose()

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
        self._note_end(chunk)
        self._note_counts(chunk.usage_metadata)
        text = self._half + chunk.text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._half, text = text[-1], text[:-1]
        return readable(text)

    def _note_end(self, chunk: Chunk) -> None:
        data = chunk.response_metadata
        reasons = [str(data[name]) for name in REASONS if data.get(name)]
        begun = has_visible(self._opening)
        if getattr(chunk, "tool_call_chunks", None) or not TOOLS.isdisjoint(reasons):
            raise Fault(failures.tools(self._spec, begun=begun))
        if not WITHHELD.isdisjoint(reasons):
            raise Fault(failures.withheld(self._spec, begun=begun))
        self._cut = self._cut or not BOUND.isdisjoint(reasons)
        self._whole = self._whole or bool(reasons) or data.get("done") is True  # an older Ollama gives no reason

    def _note_counts(self, counts: Mapping[str, Any] | None) -> None:
        if counts:
            before = self._usage if self._adds_counts else {}
            self._usage = {name: before.get(name, 0) + counts[name] for name in ("input_tokens", "output_tokens")}

    def _check_opening(self) -> None:
        if len(self._opening) > self._room and not has_visible(self._opening):
            raise Fault(failures.endless(self._spec))

    def _measured(self, text: str) -> Delta:
        kept = text[: self._room]
        self._room -= len(text)
        return Delta(kept)
