"""The small model that comes with heard, in this process."""

from typing import TYPE_CHECKING

from heard.chat_app.models.llama_engine import CONTEXT_TOKENS
from heard.chat_app.models.provider import Call, Provider

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    from heard.chat_app.models.local_chat import EmbeddedChat

    assert call.engine is not None
    return EmbeddedChat(
        engine=call.engine,
        max_tokens=call.max_tokens,
        temperature=call.spec.temperature,
        sampling=call.spec.sampling,
        seed=call.spec.seed,
        ticket=call.ticket,
    )


PROVIDER = Provider(
    name="embedded",
    chat=chat_model,
    module="heard.chat_app.models.local_chat",
    local="engine",
    served=False,
    named=False,
    most_context=CONTEXT_TOKENS,
)
