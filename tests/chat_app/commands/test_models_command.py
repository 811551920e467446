"""`heard models`, as a person runs it; what streams, in a process of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from heard.chat_app.commands.models import QUESTION, SYSTEM
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.embedded_models import CATALOGUE, SMOLLM2
from heard.chat_app.models.providers import PROVIDERS
from tests import servers
from tests.commands import Done, heard
from tests.servers import ScriptedServer
from tests.wires import WIRES, Wire

ROOT = Path(__file__).parents[3]
MAIN = "from heard.chat_app.cli import main; main()"


def process(folder: Path, code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """`heard models ...` as a process of its own, by a program that ends in MAIN."""
    return subprocess.run(
        [sys.executable, "-c", code, "models", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def models(folder: Path, *arguments: str, **environment: str) -> Done:
    """Run `heard models ...` in `folder`."""
    return heard("models", *arguments, folder=folder, **environment)


def test_list_shows_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text('qwen = { provider = "openai", model = "q", key_env = "QWEN_KEY" }')
    done = models(tmp_path, "list", HEARD_CACHE_DIR=str(tmp_path / "cache"))
    assert done.status == 0, done.stderr
    *embedded, echo, qwen = done.stdout.splitlines()
    assert [line.split()[0] for line in embedded] == list(CATALOGUE)
    assert all(f"needs `heard models get {name}`" in line for name, line in zip(CATALOGUE, embedded, strict=True))
    smollm2 = embedded[-1]
    assert "98 MB, Apache-2.0, wants" in smollm2
    assert [line for line in embedded if "(default)" in line] == [smollm2]
    assert "ready" in echo
    assert "needs its key in QWEN_KEY" in qwen
    done = models(tmp_path, "list", HEARD_CACHE_DIR=str(tmp_path / "cache"), QWEN_KEY="k")
    assert "ready" in done.stdout.splitlines()[-1]
    (tmp_path / "models.toml").write_text(
        'q = { provider = "openai", model = "q", headers = { api-key = "env:AZ_KEY" } }'
    )
    assert "needs a value in AZ_KEY" in models(tmp_path, "list").stdout.splitlines()[-1]


@pytest.mark.parametrize("provider", ["anthropic", "google", "ollama", "transformers"])
def test_a_missing_extra_is_one_line(tmp_path: Path, provider: str) -> None:
    """In a process whose import system finds no such library."""
    address = 'base_url = "http://127.0.0.1:9", ' if PROVIDERS[provider].served else ""
    (tmp_path / "models.toml").write_text(f'mine = {{ provider = "{provider}", model = "m", {address}label = "Mine" }}')
    code = (
        "import sys, importlib.machinery as m; find = m.PathFinder.find_spec\n"
        f"hidden = {PROVIDERS[provider].module!r}\n"
        "m.PathFinder.find_spec = classmethod(lambda c, n, *a: None if n == hidden else find(n, *a))\n"
        f"{MAIN}"
    )
    for arguments, status in (("list",), 0), (("try", "mine", "Hi"), 2):
        done = process(tmp_path, code, *arguments)
        assert done.returncode == status, done.stderr
        assert f'pip install "heard[{PROVIDERS[provider].extra}]"' in (done.stderr or done.stdout)
        assert (done.stderr or "\n").count("\n") == 1


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_try_asks_a_model_of_every_provider(tmp_path: Path, wire: Wire) -> None:
    with wire.server() as server:
        (tmp_path / "models.toml").write_text(
            f'mine = {{ provider = "{wire.provider}", model = "scripted", base_url = "{server.base_url}" }}'
        )
        assert re.search(rf"^mine +{wire.provider} +ready", models(tmp_path, "list").stdout, re.MULTILINE)
        done = models(tmp_path, "try", "mine", "Hi")
    assert (done.status, done.stdout) == (0, "That sounds hard.\n")
    assert "7 tokens read, 3 written." in done.stderr
    assert wire.said(server.requests[0]) == [("system", SYSTEM), ("user", "Hi")]


@pytest.mark.parametrize("arguments", [("list",), ("try", "echo", "Hi")])
def test_a_bad_file_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "models.toml").write_text('qwen = { provider = "openai", modle = "q" }')
    assert 'unknown key "modle". Did you mean model?' in models(tmp_path, *arguments).sentence


def test_try_streams_to_standard_output(tmp_path: Path) -> None:
    done = process(tmp_path, MAIN, "try", "echo", "the sea")
    assert done.stdout == "I hear you say: the sea\n"
    assert "First token after" in done.stderr


def test_try_has_a_question_of_its_own(tmp_path: Path) -> None:
    done = models(tmp_path, "try", "echo")
    assert (done.status, done.stdout) == (0, f"I hear you say: {QUESTION}\n")
    assert QUESTION in models(tmp_path, "try", "--help").stdout


def test_get_and_check_name_what_is_wrong(tmp_path: Path, weights: Weights) -> None:
    cache = {"HEARD_CACHE_DIR": str(tmp_path / "cache")}
    assert 'No embedded model "smolm2". Did you mean smollm2?' in models(tmp_path, "get", "smolm2", **cache).sentence
    assert models(tmp_path, "check", **cache) == Done(0, "", "")
    path = SMOLLM2.path_in(tmp_path / "cache")
    path.parent.mkdir(parents=True)
    shutil.copy(weights.chat_model, path)
    assert models(tmp_path, "check", **cache).stdout == "smollm2  its sha256 is right\n"
    assert models(tmp_path, "get", "smollm2", **cache) == Done(0, f"SmolLM2-135M-Instruct: {path}\n", "")
    with path.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"X")
    done = models(tmp_path, "check", **cache)
    assert (done.status, done.stdout) == (2, "smollm2  is damaged: run `heard models get smollm2`\n")


def test_get_without_any_source_is_one_sentence_and_keeps_nothing(tmp_path: Path) -> None:
    away = {"HF_ENDPOINT": "http://127.0.0.1:1", "HEARD_CACHE_DIR": str(tmp_path / "cache")}
    said = models(tmp_path, "get", "llama-3.2-3b-instruct", **away).sentence
    assert "The Hugging Face Hub could not be reached for the model Llama-3.2-3B-Instruct." in said
    assert [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()] == [".lock"]


def test_an_unknown_embedded_model_is_one_sentence(tmp_path: Path) -> None:
    assert "Did you mean smollm2?" in models(tmp_path, "fetch", HEARD_EMBEDDED="smolm2").sentence


def test_try_with_a_wrong_name_or_no_text(tmp_path: Path) -> None:
    assert 'No model "smolm2". Did you mean smollm2?' in models(tmp_path, "try", "smolm2", "Hi").sentence
    assert "The text is empty" in models(tmp_path, "try", "echo", " ").sentence


def test_try_tells_a_servers_fault_in_one_sentence(tmp_path: Path) -> None:
    with ScriptedServer(servers.refusal(401, "zebra")) as server:
        entry = f'provider = "openai", model = "m", base_url = "{server.base_url}", key_env = "MY_KEY"'
        (tmp_path / "models.toml").write_text(f"mine = {{ {entry} }}")
        said = models(tmp_path, "try", "mine", "Hi", MY_KEY="sk-secret").sentence
        assert "refused the key. Check the key in the environment variable MY_KEY" in said
        assert "zebra" not in said
        assert "sk-secret" not in said


def test_try_tells_the_servers_own_reason_and_guesses_at_none(tmp_path: Path) -> None:
    with ScriptedServer(
        servers.refusal(400, "Unsupported value: temperature, for 'Marmalade' of sk-abcdefgh1234")
    ) as server:
        (tmp_path / "models.toml").write_text(
            f'm = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}'
        )
        done = models(tmp_path, "try", "m", "I like marmalade")
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "The server says: Unsupported value: temperature, for '…' of …"
    assert "too long" not in done.stderr


def test_try_says_that_a_model_thinks_and_what_a_study_would_cost(tmp_path: Path) -> None:
    prices = "input_price = 2, output_price = 1000"
    with ScriptedServer(servers.reply("<think>Marmalade</think>That sounds hard.")) as server:
        (tmp_path / "models.toml").write_text(
            f'm = {{ provider = "openai", model = "m", base_url = "{server.base_url}", {prices} }}\n'
            f'free = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}'
        )
        done, free = models(tmp_path, "try", "m", "--answers", "2000"), models(tmp_path, "try", "free")
    assert done.stdout == "That sounds hard.\n"
    thinking, figures, cost = done.stderr.splitlines()
    assert thinking == "Thinking ..."
    assert "7 tokens read, 3 written." in figures
    assert cost.startswith("A study of 2,000 answers like this one would cost 6.03, ")
    assert "study" not in free.stderr


def test_try_cannot_tell_the_cost_without_counts(tmp_path: Path) -> None:
    with ScriptedServer(servers.reply(usage=False)) as server:
        (tmp_path / "models.toml").write_text(
            f'm = {{ provider = "openai", model = "m", base_url = "{server.base_url}", input_price = 1 }}'
        )
        assert "the server does not count tokens" in models(tmp_path, "try", "m").stderr


def test_try_times_no_imports(tmp_path: Path) -> None:
    """In a process of its own, where nothing is imported yet."""
    with ScriptedServer() as server:
        (tmp_path / "models.toml").write_text(
            f'm = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}'
        )
        done = process(tmp_path, MAIN, "try", "m")
    found = re.search(r"First token after ([0-9.]+) s", done.stderr)
    assert found is not None, done.stderr
    assert float(found.group(1)) < 0.8


def test_try_with_a_model_that_was_not_known_to_think_says_so(tmp_path: Path) -> None:
    with ScriptedServer(servers.reply("They feel low.</think>That sounds hard.")) as server:
        (tmp_path / "models.toml").write_text(
            f'm = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}'
        )
        done = models(tmp_path, "try", "m")
    assert done.stdout.endswith("That sounds hard.\n")
    assert "What stands above was thinking" in done.stderr
