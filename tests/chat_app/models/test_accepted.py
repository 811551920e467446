"""What models of today are sent: nothing that is neither set nor known to be accepted."""

from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.models.client import Models
from tests.chat_app.models.asking import SECRET, ask, spec_of
from tests.chat_app.models.entries import entry, refusal
from tests.wires import WIRES

KEY = 'key_env = "K"'


async def sent(folder: Path, models: Models, provider: str, text: str = "", model: str = "scripted") -> dict[str, Any]:
    """The body of a request by such an entry."""
    wire = WIRES[provider]
    script = wire.reply("Yes.")
    with wire.server(script) as server:
        server._path = "" if provider == "google" else server._path
        spec = entry(folder, f'provider = "{provider}"\nmodel = "{model}"\nbase_url = "{server.base_url}"\n{text}')
        assert (await ask(models, spec))[2] is None
    return server.requests[0]


@pytest.mark.parametrize(
    ("text", "temperature"),
    [
        ('provider = "openai"\nmodel = "gpt-4o"', 0.7), ('provider = "openai"\nmodel = "gpt-4.1-mini"', 0.7),
        ('provider = "openai"\nmodel = "gpt-5"', None), ('provider = "openai"\nmodel = "o3-mini"', None),
        ('provider = "openai"\nmodel = "gpt-5"\ntemperature = 1', 1.0), ('provider = "openai"\nmodel = "new"', None),
        ('provider = "openai"\nmodel = "q"\nbase_url = "http://127.0.0.1:1/v1"', 0.7),
        ('provider = "openai"\nmodel = "q"\nbase_url = "http://gpu.local:1/v1"', 0.7),
        ('provider = "openai"\nmodel = "q"\nbase_url = "https://api.example.com/v1"', None),
        ('provider = "openai"\nmodel = "openai/gpt-5"\nbase_url = "http://127.0.0.1:1/v1"', None),
        ('provider = "openai"\nmodel = "openai/gpt-4o"\nbase_url = "https://api.example.com/v1"', 0.7),
        ('provider = "vllm"\nmodel = "q"\nbase_url = "https://x.example.com/v1"', 0.7),
        (f'provider = "anthropic"\nmodel = "claude-3-7-sonnet-20250219"\n{KEY}', 0.7),
        (f'provider = "anthropic"\nmodel = "claude-sonnet-4-5-20250929"\n{KEY}', 0.7),
        (f'provider = "anthropic"\nmodel = "claude-opus-4-7"\n{KEY}', None),
        (f'provider = "anthropic"\nmodel = "claude-sonnet-5"\n{KEY}', None),
        (f'provider = "anthropic"\nmodel = "claude-sonnet-4-5"\nreasoning = "low"\n{KEY}', None),
        (f'provider = "google"\nmodel = "gemini-2.5-flash"\n{KEY}', 0.7),
        ('provider = "ollama"\nmodel = "llama3.2:3b"', 0.7), ('provider = "echo"', 0.7),
    ],
)  # fmt: skip
def test_a_temperature_that_is_not_set(tmp_path: Path, text: str, temperature: float | None) -> None:
    assert entry(tmp_path, text).temperature == temperature


async def test_a_model_that_may_refuse_it_is_sent_no_temperature(tmp_path: Path, models: Models) -> None:
    for provider, model in (("openai", "gpt-5"), ("vllm", "o3"), ("anthropic", "claude-next")):
        body = await sent(tmp_path, models, provider, model=model)
        assert not {"temperature", "top_p", "top_k", "stop", "stop_sequences", "seed", "reasoning_effort"} & set(body)


async def test_the_bound_by_its_name(tmp_path: Path, models: Models) -> None:
    room = 'reasoning = "none"'
    assert (await sent(tmp_path, models, "openai", model="m"))["max_tokens"] == 40
    body = await sent(tmp_path, models, "openai", room, model="openai/gpt-5-mini")
    assert (body.get("max_tokens"), body["max_completion_tokens"]) == (None, 40)
    for text, kept in (
        ('length_name = "max_completion_tokens"', {"max_completion_tokens": 40}), ('length_name = "none"', {}),
        ("extra_body = { max_tokens = 9 }", {"max_tokens": 9}),
    ):  # fmt: skip
        body = await sent(tmp_path, models, "openai", text)
        assert {name: value for name, value in body.items() if name.startswith("max_")} == kept


