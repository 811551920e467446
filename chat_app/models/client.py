"""Ask a model and stream its reply: LangChain chat models behind one generator, with time limits and retries.

Whatever goes wrong becomes a `ModelFailure` whose sentence is ours: a provider's own text can quote the person's words
or a key, so it is neither shown nor logged. A call is tried again only before its first token.
"""

import asyncio
import logging
import math
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from types import TracebackType
from typing import Self

import langsmith
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from heard.chat_app.common.text import readable
from heard.chat_app.models import failures
from heard.chat_app.models.catalogue import ModelsError, load_models
from heard.chat_app.models.circuit_breaker import REST_SECONDS, Breaker, Breakers, Resting
from heard.chat_app.models.connections import Connections
from heard.chat_app.models.failures import Fault
from heard.chat_app.models.hub_model import HubEngine
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.provider import NO_KEY, Call
from heard.chat_app.models.providers import PROVIDERS, is_installed, load_client
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec, StreamItem, Waiting
from heard.chat_app.models.reply_stream import ReplyStream
from heard.chat_app.models.token_counts import TokenCounts
from heard.chat_app.models.waiting_queue import Ticket
from heard.prompts.records import Prompt

__all__ = ["Models", "ModelsError", "load_models"]

log = logging.getLogger(__name__)

ATTEMPTS = 3
LONGEST_RETRY_AFTER = 10.0
"""Seconds that a server's Retry-After may make a person wait; a longer one is told to them instead."""
SPEAKERS = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
TALKATIVE = (
    "openai", "anthropic", "google_genai", "ollama", "httpx", "httpx2", "httpcore", "httpcore2", "langsmith",
    "langchain", "langchain_core", "langchain_openai", "langchain_anthropic", "langchain_google_genai",
    "langchain_ollama", "transformers", "huggingface_hub",
)  # fmt: skip
"""Loggers whose lines hold whole requests (debug) or a provider's text (warnings)."""
STRAY_HEADERS = ("ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS")
"""Variables from which a client would add headers, a key among them, to calls of whatever server it has."""


def keep_words_here() -> None:
    """Let no library log or send away what people write: no lines with requests in them, no LangSmith tracing."""
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[name] = "false"
    for name in STRAY_HEADERS:
        os.environ.pop(name, None)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    langsmith.configure(enabled=False)


