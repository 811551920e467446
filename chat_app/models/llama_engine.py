"""llama.cpp in this process: one engine for every chat, on one thread, answering a few calls at once.

One thread, because two collapse as soon as anything else is busy, and of low priority: a page, a score or /health takes
milliseconds and must not wait for a token, while nobody notices a token that waited for them. Four slots of 2,048
tokens, because a token of context costs 23 kB (30 layers x 3 heads x 64 numbers x key and value x 2 bytes) whether it
is used or not.
"""

import asyncio
import concurrent.futures
import logging
import secrets
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heard.chat_app.models.records import Delta, FailureKind, ModelFailure
from heard.chat_app.models.thread_priority import with_low_priority_threads
from heard.chat_app.models.waiting_queue import Ticket, WaitingQueue

log = logging.getLogger(__name__)

SLOTS = 4
CONTEXT_TOKENS = 2048
"""Context window of one slot: prompt and reply together."""
BATCH_TOKENS = 64
"""Prompt tokens that are read at once. Small, so that a long prompt does not hold up other replies that are streaming,
and so that Stop works within one such batch; this model reads no faster in larger ones."""
PROMPT_CACHE_MB = 64
"""Memory for conversations that lost their slot to another chat, so that their next prompt need not be read again."""

SPECIAL_TOKENS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
"""Special tokens of the embedded model's chat template."""

NATIVE_ERRORS = (RuntimeError, ValueError, TypeError, IndexError, ArithmeticError, OSError, MemoryError)
"""Exceptions that Cython makes of those of llama.cpp."""

STOPPED = "The embedded model stopped in the middle of this reply. Send the message again: it starts anew by itself."
NOT_STARTED = "The embedded model stopped before it could answer. Send the message again: it starts anew by itself."


@dataclass(frozen=True, slots=True)
class Done:
    """Last item of a complete reply."""

    finish_reason: str
    """"stop", or "length" if it reached the token limit."""
    prompt_tokens: int | None
    completion_tokens: int | None


