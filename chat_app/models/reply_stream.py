"""The stream of one reply: its time limits, its length limit, what of it is thinking, and whether it is complete."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from typing import Any, Protocol

from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.models import failures, reply_ends
from heard.chat_app.models.connections import OPEN_RESPONSES, Response
from heard.chat_app.models.failures import AttemptError, attempt_error, provider_errors
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.reasoning_blocks import is_refusal, thinking_in
from heard.chat_app.models.records import Delta, ModelFailure, ModelSpec, Rethought, Thinking, Usage
from heard.chat_app.models.thinking import Item, ThinkingFilter

USAGE_SECONDS = 2.0
"""Longest wait for the token counts once a reply is complete."""
CHARACTERS_PER_TOKEN = 16
"""More than a token has in any script: past `max_tokens` times this, the server ignores the token limit."""
MOST_THINKING = 32_768
"""Tokens of thinking that are taken from a server whatever its limit, as not all count thinking into it."""
OVERRUN = 8
"""Where a server's bound has room for thinking in it, a reply is cut at this many characters a token of its own."""


class Chunk(Protocol):
    """A chunk that a LangChain chat model yields."""

    @property
    def text(self) -> str:
        """Text that this chunk adds to the output; may be empty."""

    @property
    def response_metadata(self) -> Mapping[str, Any]:
        """May hold the finish reason, such as "stop" or "length", under one of `reply_ends.REASON_KEYS`."""

    @property
    def usage_metadata(self) -> Mapping[str, Any] | None:
        """May hold `input_tokens` and `output_tokens`."""


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
        thinks: bool = False,
    ) -> None:
        """`ends_at` is when the call's `total_seconds` are over, by the event loop's clock: earlier attempts, and the
        pauses between them, count. `thinks` says that the output is known to begin with thinking."""
        self._chunks = chunks
        self._spec = spec
        self._errors: tuple[type[Exception], ...] = (ModelFailure, *provider_errors(spec))
        self._max_tokens = max_tokens
        self._characters_left = max_tokens * CHARACTERS_PER_TOKEN
        self._thinking_left = (max_tokens + max(spec.thinking_tokens, MOST_THINKING)) * CHARACTERS_PER_TOKEN
        self._first_token_seconds = first_token_seconds
        self._stall_seconds = stall_seconds
        self._total_seconds = total_seconds
        self._ends_at = ends_at
        self._responses: list[Response] = []
        self._filter = ThinkingFilter(thinks=thinks)
        self._waiting: list[Item] = []
        """What came before the first sign of life, and that."""
        self._blank = ""
        """Text up to the first visible character."""
        self._visible = False
        """Whether the reply has a visible character."""
        self._length = 0
        """Characters of the reply."""
        self._half_surrogate = ""
        """The first half of a surrogate pair that a server has split over two chunks."""
        self._failure: ModelFailure | None = None
        """Why the reply counts as broken off, once the server has said so."""
        self._finished = False
        self._cut = False
        self._over = False
        self._usage_adds_up = PROVIDERS[spec.provider].usage_adds_up
        self._usage: dict[str, int] = {}

    @property
    def unopened(self) -> bool:
        """Whether the output began with thinking without a mark, so that the next one of this model will too."""
        return self._filter.unopened

    async def begin(self) -> None:
        """Wait for the first visible text, or for the first thinking. Raises AttemptError."""
        token = OPEN_RESPONSES.set(self._responses)
        try:
            await self._begin()
        finally:
            OPEN_RESPONSES.reset(token)

    async def _begin(self) -> None:
        deadline = min(asyncio.get_running_loop().time() + self._first_token_seconds, self._ends_at)
        blank = ""
        while True:
            try:
                async with asyncio.timeout_at(deadline) as limit:
                    items = await self._next()
            except TimeoutError:
                if self._finished and limit.expired():
                    raise AttemptError(failures.empty_reply(self._spec)) from None
                raise AttemptError(
                    failures.no_first_token(self._spec, min(self._first_token_seconds, self._total_seconds))
                ) from None
            except self._errors as error:
                raise attempt_error(error, self._spec, has_text=False) from None
            if items is None:
                raise AttemptError(self._failure or failures.empty_reply(self._spec))
            self._waiting += items
            blank += "".join(item.text for item in items if isinstance(item, Delta))
            if has_visible(blank) or any(isinstance(item, Thinking) for item in items):
                return
            if len(blank) > self._characters_left:
                raise AttemptError(failures.too_many_tokens(self._spec))

    async def items(self) -> AsyncGenerator[Delta | Thinking | Rethought | Usage, None]:
        """Yield text and thinking as they arrive, then Usage. Raises AttemptError for a reply that breaks off."""
        loop = asyncio.get_running_loop()
        items: list[Item] | None = self._waiting
        deadline = 0.0
        while items is not None:
            for item in self._bounded(items):
                yield item
            if self._characters_left <= 0 or self._thinking_left <= 0:
                raise AttemptError(failures.too_many_tokens(self._spec))
            if self._spec.thinking_tokens and self._length > OVERRUN * self._max_tokens:
                self._cut = self._finished = True
                break
            if items:
                deadline = min(loop.time() + self._stall_seconds, self._ends_at)
            if self._finished:
                deadline = min(deadline, loop.time() + USAGE_SECONDS)
            try:
                async with asyncio.timeout_at(deadline):
                    items = await self._next()
            except self._errors as error:  # a TimeoutError is an OSError, and so one of them
                if self._finished:  # the text is complete, and only the counts were lost
                    break
                for item in self._bounded(self._filter.end(whole=False)):
                    yield item
                raise self._broken_by(error) from None
        if self._failure is not None:
            raise AttemptError(self._failure)
        if not self._finished:
            raise AttemptError(failures.stream_cut(self._spec))
        if not self._visible:
            thought = self._filter.thought
            raise AttemptError(reply_ends.only_thinking(self._spec) if thought else failures.empty_reply(self._spec))
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

    def _broken_by(self, error: Exception) -> AttemptError:
        if isinstance(error, TimeoutError) and asyncio.get_running_loop().time() >= self._ends_at:
            told = failures.too_long if self._visible else reply_ends.still_thinking
            return AttemptError(told(self._spec, self._total_seconds))
        return attempt_error(error, self._spec, has_text=True)

    async def _next(self) -> list[Item] | None:
        """Return what the next chunk holds, often nothing; None at the end."""
        if self._over:
            return None
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._over = True
            self._finished = self._finished or not PROVIDERS[self._spec.provider].gives_reasons
            return self._filter.end(whole=self._finished, cut=self._cut) or None
        # LangChain waits by `asyncio.wait_for`, which on Python 3.11 loses a cancellation that comes together with a
        # chunk: without this, now and then a Stop would be overheard.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        self._note_counts(chunk.usage_metadata)
        items: list[Item] = []
        if (thought := thinking_in(chunk)) is not None:
            items += [*self._filter.note_channel(), Thinking(clean_unicode(thought))]
        text = self._half_surrogate + chunk.text
        self._half_surrogate = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._half_surrogate, text = text[-1], text[:-1]
        items += self._filter.feed(clean_unicode(text))
        self._note_end(chunk, items)
        return items

    def _note_end(self, chunk: Chunk, items: list[Item]) -> None:
        """Note that and why the output has ended, if this chunk says so, and add what the end makes of it."""
        reason = reply_ends.reason_in(chunk.response_metadata)
        deltas = (item.text for item in (*self._waiting, *items) if isinstance(item, Delta))
        has_text = self._visible or has_visible("".join(deltas))
        if getattr(chunk, "tool_call_chunks", None):
            self._failure = reply_ends.bad_end(self._spec, "tool_calls", has_text=has_text)
        elif is_refusal(chunk):
            self._failure = reply_ends.refused(self._spec, has_text=has_text)
        elif reason is None:
            return
        else:
            self._failure = reply_ends.bad_end(self._spec, reason, has_text=has_text)
        if self._failure is not None:
            self._over = True
            items += self._filter.end(whole=False)
            return
        self._finished = True
        self._cut = self._cut or reason in reply_ends.LENGTH
        items += self._filter.end(whole=True, cut=self._cut)

    def _note_counts(self, counts: Mapping[str, Any] | None) -> None:
        if counts:
            before = self._usage if self._usage_adds_up else {}
            self._usage = {name: before.get(name, 0) + counts[name] for name in ("input_tokens", "output_tokens")}

    def _bounded(self, items: list[Item]) -> Iterator[Item]:
        """The items within the bounds, without white space before the first word."""
        for item in items:
            match item:
                case Thinking(text):
                    self._thinking_left -= len(text)
                    yield item
                case Rethought(text):
                    self._visible, self._blank, self._length = False, "", 0
                    self._characters_left = self._max_tokens * CHARACTERS_PER_TOKEN
                    yield item
                case Delta(text):
                    self._blank += text
                    if not self._visible and not has_visible(self._blank):
                        continue
                    text, self._blank, self._visible = self._blank, "", True
                    kept = text[: max(self._characters_left, 0)]
                    self._characters_left -= len(text)
                    self._length += len(kept)
                    if kept:
                        yield Delta(kept)
