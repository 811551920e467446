"""What each provider is sent, what it costs a start, and that a key does not show."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.models.client import Models, disable_content_logging
from heard.chat_app.models.connections import Connections
from heard.chat_app.models.provider import Call, Provider
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import ModelSpec, Usage
from tests.chat_app.models.asking import SECRET, ask, spec_of
from tests.wires import WIRES

ROOT = Path(__file__).parents[3]


async def sent(models: Models, provider: str, **changes: object) -> dict[str, Any]:
    """The body of a request to this provider."""
    wire = WIRES[provider]
    with wire.server() as server:
        assert (await ask(models, spec_of(wire, server, **changes)))[2] is None
    return server.requests[0]


async def test_anthropic_is_sent_its_own_names(models: Models) -> None:
    body = await sent(models, "anthropic", temperature=0.3, sampling={"top_p": 0.8, "top_k": 40})
    assert (body["model"], body["temperature"], body["top_p"], body["top_k"]) == ("scripted", 0.3, 0.8, 40)
    assert (body["max_tokens"], body["stream"]) == (40, True)


async def test_google_is_sent_its_own_names(models: Models) -> None:
    body = await sent(models, "google", temperature=0.3, seed=5, sampling={"top_p": 0.8})
    assert body["generationConfig"] == {
        "temperature": 0.3, "seed": 5, "topP": 0.8, "maxOutputTokens": 40, "candidateCount": 1,
    }  # fmt: skip


async def test_what_google_thinks_takes_no_room_from_the_reply(models: Models) -> None:
    config = (await sent(models, "google", sampling={"thinking_budget": 128}))["generationConfig"]
    assert (config["maxOutputTokens"], config["thinkingConfig"]) == (168, {"thinking_budget": 128})


async def test_one_google_model_after_another_keeps_to_its_own_values(models: Models) -> None:
    wire = WIRES["google"]
    with wire.server() as server:
        for heat in (0.1, 0.9):
            await ask(models, spec_of(wire, server, temperature=heat))
    assert [body["generationConfig"]["temperature"] for body in server.requests] == [0.1, 0.9]


async def test_ollama_is_sent_its_own_names_and_the_room_it_needs(models: Models) -> None:
    body = await sent(
        models, "ollama", temperature=0.3, seed=5, context_tokens=4096, sampling={"top_p": 0.8, "repeat_penalty": 1.1}
    )
    assert body["options"] == {
        "temperature": 0.3, "seed": 5, "num_ctx": 4096, "num_predict": 40, "top_p": 0.8, "repeat_penalty": 1.1,
    }  # fmt: skip


async def test_an_older_ollama_gives_no_reason_for_the_end(models: Models) -> None:
    wire = WIRES["ollama"]
    end = b'{"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": ""}, '
    with wire.server(wire.begun("Yes.", end + b'"done": true}\n')) as server:
        assert await ask(models, spec_of(wire, server)) == ("Yes.", Usage(None, None), None)


@pytest.mark.parametrize("provider", [one for one in PROVIDERS.values() if not one.module.startswith("heard.")])
def test_no_provider_s_library_logs_what_people_write(provider: Provider) -> None:
    assert provider.module.split(".")[0] in provider.loggers
    disable_content_logging()
    for name in provider.loggers:
        assert not logging.getLogger(f"{name}.client").isEnabledFor(logging.WARNING), name


@pytest.mark.parametrize("provider", WIRES)
async def test_a_key_is_in_no_representation(provider: str) -> None:
    spec = ModelSpec(id="m", provider=provider, model="m", label="M", base_url="http://127.0.0.1:9")
    connections = Connections()
    call = Call(spec=spec, key=SECRET, max_tokens=40, connections=connections, longest_gap=80)
    chat = PROVIDERS[provider].chat(call)
    for shown in (call, chat, connections):
        assert SECRET not in repr(shown)
    await connections.aclose()


def test_a_start_loads_only_the_clients_of_its_entries(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from heard.chat_app.models.client import Models\n"
        "from heard.chat_app.models.catalogue import load_models\n"
        "async def main():\n"
        "    async with Models(load_models(None), engine=None, first_token_seconds=1, stall_seconds=1): pass\n"
        "asyncio.run(main())\n"
        "clients = {'openai', 'anthropic', 'google.genai', 'ollama', 'httpx'}\n"
        "sys.exit(', '.join(sorted(clients & set(sys.modules))) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
