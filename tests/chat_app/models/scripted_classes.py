"""Chat models of LangChain as somebody else writes them, for `provider = "langchain"`."""

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import SecretStr


class Streams(BaseChatModel):
    """Thinks in a block and answers with what it was given; gives no reason for its end."""

    model: str = "none"
    max_output_tokens: int = 0
    api_key: SecretStr | None = None
    fails: bool = False

    @property
    def _llm_type(self) -> str:
        return "streams"

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk(content=[{"type": "reasoning", "reasoning": "They feel"}]))
        if self.fails:
            raise RuntimeError(messages[-1].text)
        key = self.api_key.get_secret_value() if self.api_key else "no key"
        for text in (f"{self.model}, ", f"{self.max_output_tokens}, {key}"):
            yield ChatGenerationChunk(message=AIMessageChunk(content=text))

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise AssertionError("a class that streams was asked for a whole answer")


class Whole(BaseChatModel):
    """Cannot stream."""

    @property
    def _llm_type(self) -> str:
        return "whole"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        message = AIMessage(
            content="<think>They feel</think>All at once.", response_metadata={"stopReason": "end_turn"}
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


class NoModel:
    """Is none."""
