"""`heard chat`: what it says when it cannot start, and what its log may hold.

A taken port and a damaged model are told by a process of its own, the rest within this one.
"""

import logging
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from heard.chat_app.commands.chat import PortError, address_of, listen_on, named_models, tell_servers
from heard.chat_app.common.settings import load_settings
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.local_servers import LocalServer
from heard.chat_app.web.logs import CHATTY, WordlessFormatter, kind_and_place
from heard.db.engine import upgrade_sync
from tests.commands import Done, heard

COMMAND = (sys.executable, "-c", "from heard.chat_app.cli import main; main()", "chat")
WORDS = "words of a person"


def run(folder: Path, *arguments: str, **environment: str) -> Done:
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        timeout=60,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`heard chat` can run in this process: it may not come so far as to serve, and the log that it sets up is put
    back."""

    async def serve(*_: object, **__: object) -> None:
        raise AssertionError("it has started")

    monkeypatch.setattr(uvicorn.Server, "serve", serve)
    loggers = [logging.getLogger(name) for name in (None, *CHATTY)]
    before = [(logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    logging.captureWarnings(False)
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def assert_one_sentence(done: Done, *said: str) -> None:
    assert done.status == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for part in said:
        assert part in done.stderr


def test_a_taken_port_is_named_with_the_next_step(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run(tmp_path, "--port", str(port))
    assert_one_sentence(done, f"Port {port} on 127.0.0.1 is taken", "heard chat --port")
    assert list(tmp_path.iterdir()) == []  # nothing was made or fetched before the check


def test_an_unknown_setting_is_named_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("prot = 9000\n", encoding="utf-8")
    assert_one_sentence(heard("chat", folder=tmp_path), "settings.toml", '"prot"', "Did you mean port?")


def test_an_unknown_variable_is_named(tmp_path: Path) -> None:
    assert_one_sentence(heard("chat", folder=tmp_path, HEARD_PROT="9000"), "HEARD_PROT", "HEARD_PORT")


@pytest.mark.usefixtures("here")
def test_a_read_only_database_is_named_at_the_start(tmp_path: Path, weights: Weights) -> None:
    path = tmp_path / "heard.db"
    upgrade_sync(f"sqlite+aiosqlite:///{path}")
    read_only = f"sqlite+aiosqlite:///file:{path}?mode=ro&uri=true"
    done = heard("chat", "--port", free_port(), folder=tmp_path, HEARD_DATABASE_URL=read_only)
    assert_one_sentence(done, "read-only", "writable")


@pytest.mark.usefixtures("here")
def test_a_data_folder_that_cannot_be_used_is_named(tmp_path: Path, weights: Weights) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for folder in ("file", "file/below"):
        done = heard("chat", "--port", free_port(), folder=tmp_path, HEARD_DATA_DIR=folder)
        assert_one_sentence(done, "data folder file", "HEARD_DATA_DIR")


def test_a_damaged_database_is_named(tmp_path: Path, weights: Weights) -> None:
    (tmp_path / "heard.db").write_bytes(b"not a database " * 100)
    done = run(tmp_path, "--port", free_port(), HEARD_DATA_DIR=str(tmp_path))
    assert_one_sentence(done, "The database's file is damaged")
    assert (tmp_path / "heard.db").read_bytes().startswith(b"not a database")


def test_a_damaged_model_file_is_named(tmp_path: Path, weights: Weights) -> None:
    """With no index to fetch it from again."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / weights.chat_model.name).write_bytes(b"GGUF, or not")
    offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_NO_INDEX": "1", "PIP_RETRIES": "0"}
    done = run(tmp_path, "--port", free_port(), HEARD_CACHE_DIR=str(tmp_path / "cache"), **offline)
    assert (done.status, "Traceback" in done.stderr) == (2, False), done.stderr


def test_models_that_settings_name_are_fetched_before_anybody_talks(tmp_path: Path) -> None:
    arms = "listener/plain/smollm2, coach/plain/qwen-7b"
    settings = load_settings(tmp_path, default_model="echo", blind_arms=arms)
    assert named_models(settings) == ["echo", "smollm2", "qwen-7b"]
    assert named_models(load_settings(tmp_path)) == []


def test_a_server_on_this_machine_is_told_unless_it_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [LocalServer("Ollama", 11434, ("llama3.2:3b",)), LocalServer("vLLM", 8000, ())]
    models = tmp_path / "models.toml"
    models.write_text("", encoding="utf-8")
    tell_servers(found, load_settings(tmp_path, models_file=models))
    assert capsys.readouterr().err.startswith("Ollama runs on this machine with llama3.2:3b. `heard models find`")
    models.write_text(found[0].entry("llama3.2:3b"), encoding="utf-8")
    tell_servers(found, load_settings(tmp_path, models_file=models))
    assert capsys.readouterr().err == ""


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


@pytest.mark.parametrize("port", ["0", "65536", "x"])
def test_an_impossible_port_is_refused(tmp_path: Path, port: str) -> None:
    assert_one_sentence(heard("chat", "--port", port, folder=tmp_path), "--port")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "not a host", "203.0.113.7"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(PortError, match=r"--host 127\.0\.0\.1"):
        listen_on(host, 8000)


def test_a_free_port_is_held() -> None:
    with listen_on("127.0.0.1", 0) as listener:
        listener.listen()
        with pytest.raises(PortError, match="taken"):
            listen_on("127.0.0.1", listener.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("::", "http://[::1]:8000"),
        ("localhost", "http://localhost:8000"),
    ],
)
def test_the_address_can_be_opened_in_a_browser(host: str, shown: str) -> None:
    assert address_of(host, 8000) == shown


def line(name: str, message: str, error: BaseException | None = None) -> str:
    given = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord(name, logging.ERROR, "/x/sql_alchemy.py", 12, message, None, given)
    return WordlessFormatter().format(record)


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001 - to have a traceback
        return caught


@pytest.mark.parametrize("name", ["chainlit", "uvicorn.error", "sqlalchemy.engine", "root", "asyncio", "heardless"])
def test_foreign_log_lines_carry_no_words(name: str) -> None:
    text = line(name, f"Error creating user: {WORDS}", raised(ValueError(WORDS)))
    assert WORDS not in text
    assert "sql_alchemy:12" in text
    assert re.search(r"\[ValueError at \S*test_chat_command:\d+\]$", text)
    assert "\n" not in text


def test_our_log_lines_keep_their_message_and_lose_the_fault_s_text() -> None:
    text = line("heard.chat_app.web.server", "The model did not start", raised(ValueError(WORDS)))
    assert "The model did not start" in text
    assert WORDS not in text


def test_a_chain_of_causes_is_left_out_too() -> None:
    error = raised(RuntimeError("other"))
    error.__cause__ = raised(ValueError(WORDS))
    assert WORDS not in line("chainlit", "x", error)
    assert kind_and_place(type(error), error.__traceback__).startswith("RuntimeError at ")


def test_libraries_that_bring_their_own_handler_are_caught() -> None:
    """In a process of its own, since it changes logging for good."""
    program = (
        "import logging, socketio; from heard.chat_app.web.logs import set_up_logs; set_up_logs();"
        "server = socketio.AsyncServer(async_mode='asgi');"
        f"[logging.getLogger(name).error('{WORDS}') for name in ('engineio.server', 'socketio.server', 'chainlit')]"
    )
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, timeout=60, check=True)
    assert WORDS not in done.stderr + done.stdout
    assert len(done.stderr.splitlines()) == 3
