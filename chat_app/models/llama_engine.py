"""llama.cpp in this process: one engine for every chat with a model, answering a few calls at once.

Its threads have low priority: a page, a score or /health takes milliseconds and must not wait for a token, while nobody
notices a token that waited for them. How many threads, slots and tokens of context it has says its plan.
"""

import asyncio
import concurrent.futures
import logging
import secrets
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from heard.chat_app.models.adapter_files import check_adapter
from heard.chat_app.models.engine_loading import NATIVE_ERRORS, load_server
from heard.chat_app.models.engine_plan import EnginePlan
from heard.chat_app.models.gguf_header import GgufError, GgufHeader, read_header
from heard.chat_app.models.opening_copies import copy_opening
from heard.chat_app.models.records import Delta, FailureKind, ModelFailure, Thinking
from heard.chat_app.models.waiting_queue import Ticket, WaitingQueue
from heard.chat_app.models.weights_folder import WeightsError

log = logging.getLogger(__name__)

DEFAULT_PLAN = EnginePlan()
"""What SmolLM2 runs with."""
SLOTS = DEFAULT_PLAN.slots
CONTEXT_TOKENS = DEFAULT_PLAN.context_tokens
IDLE_SECONDS = 0.5
"""Between two looks whether nobody is being answered, so that an opening can be read."""

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
        self.items: asyncio.Queue[Delta | Thinking | None] = asyncio.Queue()
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
                delta = choice.get("delta") or {}
                if thought := delta.get("reasoning_content"):
                    self.put(Thinking(thought))
                if text := delta.get("content"):
                    self.put(Delta(text))
        return self.stop

    def put(self, item: Delta | Thinking | None) -> None:
        """Pass an item to the event loop; None is the end."""
        try:
            self.loop.call_soon_threadsafe(self.items.put_nowait, item)
        except RuntimeError:  # the loop is closed, so nobody reads on
            self.stop = True