class _Generation:
    """A reply that is being generated: filled by a worker thread, read by the event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.items: asyncio.Queue[Delta | None] = asyncio.Queue()
        self.stop = False
        self.error: Mapping[str, Any] | None = None
        self.finish_reason: str | None = None
        self.usage: Mapping[str, int] = {}

    def on_chunk(self, received: Any) -> bool:
        """Callback of llama.cpp, from a worker thread. Returns True to stop it; must not raise."""
        for chunk in received if isinstance(received, list) else [received]:
            if not isinstance(chunk, Mapping):
                continue
            if "error" in chunk or "code" in chunk:
                self.error = chunk.get("error", chunk)
            self.usage = chunk.get("usage") or self.usage
            for choice in chunk.get("choices") or ():
                self.finish_reason = choice.get("finish_reason") or self.finish_reason
                text = (choice.get("delta") or {}).get("content")
                if text:
                    self.put(Delta(text))
        return self.stop

    def put(self, item: Delta | None) -> None:
        """Pass an item to the event loop; None is the end."""
        try:
            self.loop.call_soon_threadsafe(self.items.put_nowait, item)
        except RuntimeError:  # the loop is closed, so nobody reads on
            self.stop = True


class _RunningServer:
    """A started server with its worker threads."""

    def __init__(self, server: Any, slots: int) -> None:
        self.server = server
        self.workers = concurrent.futures.ThreadPoolExecutor(slots, thread_name_prefix="engine")
        self.generations: set[_Generation] = set()


class Engine:
    """The embedded engine. The model is loaded by `start`, or by the first call.

    Calls are served in order, `slots` at a time. After `close`, or if the engine died, the next call starts it again.
    """

    def __init__(self, model: Path, *, slots: int = SLOTS, context_tokens: int = CONTEXT_TOKENS) -> None:
        self.model = model
        self.context_tokens = context_tokens
        self.queue = WaitingQueue(slots)
        self.api_key = secrets.token_hex(16)
        """Required at `base_url`, so that no other program or web page on this machine can use the engine."""
        self._starting = threading.Lock()
        self._running: _RunningServer | None = None

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens of the model's chat template."""
        return SPECIAL_TOKENS

    @property
    def started(self) -> bool:
        """Whether the model is loaded."""
        return self._running is not None

    @property
    def base_url(self) -> str:
        """URL at which the started engine speaks OpenAI's protocol, on loopback, with `api_key`. Raises RuntimeError
        before it has started."""
        running = self._running
        if running is None:
            raise RuntimeError("start the engine before asking for its address")
        return f"{running.server.listening_address}/v1"

    async def start(self) -> None:
        """Load the model and warm it up, off the event loop; does nothing if it is running.

        xllamacpp's loader holds the interpreter's lock, so everything else pauses for the 0.3 s that it takes; the
        warm-up after it does not.

        Raises ModelFailure (UNREACHABLE) if this machine has no engine or the file cannot be loaded.
        """
        if self._running is None:
            await asyncio.to_thread(self._start)

    def start_sync(self) -> None:
        """Like `start`, but blocking, for a worker thread."""
        if self._running is None:
            self._start()

    def close(self) -> None:
        """Stop the engine and cut its replies. Blocks for one step of the model, at most a second."""
        with self._starting:
            running, self._running = self._running, None
        if running is not None:
            for generation in tuple(running.generations):
                generation.stop = True
            # llama.cpp may only be torn down when no worker is inside it
            running.workers.shutdown(wait=True)

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        temperature: float,
        sampling: Mapping[str, float] | None = None,
        seed: int | None = None,
        ticket: Ticket | None = None,
    ) -> AsyncGenerator[Delta | Done, None]:
        """Answer OpenAI-shaped messages: yield Delta+, then Done. Waits in the queue unless given an admitted ticket.

        Closing the generator stops the worker at its next step and frees its slot. Raises ModelFailure: REJECTED for a
        prompt longer than the context window, UNREACHABLE if the engine cannot start, CUT if it dies in the middle.
        """
        ticket = ticket or self.queue.join()
        generation = _Generation()
        body: dict[str, Any] = {
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": temperature,
            **(sampling or {}),
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # a callback for each step of reading, where a Stop can take hold
        }
        if seed is not None:
            body["seed"] = seed
        begun = False
        try:
            async for _ in self.queue.positions(ticket):
                pass
            running = self._running
            if running is None:
                running = await asyncio.to_thread(self._start)
            self._submit(running, body, generation, ticket)
            while (item := await generation.items.get()) is not None:
                begun = True
                yield item
            yield self._finish(generation, begun)
        finally:
            generation.stop = True
            self.release(ticket)

    def release(self, ticket: Ticket) -> None:
        """Give up a ticket; if a worker uses its slot, the worker does so when it has stopped."""
        if not ticket.in_use:
            self.queue.leave(ticket)

    def _finish(self, generation: _Generation, begun: bool) -> Done:
        if generation.error is not None:
            raise self._failure_of(generation.error, begun)
        if generation.finish_reason is None:
            if not begun:
                raise ModelFailure(FailureKind.UNREACHABLE, NOT_STARTED)
            raise ModelFailure(FailureKind.CUT, STOPPED)
        return Done(
            generation.finish_reason, generation.usage.get("prompt_tokens"), generation.usage.get("completion_tokens")
        )

    def _failure_of(self, error: Mapping[str, Any], begun: bool) -> ModelFailure:
        """Return the failure for an error of llama.cpp, whose own text is left out because it can quote the prompt."""
        if error.get("type") == "exceed_context_size_error":
            return ModelFailure(
                FailureKind.REJECTED,
                f"This conversation is longer than the embedded model can read ({self.context_tokens} tokens). "
                "Start a new chat, or choose a model with more room.",
            )
        log.warning("embedded model: error of code %s", error.get("code"))
        if begun:
            return ModelFailure(FailureKind.CUT, STOPPED)
        if str(error.get("code", "")).startswith("4"):
            return ModelFailure(FailureKind.REJECTED, "The embedded model cannot read this message. Word it anew.")
        return ModelFailure(FailureKind.SERVER_ERROR, NOT_STARTED)

    def _submit(self, running: _RunningServer, body: dict[str, Any], generation: _Generation, ticket: Ticket) -> None:
        running.generations.add(generation)
        try:
            running.workers.submit(self._work, running, body, generation, ticket)
        except RuntimeError:  # closed since; the caller may try again
            running.generations.discard(generation)
            raise ModelFailure(FailureKind.UNREACHABLE, NOT_STARTED) from None
        ticket.in_use = True

    def _work(self, running: _RunningServer, body: dict[str, Any], generation: _Generation, ticket: Ticket) -> None:
        """Run one call to its end, in a worker thread."""
        try:
            if not generation.stop:
                running.server.handle_chat_completions(body, generation.on_chunk)
        except NATIVE_ERRORS as error:  # the reply ends as broken, by the missing finish reason
            log.warning("embedded model: %s", type(error).__name__)
        finally:
            running.generations.discard(generation)
            self.queue.leave(ticket)
            generation.put(None)

    def _start(self) -> _RunningServer:
        with self._starting:
            if self._running is None:
                self._running = _RunningServer(self._load(), self.queue.slots)
            return self._running

    def _load(self) -> Any:
        try:
            import xllamacpp
        except ImportError:
            raise ModelFailure(
                FailureKind.UNREACHABLE,
                "This system has no embedded engine (xllamacpp is not installed). Choose another model, for example "
                "an Ollama server as an entry of models.toml.",
            ) from None
        if not self.model.is_file():
            raise ModelFailure(
                FailureKind.UNREACHABLE, "The embedded model's file is missing. Run `heard models fetch` to fetch it."
            )
        try:
            server = with_low_priority_threads(lambda: xllamacpp.Server(self._params(xllamacpp)))
            # The first call of all compiles the chat template and touches the memory, so that a person's needn't.
            hello = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
            server.handle_chat_completions(hello, lambda _: False)
        except NATIVE_ERRORS as error:
            log.warning("embedded model: %s while loading", type(error).__name__)
            raise ModelFailure(
                FailureKind.UNREACHABLE,
                "The embedded model's file cannot be loaded. Run `heard models fetch`, then try again.",
            ) from None
        return server

    def _params(self, xllamacpp: Any) -> Any:
        params = xllamacpp.CommonParams()
        params.model.path = str(self.model)
        params.model_alias = {self.model.stem}  # else its answers name a path of this machine
        params.n_parallel = self.queue.slots
        params.n_ctx = self.queue.slots * self.context_tokens
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.cache_ram_mib = PROMPT_CACHE_MB
        params.warmup = False  # the first call in `_load` does that, and unlike this it lets the event loop run
        params.fit_params = False  # it would load the model twice, to see what fits a GPU
        params.verbosity = -1  # its log can hold prompts
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.api_keys = [self.api_key]
        params.ui = params.endpoint_slots = params.cors_credentials = False
        params.cors_origins = ""
        return params
