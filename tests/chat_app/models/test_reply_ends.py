"""Only known good ends of a reply are good, over real servers."""

import json
from typing import Any

import pytest

from heard.chat_app.models.client import Models
from heard.chat_app.models.records import FailureKind, Usage
from tests import servers
from tests.chat_app.models.asking import ask, spec_of
from tests.chat_app.models.test_reasoning_blocks import delta
from tests.servers import Script
from tests.wires import WIRES

OPENAI, GOOGLE, ANTHROPIC, OLLAMA = (WIRES[name] for name in ("openai", "google", "anthropic", "ollama"))


def ending(reason: Any, text: str = "That sounds") -> Script:
    """A reply whose server says that it ended for this reason."""
    pieces = [OPENAI.piece(text)] if text else []
    return OPENAI.script(
        OPENAI.opening(), *pieces, servers.chunk(finish=reason), servers.chunk(usage=(7, 3)), servers.DONE
    )


@pytest.mark.parametrize(
    "reason", ["stop", "STOP", "end_turn", "eos", "eos_token", "EOS_TOKEN", "stop_sequence", "COMPLETE", "completed"]
)
async def test_a_good_end(models: Models, reason: str) -> None:
    with OPENAI.server(ending(reason)) as server:
        assert await ask(models, spec_of(OPENAI, server)) == ("That sounds", Usage(7, 3), None)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"])
async def test_the_end_at_the_bound(models: Models, reason: str) -> None:
    with OPENAI.server(ending(reason)) as server:
        assert await ask(models, spec_of(OPENAI, server)) == ("That sounds", Usage(7, 3, cut=True), None)


BAD = {
    "abort": "gave the reply up before its end", "cancelled": "gave the reply up", "error": "a fault of its own",
    "insufficient_system_resource": "a fault of its own", "model_length": "context window",
    "content_filter": "A safety filter of the provider", "SAFETY": "A safety filter", "RECITATION": "A safety filter",
    "refusal": "refused to answer", "tool_calls": "called a tool", "function_call": "called a tool",
    "eloquence": 'does not know ("eloquence")', "zebra marmalade 4711!": "does not know, so",
}  # fmt: skip


@pytest.mark.parametrize("reason", BAD)
@pytest.mark.parametrize("text", ["That sounds", ""])
async def test_every_other_end_is_broken_off_and_said(models: Models, reason: str, text: str) -> None:
    with OPENAI.server(ending(reason, text)) as server:
        said, usage, failure = await ask(models, spec_of(OPENAI, server))
    assert failure is not None
    assert (said, usage, len(server.requests)) == (text, None, 1)
    assert failure.kind is (FailureKind.CUT if text else FailureKind.EMPTY)
    assert BAD[reason] in failure.sentence
    assert "marmalade" not in failure.sentence


async def test_no_reason_yet_is_none(models: Models) -> None:
    part = json.loads(servers.chunk("That ").removeprefix(b"data: "))
    part["choices"][0]["finish_reason"] = ""
    script = OPENAI.script(OPENAI.opening(), servers.event(part), OPENAI.piece("sounds"), OPENAI.ending())
    with OPENAI.server(script) as server:
        assert await ask(models, spec_of(OPENAI, server)) == ("That sounds", Usage(7, 3), None)


async def test_text_that_comes_with_a_bad_end_is_kept(models: Models) -> None:
    part = json.loads(servers.chunk("That sounds").removeprefix(b"data: "))
    part["choices"][0]["finish_reason"] = "content_filter"
    with OPENAI.server(OPENAI.script(OPENAI.opening(), servers.event(part), servers.DONE)) as server:
        said, _, failure = await ask(models, spec_of(OPENAI, server))
    assert failure is not None
    assert (said, failure.kind) == ("That sounds", FailureKind.CUT)


async def test_a_refusal_in_a_field_of_its_own(models: Models) -> None:
    script = OPENAI.script(OPENAI.opening(), delta(refusal="I can't help with that."), OPENAI.ending())
    with OPENAI.server(script) as server:
        said, _, failure = await ask(models, spec_of(OPENAI, server))
    assert failure is not None
    assert said == ""
    assert "refused to answer" in failure.sentence


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "OTHER"])
async def test_google_s_ends(models: Models, reason: str) -> None:
    candidate = {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": reason, "index": 0}
    end = f"data: {json.dumps({'candidates': [candidate], 'modelVersion': 'scripted'})}\r\n\r\n".encode()
    with GOOGLE.server(GOOGLE.begun("That sounds", end)) as server:
        said, _, failure = await ask(models, spec_of(GOOGLE, server))
    assert failure is not None
    assert (said, failure.kind) == ("That sounds", FailureKind.CUT)
    assert ("A safety filter" in failure.sentence) == (reason != "OTHER")


async def test_a_prompt_that_google_has_blocked(models: Models) -> None:
    values = {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "scripted"}
    with GOOGLE.server(GOOGLE.script(f"data: {json.dumps(values)}\r\n\r\n".encode())) as server:
        _, _, failure = await ask(models, spec_of(GOOGLE, server))
    assert failure is not None
    assert "A safety filter" in failure.sentence


@pytest.mark.parametrize("reason", ["refusal", "pause_turn", "tool_use"])
async def test_anthropic_s_ends(models: Models, reason: str) -> None:
    end = ANTHROPIC.ending().replace(b'"end_turn"', f'"{reason}"'.encode())
    with ANTHROPIC.server(ANTHROPIC.begun("That sounds", end)) as server:
        said, _, failure = await ask(models, spec_of(ANTHROPIC, server))
    assert failure is not None
    assert (said, failure.kind) == ("That sounds", FailureKind.CUT)
    words = {"refusal": "refused to answer", "pause_turn": "does not know", "tool_use": "called a tool"}
    assert words[reason] in failure.sentence


async def test_ollama_s_ends(models: Models) -> None:
    end = OLLAMA.ending().replace(b'"done_reason": "stop"', b'"done_reason": "unload"')
    with OLLAMA.server(OLLAMA.begun("That sounds", end)) as server:
        said, _, failure = await ask(models, spec_of(OLLAMA, server))
    assert failure is not None
    assert (said, failure.kind) == ("That sounds", FailureKind.CUT)
