"""Ask a model and stream its reply: LangChain chat models behind one generator, with time limits and retries.

Whatever goes wrong becomes a `ModelFailure` whose sentence is ours: a provider's own text can quote the person's words
or a key, so it is neither shown nor logged. A call is tried again only before its first token.
"""

import logging
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Self

import langsmith
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from chat_app import failures
from chat_app.connections import Connections
from chat_app.engine import Engine
from chat_app.failures import Fault
from chat_app.model_files import ModelsError, load_models
from chat_app.providers import NO_KEY, PROVIDERS, Call, is_installed, load_client
from chat_app.records import FailureKind, ModelFailure, ModelSpec, StreamItem, Waiting
from chat_app.reply_stream import ReplyStream
from chat_app.text import readable
from chat_app.tokens import TokenCounts
from chat_app.waiting_line import Ticket
from prompts.records import Prompt

__all__ = ["Models", "ModelsError", "load_models"]

log = logging.getLogger(__name__)

ATTEMPTS = 3
LONGEST_RETRY_AFTER = 10.0
"""Seconds that a server's Retry-After may make a person wait; a longer one is told to them instead."""
SPEAKERS = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
TALKATIVE = (
    "openai", "anthropic", "google_genai", "ollama", "httpx", "httpx2", "httpcore", "httpcore2", "langsmith",
    "langchain", "langchain_core", "langchain_openai", "langchain_anthropic", "langchain_google_genai",
    "langchain_ollama",
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
        backoff_seconds: float = 0.5,
    ) -> None:
        """`backoff_seconds` scales the pauses between attempts, drawn from 0..1, then 0..2 times it."""
        keep_words_here()
        self.specs = dict(specs)
        self._connections = Connections()
        for provider in {spec.provider for spec in self.specs.values()}:
            if is_installed(provider):
                load_client(provider)
            if PROVIDERS[provider].served:
                self._connections.clients()
        self._engine = engine
        self._counts = TokenCounts(engine)
        self._first_token_seconds = first_token_seconds
        self._stall_seconds = stall_seconds
        self._backoff = wait_random_exponential(multiplier=backoff_seconds, max=4)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to servers. The engine is not ours to close."""
        self._counts.close()
        await self._connections.aclose()

    def count_tokens(self, spec: ModelSpec, text: str) -> int:
        """Tokens of a text for a model, never too few where it can be known; see `chat_app/tokens.py`. Blocks."""
        return self._counts.count_tokens(spec, text)

    def counts_exactly(self, spec: ModelSpec) -> bool:
        """Whether `count_tokens` is the model's own count, or else an estimate."""
        return self._counts.exact(spec)

    async def stream(self, spec: ModelSpec, prompt: Prompt) -> AsyncGenerator[StreamItem, None]:
        """Waiting*, Delta+, Usage. Raises ModelFailure, before or after some Deltas.

        Closing the generator ends the call at once: the server's connection is closed, the engine's worker stops.
        """
        ticket = None
        try:
            if spec.provider == "embedded":
                line = self._own_engine().line
                ticket = line.join()
                async with aclosing(line.places(ticket)) as places:
                    async for ahead in places:
                        yield Waiting(ahead)
            reply = await self._open(spec, prompt, ticket)
            async with aclosing(reply), aclosing(reply.items()) as items:
                async for item in items:
                    yield item
        except Fault as fault:
            log.warning("model %s failed: %s", spec.id, fault.failure.kind)
            raise fault.failure from None
        finally:
            if ticket is not None:
                self._own_engine().give_up(ticket)

    async def _open(self, spec: ModelSpec, prompt: Prompt, ticket: Ticket | None) -> ReplyStream:
        """Call until a first token is there, at most ATTEMPTS times. Raises Fault."""
        messages = [SPEAKERS[message.role](content=readable(message.content)) for message in prompt.messages]
        retrying = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS), retry=retry_if_exception(_may_pass), wait=self._pause, reraise=True
        )
        async for attempt in retrying:
            with attempt:
                reply = self._call(spec, messages, prompt.max_tokens, ticket)
                ticket = None  # used up; another attempt waits in the line by itself
                try:
                    await reply.begin()
                except BaseException:
                    await reply.aclose()
                    raise
                return reply
        raise AssertionError("tenacity ends by a return or by an exception")

    def _call(self, spec: ModelSpec, messages: list[BaseMessage], most: int, ticket: Ticket | None) -> ReplyStream:
        chat = self._chat(spec, most, ticket)
        return ReplyStream(
            chat.astream(messages),
            spec,
            max_tokens=most,
            first_token_seconds=self._first_token_seconds,
            stall_seconds=self._stall_seconds,
        )

    def _pause(self, state: RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome else None
        asked = fault.retry_after if isinstance(fault, Fault) else None
        return self._backoff(state) if asked is None else asked

    def _own_engine(self) -> Engine:
        if self._engine is None:
            raise ModelFailure(
                FailureKind.UNREACHABLE, "There is no embedded engine in this process. Choose another model."
            )
        return self._engine

    def _chat(self, spec: ModelSpec, max_tokens: int, ticket: Ticket | None) -> BaseChatModel:
        if not is_installed(spec.provider):
            raise Fault(failures.missing_package(spec))
        key = NO_KEY
        if spec.key_env:
            key = os.environ.get(spec.key_env, "").strip()
            if not key:
                raise Fault(failures.missing_key(spec))
        call = Call(
            spec=spec,
            key=key,
            max_tokens=max_tokens,
            connections=self._connections,
            longest_gap=2 * (self._first_token_seconds + self._stall_seconds),
            engine=self._own_engine() if spec.provider == "embedded" else None,
            ticket=ticket,
        )
        return PROVIDERS[spec.provider].chat(call)


def _may_pass(error: BaseException) -> bool:
    return (
        isinstance(error, Fault)
        and error.may_retry
        and (error.retry_after is None or error.retry_after <= LONGEST_RETRY_AFTER)
    )
