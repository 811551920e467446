"""Call a model and stream its reply: LangChain chat models behind one generator, with time limits and retries.

Every error becomes a `ModelFailure` with a sentence of our own: a provider's text can quote the person's words or a
key, so it is neither shown nor logged. A call is retried only before its first token.
"""

import asyncio
import logging
import math
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self

import langsmith
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from heard.chat_app.common.settings import Settings
from heard.chat_app.common.text import clean_unicode
from heard.chat_app.models import failures
from heard.chat_app.models.accepted import thinks_in_its_output
from heard.chat_app.models.catalogue import ModelsError, load_models
from heard.chat_app.models.circuit_breaker import COOLDOWN_SECONDS, CircuitBreaker, CircuitBreakers, CoolingDown
from heard.chat_app.models.connections import Connections
from heard.chat_app.models.engines import Engines
from heard.chat_app.models.env_values import secrets_of
from heard.chat_app.models.failures import AttemptError
from heard.chat_app.models.hub_model import HubEngine
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.provider import NO_KEY, Call
from heard.chat_app.models.providers import PROVIDERS, import_client, is_installed
from heard.chat_app.models.records import ModelFailure, ModelSpec, Rethought, StreamItem, Waiting
from heard.chat_app.models.reply_stream import ReplyStream
from heard.chat_app.models.server_reason import cleaned
from heard.chat_app.models.token_counts import TokenCounts
from heard.chat_app.models.waiting_queue import Ticket
from heard.prompts.records import Prompt

__all__ = ["Models", "ModelsError", "load_models"]

log = logging.getLogger(__name__)

ATTEMPTS = 3
LONGEST_RETRY_AFTER = 10.0
"""Longest Retry-After, in seconds, that is waited for; a longer one is shown to the person instead."""
MESSAGE_TYPES = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
LEAKY_LOGGERS = (
    "httpx", "httpx2", "httpcore", "httpcore2", "langsmith", "langchain", "langchain_core", "huggingface_hub",
    *(name for provider in PROVIDERS.values() for name in provider.loggers),
)  # fmt: skip
"""Loggers whose records hold whole requests (debug) or a provider's text (warnings)."""


def disable_content_logging() -> None:
    """Keep every library from logging what people write, and turn off LangSmith tracing and telemetry."""
    for name in LEAKY_LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[name] = "false"
    for name in (name for provider in PROVIDERS.values() for name in provider.header_variables):
        os.environ.pop(name, None)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    langsmith.configure(enabled=False)


