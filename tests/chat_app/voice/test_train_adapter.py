"""A real adapter: learnt on real weights in a step or two, written, and read by the engine."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heard.chat_app.cli import app
from heard.chat_app.models.adapter_files import WEIGHTS, check_adapter
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.embedded_models import SMOLLM2
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.records import Delta
from heard.prompts.library import PromptLibrary

pytest.importorskip("peft")

LISTENER = PromptLibrary.load().personas["listener"].system
MESSAGES = [{"role": "system", "content": LISTENER}, {"role": "user", "content": "my thing7 is gone"}]


def talks(folder: Path, number: int) -> Path:
    path = folder / "talks.jsonl"
    rows = [
        {"turns": [{"said": f"my {thing} is gone", "reply": f"Oh no, your {thing}! Where did you see it last?"}]}
        for thing in (f"thing{place}" for place in range(number))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


async def reply_of(engine: Engine) -> str:
    stream = engine.stream(MESSAGES, max_tokens=12, temperature=0)
    return "".join([item.text async for item in stream if isinstance(item, Delta)])


@pytest.mark.slow
async def test_an_adapter_is_trained_written_and_read_by_the_engine(tmp_path: Path, weights: Weights) -> None:
    out = tmp_path / "mine"
    command = ["train-voice", "--model", "smollm2", "--out", str(out), "--talks", str(talks(tmp_path, 60))]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "Loss of a reply's token on 8 talks kept apart" in result.output
    assert sorted(path.name for path in out.iterdir()) == ["adapter.gguf", "adapter.toml"]
    assert check_adapter(out / WEIGHTS).model_sha256 == SMOLLM2.sha256
    before, after = map(float, re.findall(r"([0-9.]+) before, ([0-9.]+) after", result.output)[0])
    assert after < before
    engine = Engine(weights.chat_model, adapter=out / WEIGHTS)
    try:
        assert (await reply_of(engine)).strip()
    finally:
        engine.close()
    again = CliRunner().invoke(app, command)
    assert "--force" in str(again.exception)


def test_what_keeps_a_training_from_beginning_is_a_sentence(
    tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARD_CACHE_DIR", str(tmp_path / "empty"))
    result = CliRunner().invoke(app, ["train-voice", "--out", str(tmp_path / "out")])
    assert "Run `heard models get qwen2.5-coder-1.5b-instruct`" in str(result.exception)
    assert not (tmp_path / "out").exists()
