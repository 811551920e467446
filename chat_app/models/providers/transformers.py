"""Weights of the Hugging Face Hub or of a folder, in this process."""

from typing import TYPE_CHECKING

from heard.chat_app.models.provider import Call, Provider

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    from heard.chat_app.models.local_chat import chat_on

    assert call.hub is not None
    return chat_on(call.hub.model(call.spec), call)


PROVIDER = Provider(
    name="transformers",
    chat=chat_model,
    module="transformers",
    extra_modules=("torch",),
    extra="hub",
    loggers=("transformers",),
    local="hub",
    served=False,
    example="a name of the Hugging Face Hub, or a folder with weights",
    sampling=("top_p", "top_k", "min_p", "typical_p", "repetition_penalty"),
)
