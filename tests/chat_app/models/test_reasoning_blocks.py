"""Thinking that a server sends apart from the text, under each name and shape that there is."""

import json
from typing import Any

import pytest

from heard.chat_app.models.client import Models
from tests import servers
from tests.chat_app.models.asking import spec_of
from tests.chat_app.models.test_thinking import REPLY, hear
from tests.servers import Script
from tests.wires import WIRES
from tests.wires.anthropic_wire import _delta, _event
from tests.wires.google_wire import _part
from tests.wires.ollama_wire import _line

OPENAI = WIRES["openai"]


def delta(**values: Any) -> bytes:
    """A piece of OpenAI's protocol with these fields."""
    part = json.loads(servers.chunk("").removeprefix(b"data: "))
    part["choices"][0]["delta"] = values
    return servers.event(part)


def after(*thinking: bytes, reply: bytes = OPENAI.piece(REPLY)) -> Script:
    """A script whose thinking comes apart, before the reply."""
    return OPENAI.script(OPENAI.opening(), *thinking, reply, OPENAI.ending())


PIECES: dict[str, tuple[bytes, bytes]] = {
    "reasoning_content": (delta(reasoning_content="They "), delta(reasoning_content="feel", content=None)),
    "reasoning": (delta(reasoning="They "), delta(reasoning="feel", content="")),
    "both names": (delta(reasoning="They ", reasoning_content="They "), delta(reasoning_content="feel")),
    "reasoning_text": (delta(reasoning_text="They "), delta(reasoning_text="feel")),
    "reasoning_details": (
        delta(reasoning_details=[{"type": "reasoning.text", "text": "They "}]),
        delta(reasoning_details=[{"type": "reasoning.summary", "summary": "feel"}]),
    ),
    "parts of content": (
        delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "They "}]}]),
        delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "feel"}]}]),
    ),
}


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("provider", ["openai", "vllm"])
async def test_openai_s_protocol(models: Models, provider: str, name: str) -> None:
    wire = WIRES[provider]
    with wire.server(after(*PIECES[name])) as server:
        heard = await hear(models, spec_of(wire, server))
    assert (heard.said, heard.ever, heard.thought, heard.failure) == (REPLY, REPLY, "They feel", None)


async def test_a_reply_in_parts(models: Models) -> None:
    said = delta(content=[{"type": "text", "text": "That sounds "}, {"type": "text", "text": "hard. I am here."}])
    with OPENAI.server(after(*PIECES["parts of content"], reply=said)) as server:
        heard = await hear(models, spec_of(OPENAI, server))
    assert (heard.said, heard.thought) == (REPLY, "They feel")


async def test_a_model_that_is_known_to_think_streams_once_its_thinking_came_apart(models: Models) -> None:
    words = [OPENAI.piece("That "), servers.FOREVER]
    with OPENAI.server(OPENAI.script(OPENAI.opening(), delta(reasoning_content="They"), *words)) as server:
        async for item in models.stream(spec_of(OPENAI, server, model="deepseek-r1"), hear.__globals__["PROMPT"]):
            if type(item).__name__ == "Delta":
                break


async def test_anthropic(models: Models) -> None:
    wire = WIRES["anthropic"]
    block = _event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""})
    start = wire.opening().split(b"event: content_block_start")[0] + block
    thinking = [_delta(0, type="thinking_delta", thinking=text) for text in ("They ", "feel")]
    signature = _delta(0, type="signature_delta", signature="abc")
    text = _event("content_block_start", index=1, content_block={"type": "text", "text": ""})
    said = _delta(1, type="text_delta", text=REPLY)
    stop = _event("content_block_stop", index=0)
    with wire.server(wire.script(start, *thinking, signature, stop, text, said, wire.ending())) as server:
        heard = await hear(models, spec_of(wire, server, reasoning="low"))
    assert (heard.said, heard.ever, heard.thought, heard.failure) == (REPLY, REPLY, "They feel", None)


async def test_google(models: Models) -> None:
    wire = WIRES["google"]
    thinking = [_part({"text": text, "thought": True}) for text in ("They ", "feel")]
    with wire.server(wire.script(*thinking, wire.piece(REPLY), wire.ending())) as server:
        heard = await hear(models, spec_of(wire, server))
    assert (heard.said, heard.ever, heard.thought, heard.failure) == (REPLY, REPLY, "They feel", None)


@pytest.mark.parametrize("reasoning", [None, "low", "none"])
async def test_ollama_is_heard_whether_or_not_it_was_asked_to_think(models: Models, reasoning: str | None) -> None:
    wire = WIRES["ollama"]
    thinking = [
        _line(message={"role": "assistant", "content": "", "thinking": text}, done=False) for text in ("They ", "feel")
    ]
    with wire.server(wire.script(*thinking, wire.piece(REPLY), wire.ending())) as server:
        heard = await hear(models, spec_of(wire, server, reasoning=reasoning))
    assert (heard.said, heard.ever, heard.thought, heard.failure) == (REPLY, REPLY, "They feel", None)


async def test_thinking_apart_is_no_silence(hasty: Models) -> None:
    drip = [step for _ in range(5) for step in (delta(reasoning_content="hm "), 0.3)]
    with OPENAI.server(OPENAI.script(OPENAI.opening(), *drip, OPENAI.piece(REPLY), OPENAI.ending())) as server:
        heard = await hear(hasty, spec_of(OPENAI, server))
    assert (heard.said, heard.failure) == (REPLY, None)


async def test_only_thinking_apart_says_so(models: Models) -> None:
    script = OPENAI.script(OPENAI.opening(), delta(reasoning="They"), OPENAI.ending("length"))
    with OPENAI.server(script) as server:
        heard = await hear(models, spec_of(OPENAI, server))
    assert heard.failure is not None
    assert "put all that it wrote into thinking" in heard.failure.sentence