class _Opening:
    """An opening that is being read."""

    def __init__(self, messages: list[Mapping[str, Any]]) -> None:
        self.messages = messages
        self.generation = _Generation()
        self.over = asyncio.Event()

    def begins(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Whether a prompt begins with it."""
        return list(messages[: len(self.messages)]) == self.messages


class _RunningServer:
    """A started server with its worker threads."""

    def __init__(self, server: Any, slots: int, folder: "tempfile.TemporaryDirectory[str]") -> None:
        self.server = server
        self.folder = folder
        """Where a slot is kept while it is copied; removed with the server."""
        self.workers = concurrent.futures.ThreadPoolExecutor(slots, thread_name_prefix="engine")
        self.generations: set[_Generation] = set()


class Engine:
    """The embedded engine. The model is loaded by `start`, or by the first call.

    Calls are served in order, `slots` at a time. After `close`, or if the engine died, the next call starts it again.
    """

    def __init__(
        self,
        model: Path,
        *,
        adapter: Path | None = None,
        plan: EnginePlan = DEFAULT_PLAN,
        slots: int | None = None,
        context_tokens: int | None = None,
        label: str = "the embedded model",
    ) -> None:
        """`model` is the GGUF file and `adapter` weights that are added to its own; `slots` and `context_tokens` take
        the place of the plan's; `label` names the model in sentences."""
        self.model, self.adapter = model, adapter
        self.plan = replace(plan, slots=slots or plan.slots, context_tokens=context_tokens or plan.context_tokens)
        self.context_tokens = self.plan.context_tokens
        self.label = label
        self.queue = WaitingQueue(self.plan.slots)
        self.api_key = secrets.token_hex(16)
        """Required at `base_url`, so that no other program or web page on this machine can use the engine."""
        self._starting = threading.Lock()
        self._running: _RunningServer | None = None
        self._opening: _Opening | None = None

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens of the model's chat template, as its file names them; none if it cannot be read, which
        `start` tells. The first look takes a tenth of a second."""
        try:
            return self._header.special_tokens
        except (GgufError, OSError):
            return ()

    @cached_property
    def _header(self) -> GgufHeader:
        return read_header(self.model)

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
            running.folder.cleanup()

    async def read_opening(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Read a prompt that has nothing in it of anybody, and copy what was read into every slot, for all prompts that
        begin like it; return whether it is there. A slot that has answered somebody is written over, so this is for the
        time after a start.

        Waits until nobody is being answered. Whoever comes meanwhile with a prompt that begins so waits for it, as it
        would have to be read anyway; for any other prompt this makes way, and begins anew later. Raises ModelFailure if
        the engine cannot start.
        """
        await self.start()
        while True:
            while self.queue.busy or self.queue.waiting:  # noqa: ASYNC110 - the queue has no event for being empty
                await asyncio.sleep(IDLE_SECONDS)
            self._opening = opening = _Opening(list(messages[:-1]))
            try:
                done = await self._read(opening, messages)
            finally:
                self._opening = None
                opening.over.set()
            if done is not None:
                return done

    async def _read(self, opening: "_Opening", messages: Sequence[Mapping[str, Any]]) -> bool | None:
        """Return whether the opening was read and copied; None if it was given up for somebody's message."""
        ticket, running = self.queue.join(), self._running
        if running is None or not ticket.admitted:
            self.queue.leave(ticket)
            return None if running is not None else False
        body = {"messages": list(messages), "max_tokens": 1, "temperature": 0, "id_slot": 0}
        self._submit(running, {**body, "stream": True, "return_progress": True}, opening.generation, ticket)
        while await opening.generation.items.get() is not None:
            pass  # the one token that has to be written
        if opening.generation.stop:
            return None
        if opening.generation.error is not None or opening.generation.finish_reason is None:
            return False
        return await asyncio.to_thread(self._copy, running)

    def _copy(self, running: _RunningServer) -> bool:
        folder = Path(running.folder.name)
        return copy_opening(running.server.listening_address, self.api_key, folder, self.plan.slots)

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        temperature: float,
        sampling: Mapping[str, float] | None = None,
        seed: int | None = None,
        ticket: Ticket | None = None,
        thinking: bool | None = None,
    ) -> AsyncGenerator[Delta | Thinking | Done, None]:
        """Answer OpenAI-shaped messages: yield Delta and Thinking, then Done. Waits in the queue unless given an
        admitted ticket. `thinking` tells the chat template whether the model should think; None leaves that to it.

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
        if thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": thinking}
        begun = False
        try:
            async for _ in self.queue.positions(ticket):
                pass
            running = self._running
            if running is None:
                running = await asyncio.to_thread(self._start)
            if (opening := self._opening) is not None:
                if opening.begins(messages):
                    await opening.over.wait()
                else:
                    opening.generation.stop = True
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
                f"This conversation is longer than {self.label} can read ({self.context_tokens} tokens). "
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
                folder = tempfile.TemporaryDirectory(prefix="heard-", ignore_cleanup_errors=True)
                try:
                    self._running = _RunningServer(self._load(folder.name), self.queue.slots, folder)
                except BaseException:
                    folder.cleanup()
                    raise
            return self._running

    def _load(self, folder: str) -> Any:
        if not self.model.is_file():
            raise ModelFailure(
                FailureKind.UNREACHABLE, f"The file of {self.label} is missing. Run `heard models fetch` to fetch it."
            )
        try:
            header = self._header
        except (GgufError, OSError) as error:
            reason = str(error) if isinstance(error, GgufError) else f"{self.model.name} cannot be opened."
            raise ModelFailure(
                FailureKind.UNREACHABLE,
                f"{self.label} cannot be loaded: {reason} `heard models fetch` fetches those of heard.",
            ) from None
        if self.adapter is not None:
            try:
                check_adapter(self.adapter)
            except WeightsError as error:
                raise ModelFailure(FailureKind.UNREACHABLE, f"{self.label} cannot be loaded. {error}") from None
        return load_server(
            self.model, self.adapter, header, self.plan, label=self.label, api_key=self.api_key, folder=folder
        )
