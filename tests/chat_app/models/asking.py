"""One question to a model over a protocol, and what came of it; one message to a turn."""

import uuid
from dataclasses import replace
from typing import Any

from heard.chat_app.conversation.events import TurnRequest
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.client import Models
from heard.chat_app.models.records import Delta, ModelFailure, ModelSpec, Usage
from heard.prompts.records import Prompt, PromptMessage
from tests.servers import ScriptedServer
from tests.wires import Wire

PERSON, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
SECRET = "zebra-marmalade-4711"
"""Stands for the person's words, a key, or a provider's text: it must turn up nowhere."""
PROMPT = Prompt((PromptMessage("system", "Be kind."), PromptMessage("user", f"I feel low, {SECRET}.")), max_tokens=40)

Outcome = tuple[str, Usage | None, ModelFailure | None]


def spec_of(wire: Wire, server: ScriptedServer, **changes: object) -> ModelSpec:
    """The entry of a model on this server."""
    values: dict[str, object] = {
        "id": "scripted", "provider": wire.provider, "model": "scripted", "label": "Scripted",
        "base_url": server.base_url,
    }  # fmt: skip
    return ModelSpec(**{**values, **changes})  # type: ignore[arg-type]


async def ask(models: Models, spec: ModelSpec, prompt: Prompt = PROMPT) -> Outcome:
    """The text, the counts, and the failure if there was one."""
    text, usage = "", None
    try:
        async for item in models.stream(spec, prompt):
            if isinstance(item, Delta):
                assert item.text
                assert usage is None
                text += item.text
            elif isinstance(item, Usage):
                usage = item
    except ModelFailure as failure:
        return text, usage, failure
    return text, usage, None


def message_to(services: Services, model: str, text: str = "I cannot sleep.", /, **changes: Any) -> TurnRequest:
    """A person's message, to be answered by this model; of a conversation of its own unless `changes` say otherwise."""
    return replace(
        TurnRequest(
            participant_id=str(uuid.uuid4()),
            conversation_id=str(uuid.uuid4()),
            message_id=str(uuid.uuid4()),
            reply_id=str(uuid.uuid4()),
            text=text,
            persona=services.library.personas["listener"],
            strategy=services.library.strategies["plain"],
            model=services.models.specs[model],
            live_scores=True,
            auto_improve=False,
            threshold=1.7,
            country=None,
        ),
        **changes,
    )
