"""Entries of models.toml that name a GGUF file, of the disk or of the Hub: each file has an engine of its own."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from heard.chat_app.models import engines
from heard.chat_app.models.client import Models, load_models
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.records import Delta, ModelFailure, ModelSpec
from heard.prompts.records import Prompt, PromptMessage
from tests.gguf_hub import FILE, REPOSITORY, gguf_hub

SHORT = Prompt((PromptMessage("system", "You are kind."), PromptMessage("user", "I feel low today.")), max_tokens=6)


@asynccontextmanager
async def opened(folder: Path, entries: str, engine: Engine | None = None) -> AsyncIterator[Models]:
    """A client for the entries, with a cache of its own."""
    (folder / "models.toml").write_text(entries, encoding="utf-8")
    specs = load_models(folder / "models.toml")
    limits = {"first_token_seconds": 120.0, "stall_seconds": 120.0}
    async with Models(specs, engine=engine, cache_dir=folder / "cache", **limits) as models:
        yield models


async def text_of(models: Models, spec: ModelSpec) -> str:
    return "".join([item.text async for item in models.stream(spec, SHORT) if isinstance(item, Delta)])


async def failure_of(models: Models, name: str) -> str:
    with pytest.raises(ModelFailure) as caught:
        await text_of(models, models.specs[name])
    return caught.value.sentence


async def test_a_file_on_the_disk_answers_and_two_entries_share_its_engine(tmp_path: Path, weights: Weights) -> None:
    os.symlink(weights.chat_model, tmp_path / "mine.gguf")
    entry = 'provider = "embedded", file = "mine.gguf", context_tokens = 1024, temperature = 0'
    async with opened(tmp_path, f"warm = {{ {entry} }}\ncool = {{ {entry}, seed = 1 }}") as models:
        specs = models.specs
        assert not models.counts_exactly(specs["warm"])
        assert models.count_tokens(specs["warm"], "a few words") > 0
        assert (await text_of(models, specs["warm"])).strip()
        assert models.counts_exactly(specs["warm"])
        assert models.count_tokens(specs["warm"], "<|im_end|>") > 3
        assert (await text_of(models, specs["cool"])).strip()
        (engine,) = models._engines._others.values()
        assert (engine.context_tokens, engine.started) == (1024, True)
        assert {"warm", "cool", "echo"} == set(models.offered)
    assert not engine.started


async def test_a_file_of_the_hub_is_fetched_at_its_first_call(
    tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = f'provider = "embedded", repo = "{REPOSITORY}", file = "{FILE}", context_tokens = 1024'
    with gguf_hub(weights.chat_model.read_bytes()) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        async with opened(tmp_path, f"theirs = {{ {entry} }}") as models:
            assert "theirs" in models.offered
            assert (await text_of(models, models.specs["theirs"])).strip()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    async with opened(tmp_path, f"theirs = {{ {entry} }}") as models:  # from the cache
        assert (await text_of(models, models.specs["theirs"])).strip()


async def test_what_cannot_be_loaded_is_a_sentence(
    tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF, or not")
    os.symlink(weights.chat_model, tmp_path / "mine.gguf")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    entries = "".join(
        f'{name} = {{ provider = "embedded", {place}, label = "Mine" }}\n'
        for name, place in {
            "gone": 'file = "gone.gguf"',
            "bad": 'file = "bad.gguf"',
            "large": 'file = "mine.gguf"',
            "far": f'repo = "{REPOSITORY}", file = "{FILE}"',
        }.items()
    )
    async with opened(tmp_path, entries) as models:
        assert "There is no file gone.gguf where models.toml says" in await failure_of(models, "gone")
        assert '"Mine" cannot be loaded. bad.gguf is cut short or damaged.' in await failure_of(models, "bad")
        assert "The Hugging Face Hub could not be reached" in await failure_of(models, "far")
        assert "Run `heard models get qwen3-4b-instruct`" in await failure_of(models, "qwen3-4b-instruct")
        monkeypatch.setattr(engines, "free_memory", lambda: 100_000_000)
        assert '"Mine" needs 0.' in await failure_of(models, "large")
        assert str(tmp_path) not in await failure_of(models, "gone")
        monkeypatch.undo()
        assert (await text_of(models, models.specs["large"])).strip(), "once there is memory it is loaded"


async def test_the_engine_of_the_start_is_used_for_its_own_file(tmp_path: Path, weights: Weights) -> None:
    own = Engine(weights.chat_model)
    try:
        async with opened(
            tmp_path, f'same = {{ provider = "embedded", file = "{weights.chat_model}" }}', own
        ) as models:
            assert (await text_of(models, models.specs["same"])).strip()
            assert own.started
            assert models._engines._others == {}
        assert own.started, "it is left to its owner"
    finally:
        own.close()