class Models:
    """A client for every model of `specs`. For one event loop; an async context manager, or call `aclose`."""

    def __init__(
        self,
        specs: Mapping[str, ModelSpec],
        *,
        engine: Engine | None,
        cache_dir: Path | None = None,
        first_token_seconds: float,
        stall_seconds: float,
        total_seconds: float = math.inf,
        backoff_seconds: float = 0.5,
        cooldown_seconds: float = COOLDOWN_SECONDS,
    ) -> None:
        """`engine` runs the embedded model; `cache_dir` holds the files of other ones, each of which gets an engine of
        its own at its first call.

        `backoff_seconds` scales the random pauses between attempts: 0..1 times it, then 0..2 times. They are added to a
        server's Retry-After, so that callers who were refused together do not return together."""
        disable_content_logging()
        self.specs = dict(specs)
        self._connections = Connections()
        self._breakers = CircuitBreakers(cooldown_seconds=cooldown_seconds)
        for provider in {spec.provider for spec in self.specs.values()}:
            if is_installed(provider):
                import_client(provider)
            if PROVIDERS[provider].served:
                self._connections.clients()
        self._engines = Engines(engine, cache_dir)
        self._hub = HubEngine()
        self._counts = TokenCounts(self._engines.ready)
        self._unopened: set[str] = set()
        """Models that have begun with thinking and no mark of it."""
        self._first_token_seconds = first_token_seconds
        self._stall_seconds = stall_seconds
        self._total_seconds = total_seconds
        self._backoff = wait_random_exponential(multiplier=backoff_seconds, max=4)

    @classmethod
    def of(cls, specs: Mapping[str, ModelSpec], settings: Settings, engine: Engine | None = None) -> Self:
        """Clients with the limits and the cache folder of the settings."""
        return cls(
            specs,
            engine=engine,
            cache_dir=settings.cache_dir,
            first_token_seconds=settings.first_token_seconds,
            stall_seconds=settings.stall_seconds,
            total_seconds=settings.total_seconds,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to servers, and stop the Hub's models and every engine but the one that was given."""
        self._hub.close()
        self._counts.close()
        await asyncio.to_thread(self._engines.close)
        await self._connections.aclose()

    def count_tokens(self, spec: ModelSpec, text: str) -> int:
        """Return the number of tokens of a text, exact or estimated high; see `token_counts.py`. Blocks."""
        return self._counts.count_tokens(spec, text)

    def counts_exactly(self, spec: ModelSpec) -> bool:
        """Return whether `count_tokens` is exact for this model."""
        return self._counts.is_exact(spec)

    async def stream(self, spec: ModelSpec, prompt: Prompt) -> AsyncGenerator[StreamItem, None]:
        """Call a model and yield Waiting*, Delta+, Usage, with Thinking and perhaps Rethought among the Deltas. Raises
        ModelFailure, before or after some of them.

        Closing the generator ends the call at once: the connection is closed, or the engine's worker stopped.
        """
        ticket, local = None, None
        try:
            key = _key(spec)
            local = await self._local_engine(spec)
            if local is not None:
                ticket = local.queue.join()
                async with aclosing(local.queue.positions(ticket)) as positions:
                    async for ahead in positions:
                        yield Waiting(ahead)
            if isinstance(local, HubEngine):
                await local.load(spec, None if key == NO_KEY else key)  # under no limit, as it may be a long download
            with self._guarded(spec):
                reply = await self._start_reply(spec, key, prompt, ticket)
            async with aclosing(reply), aclosing(reply.items()) as items:
                async for item in items:
                    if isinstance(item, Rethought):
                        self._unopened.add(spec.id)
                    yield item
        except ModelFailure as failure:
            log.warning("model %s failed: %s", spec.id, failure.kind)
            raise
        except CoolingDown as error:
            raise failures.cooling_down(spec, error.seconds) from None
        except AttemptError as error:
            reason = cleaned(error.said, (message.content for message in prompt.messages), secrets_of(spec))
            error.failure.reason = reason
            log.warning("model %s failed: %s%s", spec.id, error.failure.kind, f' ("{reason}")' if reason else "")
            if self._cooldown_left(spec):
                log.warning("model %s: its server is left alone for a while", spec.id)
            raise error.failure from None
        finally:
            if local is not None and ticket is not None:
                local.release(ticket)

    def prepare(self, spec: ModelSpec) -> None:
        """Import and make beforehand what a call to this model needs, so that its times are the server's alone. What is
        missing is told by the call."""
        try:
            if PROVIDERS[spec.provider].local is None and is_installed(spec.provider):
                self._chat_model(spec, _key(spec), 1, None)
        except (AttemptError, ModelFailure) as error:
            failure = error.failure if isinstance(error, AttemptError) else error
            log.info("model %s cannot be prepared: %s", spec.id, failure.kind)

    @property
    def cooling_down(self) -> tuple[str, ...]:
        """Names of the models whose server is cooling down."""
        return tuple(spec.id for spec in self.specs.values() if self._cooldown_left(spec))

    async def wait_for_cooldown(self, spec: ModelSpec) -> None:
        """Return as soon as a call to this model would be let through. For background work."""
        while seconds := self._cooldown_left(spec):  # noqa: ASYNC110 - time alone ends it; there is no event to wait for
            await asyncio.sleep(seconds)

    def _breaker(self, spec: ModelSpec) -> CircuitBreaker | None:
        """Return the breaker of the model's server; None for a model in this process."""
        url = spec.base_url or PROVIDERS[spec.provider].url
        return self._breakers.of(url) if url else None

    def _cooldown_left(self, spec: ModelSpec) -> float:
        """Seconds that the model's server is still cooling down; 0 if it is not."""
        breaker = self._breaker(spec)
        return breaker.seconds_left if breaker else 0.0

    def _guarded(self, spec: ModelSpec) -> AbstractContextManager[None]:
        breaker = self._breaker(spec)
        return breaker.guard(_is_down) if breaker else nullcontext()

    @property
    def offered(self) -> dict[str, ModelSpec]:
        """The models that can be chosen: all but those of the catalogue whose file is not on this machine."""
        return {
            name: spec
            for name, spec in self.specs.items()
            if PROVIDERS[spec.provider].local != "engine" or spec.file is not None or self._engines.has_file(spec)
        }

    async def _local_engine(self, spec: ModelSpec) -> Engine | HubEngine | None:
        """Return the engine in this process that runs the model; None for a model on a server."""
        match PROVIDERS[spec.provider].local:
            case "hub":
                return self._hub
            case "engine":
                # off the event loop: a new one reads its file's header, and may have to fetch the file
                return self._engines.ready(spec) or await asyncio.to_thread(self._engines.of, spec)
            case None:
                return None

    async def _start_reply(self, spec: ModelSpec, key: str, prompt: Prompt, ticket: Ticket | None) -> ReplyStream:
        """Call the model until its first token is there, at most ATTEMPTS times. Raises AttemptError."""
        messages = _messages(spec, prompt)
        retrying = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS),
            retry=retry_if_exception(_is_retryable),
            wait=self._retry_delay,
            reraise=True,
        )
        ends_at = asyncio.get_running_loop().time() + self._total_seconds
        async for attempt in retrying:
            with attempt:
                reply = self._attempt(spec, key, messages, prompt.max_tokens, ticket, ends_at)
                ticket = None  # used up; another attempt waits in the queue by itself
                try:
                    await reply.begin()
                except BaseException:
                    await reply.aclose()
                    raise
                return reply
        raise AssertionError("tenacity ends by a return or by an exception")

    def _attempt(
        self,
        spec: ModelSpec,
        key: str,
        messages: list[BaseMessage],
        max_tokens: int,
        ticket: Ticket | None,
        ends_at: float,
    ) -> ReplyStream:
        chat = self._chat_model(spec, key, max_tokens, ticket)
        return ReplyStream(
            chat.astream(messages),
            spec,
            max_tokens=max_tokens,
            first_token_seconds=self._first_token_seconds,
            stall_seconds=self._stall_seconds,
            total_seconds=self._total_seconds,
            ends_at=ends_at,
            thinks=spec.id in self._unopened or thinks_in_its_output(spec),
        )

    def _retry_delay(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        retry_after = error.retry_after if isinstance(error, AttemptError) else None
        return self._backoff(state) + (retry_after or 0)

    def _chat_model(self, spec: ModelSpec, key: str, max_tokens: int, ticket: Ticket | None) -> BaseChatModel:
        call = Call(
            spec=spec,
            key=key,
            max_tokens=max_tokens,
            connections=self._connections,
            longest_gap=2 * (self._first_token_seconds + self._stall_seconds),
            engine=self._engines.of(spec) if PROVIDERS[spec.provider].local == "engine" else None,
            hub=self._hub,
            ticket=ticket,
        )
        return PROVIDERS[spec.provider].chat(call)


def _messages(spec: ModelSpec, prompt: Prompt) -> list[BaseMessage]:
    """Return the prompt as messages of LangChain. A system text that the model has no role for begins the first one."""
    wire = [(message.role, clean_unicode(message.content)) for message in prompt.messages]
    if spec.system_role == "user" and len(wire) > 1 and (wire[0][0], wire[1][0]) == ("system", "user"):
        wire[:2] = [("user", f"{wire[0][1]}\n\n{wire[1][1]}")]
    return [MESSAGE_TYPES[role](content=content) for role, content in wire]


def _key(spec: ModelSpec) -> str:
    """Return the model's key, or NO_KEY. Raises AttemptError if the key or the provider's package is missing."""
    if not is_installed(spec.provider):
        raise AttemptError(failures.missing_package(spec))
    if not spec.key_env:
        return NO_KEY
    key = os.environ.get(spec.key_env, "").strip()
    if not key:
        raise AttemptError(failures.missing_key(spec))
    return key


def _is_down(error: Exception) -> bool:
    return isinstance(error, AttemptError) and error.failure.kind in failures.SERVER_DOWN_KINDS


def _is_retryable(error: BaseException) -> bool:
    return (
        isinstance(error, AttemptError)
        and error.may_retry
        and (error.retry_after is None or error.retry_after <= LONGEST_RETRY_AFTER)
    )
