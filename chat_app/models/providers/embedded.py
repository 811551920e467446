"""Models of the catalogue, and any GGUF file, in this process."""

from typing import TYPE_CHECKING

from heard.chat_app.models.provider import Call, Provider

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    from heard.chat_app.models.local_chat import chat_on

    assert call.engine is not None
    return chat_on(call.engine, call)


PROVIDER = Provider(
    name="embedded",
    chat=chat_model,
    module="heard.chat_app.models.local_chat",
    local="engine",
    served=False,
    named=False,
    files=True,
    example="a name of `heard models list`",
    most_context=131_072,
)