@pytest.mark.parametrize(
    ("provider", "model", "text", "room"),
    [
        ("openai", "gpt-5", "", 4096), ("openai", "gpt-5", 'reasoning = "low"', 1024),
        ("openai", "gpt-5", 'reasoning = "none"', 0), ("openai", "gpt-5", "thinking_tokens = 77", 77),
        ("openai", "gpt-4o", "", 0), ("vllm", "Qwen/Qwen3-8B", "", 4096), ("ollama", "deepseek-r1:8b", "", 4096),
        ("vllm", "Qwen/Qwen3-8B", "context_tokens = 4096", 2048), ("vllm", "m", 'reasoning = "high"', 4096),
        ("vllm", "m", 'reasoning = "high"\ncontext_tokens = 40000', 16_384), ("ollama", "llama3.2", "", 0),
    ],
)  # fmt: skip
async def test_room_for_thinking(
    tmp_path: Path, models: Models, provider: str, model: str, text: str, room: int
) -> None:
    body = await sent(tmp_path, models, provider, text, model)
    bound = body.get("max_completion_tokens") or body.get("max_tokens") or body["options"]["num_predict"]
    assert bound == 40 + room


def test_room_for_thinking_is_a_part_of_a_context_that_is_given(tmp_path: Path) -> None:
    one = entry(tmp_path, 'provider = "ollama"\nmodel = "m"\ncontext_tokens = 9000\nthinking_tokens = 1000')
    assert (one.context_tokens, one.thinking_tokens) == (8000, 1000)
    other = entry(tmp_path, 'provider = "ollama"\nmodel = "m"\nthinking_tokens = 1000')
    assert (other.context_tokens, other.thinking_tokens) == (8192, 1000)


