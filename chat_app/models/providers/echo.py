"""A model that repeats the message, for developers and tests."""

from typing import TYPE_CHECKING

from heard.chat_app.models.provider import Call, Provider

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel


def chat_model(call: Call) -> "BaseChatModel":
    """Return the LangChain chat model for one call."""
    from heard.chat_app.models.echo_chat import EchoChat

    return EchoChat(max_tokens=call.max_tokens)


PROVIDER = Provider(
    name="echo",
    chat=chat_model,
    module="heard.chat_app.models.echo_chat",
    served=False,
    named=False,
    reasons=False,
)
