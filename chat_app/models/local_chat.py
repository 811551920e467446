"""A LangChain chat model over a model in this process: the embedded engine, or weights of the Hub."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol, runtime_checkable

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import ConfigDict

from heard.chat_app.models.llama_engine import Done, Engine
from heard.chat_app.models.provider import Call
from heard.chat_app.models.records import DEFAULT_TEMPERATURE, Delta, Thinking
from heard.chat_app.models.waiting_queue import Ticket

__all__ = ["EmbeddedChat", "Engine"]


@runtime_checkable
class LocalModel(Protocol):
    """The interface that `Engine` and `HubModel` share."""

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """Special tokens of the chat template. Typed by a person they would end the message and begin a system one."""

    def stream(
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
        """Yield Delta and Thinking, then Done, like `Engine.stream`."""


class EmbeddedChat(BaseChatModel):
    """Chat model over a LocalModel. Raises ModelFailure like `Engine.stream`; the last chunk has the token counts."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: LocalModel
    max_tokens: int = 640
    temperature: float = 0.7
    sampling: Mapping[str, float] = {}
    """Further sampling parameters by the engine's own names."""
    seed: int | None = None
    thinking: bool | None = None
    """Whether the model should think; None leaves that to its chat template."""
    ticket: Ticket | None = None
    """A slot that the caller has already waited for; without one, each call waits in the queue by itself."""

    @property
    def _llm_type(self) -> str:
        return "embedded"

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        wire = convert_to_openai_messages(messages)
        assert isinstance(wire, list)
        for message in wire:
            message["content"] = without_special_tokens(str(message["content"]), self.engine.special_tokens)
        items = self.engine.stream(
            wire,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            sampling=self.sampling,
            seed=self.seed,
            ticket=self.ticket,
            thinking=self.thinking,
        )
        async with aclosing(items):
            async for item in items:
                match item:
                    case Done():
                        yield _last_chunk(item)
                    case Thinking(text):
                        yield ChatGenerationChunk(
                            message=AIMessageChunk(content="", additional_kwargs={"reasoning_content": text})
                        )
                    case Delta(text):
                        yield ChatGenerationChunk(message=AIMessageChunk(content=text))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Generate without streaming, for scripts without an event loop."""
        return asyncio.run(self._agenerate(messages, stop, None, **kwargs))


def chat_on(engine: LocalModel, call: Call) -> EmbeddedChat:
    """Return the chat model for one call to a model that runs on `engine`."""
    spec = call.spec
    return EmbeddedChat(
        engine=engine,
        max_tokens=call.max_tokens + spec.thinking_tokens,
        temperature=DEFAULT_TEMPERATURE if spec.temperature is None else spec.temperature,
        sampling=spec.sampling,
        seed=spec.seed,
        thinking=None if spec.reasoning is None else spec.reasoning != "none",
        ticket=call.ticket,
    )


def _last_chunk(done: Done) -> ChatGenerationChunk:
    usage = None
    if done.prompt_tokens is not None and done.completion_tokens is not None:
        usage = UsageMetadata(
            input_tokens=done.prompt_tokens,
            output_tokens=done.completion_tokens,
            total_tokens=done.prompt_tokens + done.completion_tokens,
        )
    message = AIMessageChunk(
        content="",
        usage_metadata=usage,
        response_metadata={"finish_reason": done.finish_reason},
        chunk_position="last",
    )
    return ChatGenerationChunk(message=message)


def without_special_tokens(text: str, special_tokens: tuple[str, ...]) -> str:
    """Return `text` with every special token in it broken apart, so that the engine reads it as ordinary words."""
    for token in special_tokens:
        text = text.replace(token, token.replace("|", " ") if "|" in token else " ".join(token))
    return text