class Models:
    """Every model of `specs`, callable. An async context manager, or call `aclose`. Belongs to one event loop."""

    def __init__(
        self,
        specs: Mapping[str, ModelSpec],
        *,
        engine: Engine | None,
        first_token_seconds: float,
        stall_seconds: float,
        total_seconds: float = math.inf,
        backoff_seconds: float = 0.5,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        """`backoff_seconds` scales the pauses between attempts, drawn from 0..1, then 0..2 times it; they come on top
        of a server's Retry-After, or all who were sent away at once would come back at once."""
        keep_words_here()
        self.specs = dict(specs)
        self._connections = Connections()
        self._breakers = Breakers(rest_seconds=rest_seconds)
        for provider in {spec.provider for spec in self.specs.values()}:
            if is_installed(provider):
                load_client(provider)
            if PROVIDERS[provider].served:
                self._connections.clients()
        self._engine = engine
        self._hub = HubEngine()
        self._counts = TokenCounts(engine)
        self._first_token_seconds = first_token_seconds
        self._stall_seconds = stall_seconds
        self._total_seconds = total_seconds
        self._backoff = wait_random_exponential(multiplier=backoff_seconds, max=4)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to servers and let go of weights. The embedded engine is not ours to close."""
        self._hub.close()
        self._counts.close()
        await self._connections.aclose()

    def count_tokens(self, spec: ModelSpec, text: str) -> int:
        """Tokens of a text for a model, never too few where it can be known; see `token_counts.py`. Blocks."""
        return self._counts.count_tokens(spec, text)

    def counts_exactly(self, spec: ModelSpec) -> bool:
        """Whether `count_tokens` is the model's own count, or else an estimate."""
        return self._counts.exact(spec)

    async def stream(self, spec: ModelSpec, prompt: Prompt) -> AsyncGenerator[StreamItem, None]:
        """Waiting*, Delta+, Usage. Raises ModelFailure, before or after some Deltas.

        Closing the generator ends the call at once: the server's connection is closed, the engine's worker stops.
        """
        ticket, local = None, None
        try:
            key = _key(spec)
            local = self._local(spec)
            if local is not None:
                ticket = local.line.join()
                async with aclosing(local.line.places(ticket)) as places:
                    async for ahead in places:
                        yield Waiting(ahead)
            if isinstance(local, HubEngine):
                await local.load(spec, None if key == NO_KEY else key)  # under no limit, as it may be a long download
            with self._watched(spec):
                reply = await self._open(spec, key, prompt, ticket)
            async with aclosing(reply), aclosing(reply.items()) as items:
                async for item in items:
                    yield item
        except ModelFailure as failure:
            log.warning("model %s failed: %s", spec.id, failure.kind)
            raise
        except Resting as rest:
            raise failures.resting(spec, rest.seconds) from None
        except Fault as fault:
            log.warning("model %s failed: %s", spec.id, fault.failure.kind)
            if self._rest(spec):
                log.warning("model %s: its server is left alone for a while", spec.id)
            raise fault.failure from None
        finally:
            if local is not None and ticket is not None:
                local.give_up(ticket)

    @property
    def resting(self) -> tuple[str, ...]:
        """Names of the entries whose server is left alone at present."""
        return tuple(spec.id for spec in self.specs.values() if self._rest(spec))

    async def rested(self, spec: ModelSpec) -> None:
        """Return as soon as a call to this model would be let through. For work that nobody waits for."""
        while seconds := self._rest(spec):  # noqa: ASYNC110 - time alone ends a rest, and nothing could wake this
            await asyncio.sleep(seconds)

    def _breaker(self, spec: ModelSpec) -> Breaker | None:
        """That of the model's server; None for what runs in this process."""
        url = spec.base_url or PROVIDERS[spec.provider].url
        return self._breakers.of(url) if url else None

    def _rest(self, spec: ModelSpec) -> float:
        """Seconds that the model's server is still left alone; 0 if it is not."""
        breaker = self._breaker(spec)
        return breaker.wait if breaker else 0.0

    def _watched(self, spec: ModelSpec) -> AbstractContextManager[None]:
        breaker = self._breaker(spec)
        return breaker.call(_is_down) if breaker else nullcontext()

    def _local(self, spec: ModelSpec) -> Engine | HubEngine | None:
        """The engine in this process that the model runs on."""
        match PROVIDERS[spec.provider].local:
            case "hub":
                return self._hub
            case "engine":
                return self._own_engine()
            case None:
                return None

    async def _open(self, spec: ModelSpec, key: str, prompt: Prompt, ticket: Ticket | None) -> ReplyStream:
        """Call until a first token is there, at most ATTEMPTS times. Raises Fault."""
        messages = [SPEAKERS[message.role](content=readable(message.content)) for message in prompt.messages]
        retrying = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS), retry=retry_if_exception(_may_pass), wait=self._pause, reraise=True
        )
        ends_at = asyncio.get_running_loop().time() + self._total_seconds
        async for attempt in retrying:
            with attempt:
                reply = self._call(spec, key, messages, prompt.max_tokens, ticket, ends_at)
                ticket = None  # used up; another attempt waits in the line by itself
                try:
                    await reply.begin()
                except BaseException:
                    await reply.aclose()
                    raise
                return reply
        raise AssertionError("tenacity ends by a return or by an exception")

    def _call(
        self, spec: ModelSpec, key: str, messages: list[BaseMessage], most: int, ticket: Ticket | None, ends_at: float
    ) -> ReplyStream:
        chat = self._chat(spec, key, most, ticket)
        return ReplyStream(
            chat.astream(messages),
            spec,
            max_tokens=most,
            first_token_seconds=self._first_token_seconds,
            stall_seconds=self._stall_seconds,
            total_seconds=self._total_seconds,
            ends_at=ends_at,
        )

    def _pause(self, state: RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome else None
        asked = fault.retry_after if isinstance(fault, Fault) else None
        return self._backoff(state) + (asked or 0)

    def _own_engine(self) -> Engine:
        if self._engine is None:
            raise ModelFailure(
                FailureKind.UNREACHABLE, "There is no embedded engine in this process. Choose another model."
            )
        return self._engine

    def _chat(self, spec: ModelSpec, key: str, max_tokens: int, ticket: Ticket | None) -> BaseChatModel:
        call = Call(
            spec=spec,
            key=key,
            max_tokens=max_tokens,
            connections=self._connections,
            longest_gap=2 * (self._first_token_seconds + self._stall_seconds),
            engine=self._own_engine() if PROVIDERS[spec.provider].local == "engine" else None,
            hub=self._hub,
            ticket=ticket,
        )
        return PROVIDERS[spec.provider].chat(call)


def _key(spec: ModelSpec) -> str:
    """The model's key, or NO_KEY. Raises Fault if it cannot be called at all: for want of the key, or of a package."""
    if not is_installed(spec.provider):
        raise Fault(failures.missing_package(spec))
    if not spec.key_env:
        return NO_KEY
    key = os.environ.get(spec.key_env, "").strip()
    if not key:
        raise Fault(failures.missing_key(spec))
    return key


def _is_down(error: Exception) -> bool:
    return isinstance(error, Fault) and error.failure.kind in failures.DOWN


def _may_pass(error: BaseException) -> bool:
    return (
        isinstance(error, Fault)
        and error.may_retry
        and (error.retry_after is None or error.retry_after <= LONGEST_RETRY_AFTER)
    )