REASONING: list[tuple[str, str, str, dict[str, Any]]] = [
    ("openai", "gpt-5", "low", {"reasoning_effort": "low"}),
    ("openai", "gpt-5.1", "none", {"reasoning_effort": "none"}),
    ("vllm", "q", "none", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
    ("vllm", "q", "high", {
        "reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": True, "thinking": True},
    }),
    ("anthropic", "claude-sonnet-4-0", "medium", {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
    ("anthropic", "claude-next", "low", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
    ("anthropic", "claude-next", "none", {"thinking": {"type": "disabled"}}),
    ("ollama", "qwen3", "low", {"think": True}), ("ollama", "gpt-oss:20b", "high", {"think": "high"}),
    ("ollama", "qwen3", "none", {"think": False}),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "model", "word", "fields"), REASONING)
@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
async def test_how_much_to_think(
    tmp_path: Path, models: Models, provider: str, model: str, word: str, fields: dict[str, Any]
) -> None:
    body = await sent(tmp_path, models, provider, f'reasoning = "{word}"', model)
    assert {name: body.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("model", "word", "config"),
    [
        ("gemini-2.5-flash", "low", {"thinking_budget": 1024, "include_thoughts": True}),
        ("gemini-2.5-flash", "none", {"thinking_budget": 0, "include_thoughts": False}),
        ("gemini-3-pro", "high", {"thinking_level": "HIGH", "include_thoughts": True}),
    ],
)
async def test_how_much_google_should_think(
    tmp_path: Path, models: Models, model: str, word: str, config: dict[str, Any]
) -> None:
    body = await sent(tmp_path, models, "google", f'reasoning = "{word}"', model)
    found = body["generationConfig"]["thinkingConfig"]
    assert {name: str(value).upper() for name, value in found.items()} == {
        name: str(value).upper() for name, value in config.items()
    }


async def test_google_without_a_word_is_told_nothing_of_thinking(tmp_path: Path, models: Models) -> None:
    assert "thinkingConfig" not in (await sent(tmp_path, models, "google"))["generationConfig"]


async def test_the_system_text_of_a_model_without_that_role(tmp_path: Path, models: Models) -> None:
    talk = ("user", f"Be kind.\n\nI feel low, {SECRET}.")
    for provider, text, model in (
        ("openai", 'system_role = "user"', "m"), ("openai", "", "o1-mini"), ("vllm", "", "google/gemma-2-9b-it"),
        ("anthropic", 'system_role = "user"', "m"), ("ollama", 'system_role = "user"', "m"),
    ):  # fmt: skip
        assert WIRES[provider].said(await sent(tmp_path, models, provider, text, model)) == [talk]
    for model in ("o3", "gpt-5", "google/gemma-3-4b-it"):
        body = await sent(tmp_path, models, "openai", model=model)
        assert body["messages"][0]["role"] in ("system", "developer")


@pytest.mark.parametrize("provider", ["openai", "vllm", "anthropic"])
async def test_extras_of_a_request(
    tmp_path: Path, models: Models, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_KEY", "the-right-key")
    wire = WIRES[provider]
    with wire.server(wire.reply("Yes.")) as server:
        spec = entry(
            tmp_path,
            f'provider = "{provider}"\nmodel = "m"\nbase_url = "{server.base_url}"\n'
            'extra_body = { top_a = 0.2, provider = { order = ["x"] } }\n'
            'headers = { api-key = "env:AZURE_KEY", x-team = "us" }\ndefault_query = { api-version = "2024-10-21" }',
        )
        assert (await ask(models, spec))[2] is None
        monkeypatch.delenv("AZURE_KEY")
        _, _, failure = await ask(models, spec)
    assert (server.requests[0]["top_a"], server.requests[0]["provider"]) == (0.2, {"order": ["x"]})
    assert (server.headers[0]["api-key"], server.headers[0]["x-team"]) == ("the-right-key", "us")
    assert server.queries == ["api-version=2024-10-21"]
    assert failure is not None
    assert "environment variable AZURE_KEY" in failure.sentence


async def test_headers_of_ollama(tmp_path: Path, models: Models) -> None:
    wire = WIRES["ollama"]
    with wire.server() as server:
        assert (await ask(models, spec_of(wire, server, headers={"x-team": "us"})))[2] is None
    assert server.headers[0]["x-team"] == "us"


GOOD = 'provider = "openai"\nmodel = "m"'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'{GOOD}\nreasoning = "hard"', "reasoning must be none, low, medium or high"),
        (f"{GOOD}\nreasoning = true", "reasoning must be none, low, medium or high"),
        (f"{GOOD}\nthinking_tokens = -1", "thinking_tokens must be a whole number"),
        (f"{GOOD}\ncontext_tokens = 1000\nthinking_tokens = 900", "thinking_tokens leave no room for the talk"),
        (f"{GOOD}\nextra_body = 7", "extra_body must be a table"),
        (f"{GOOD}\nheaders = {{ a = 7 }}", "headers must be a table of texts"),
        (f'{GOOD}\nheaders = {{ api-key = "7f00" }}', "api-key holds what looks like a key"),
        (f'{GOOD}\nheaders = {{ a = "sk-abcdefghijklmnopqrstuv" }}', "a holds what looks like a key"),
        (f'{GOOD}\nheaders = {{ api-key = "env:MY KEY" }}', "comes the name of an environment variable"),
        (f"{GOOD}\ndefault_query = 1", "default_query must be a table"),
        (f'{GOOD}\nlength_name = "tokens"', "length_name must be max_tokens"),
        (f'{GOOD}\nsystem_role = "none"', "system_role must be system or user"),
        (f"{GOOD}\ninput_price = -1", "input_price must be a number of 0 or more"),
        (f'{GOOD}\noutput_price = "1"', "output_price must be a number of 0 or more"),
        (f'{GOOD}\nclass = "a.B"', "class has no meaning for provider openai"),
        (f"{GOOD}\nthinking_token = 1", "Did you mean thinking_tokens?"),
        ('provider = "ollama"\nmodel = "m"\nextra_body = { a = 1 }', "extra_body has no meaning for provider ollama"),
        ('provider = "ollama"\nmodel = "m"\nlength_name = "none"', "length_name has no meaning for provider ollama"),
        ('provider = "echo"\nreasoning = "low"', "reasoning has no meaning for provider echo"),
        ('provider = "embedded"\nsystem_role = "user"', "system_role has no meaning for provider embedded"),
    ],
)  # fmt: skip
def test_a_bad_key_is_refused_with_the_next_step(tmp_path: Path, text: str, words: str) -> None:
    said = refusal(tmp_path, text)
    assert words in said
    assert "7f00" not in said
    assert "abcdefghij" not in said
