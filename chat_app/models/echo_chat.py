"""A fake model that repeats the last message word by word: for tests and for work on the page."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

OPENING = "I hear you say: "


class EchoChat(BaseChatModel):
    """Answers with OPENING and the last message. Deterministic; a token is a word."""

    max_tokens: int = 640
    seconds_per_word: float = 0.0
    """Pause before each word, to see a page stream."""

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _chunks(self, messages: list[BaseMessage]) -> Iterator[ChatGenerationChunk]:
        every_word = re.findall(r"\s*\S+\s*", OPENING + messages[-1].text)
        words = every_word[: self.max_tokens]
        for word in words:
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        read = sum(len(message.text.split()) for message in messages)
        usage = UsageMetadata(input_tokens=read, output_tokens=len(words), total_tokens=read + len(words))
        reason = {"finish_reason": "stop" if len(words) == len(every_word) else "length"}
        yield ChatGenerationChunk(
            message=AIMessageChunk(content="", usage_metadata=usage, response_metadata=reason, chunk_position="last")
        )

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            await asyncio.sleep(self.seconds_per_word)
            yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = "".join(chunk.text for chunk in self._chunks(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])
