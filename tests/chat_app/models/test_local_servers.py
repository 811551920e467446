"""Servers of models on this machine are found by their ports, and what they say is bounded and checked."""

import json
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from heard.chat_app.models.catalogue import load_models
from heard.chat_app.models.local_servers import LocalServer, Port, find_servers

TAGS = {"models": [{"name": "llama3.2:3b", "size": 1}, {"name": "qwen2.5:7b"}]}
LISTED = {"object": "list", "data": [{"id": "qwen2.5-7b-instruct"}]}


@contextmanager
def answering(body: bytes, *, status: int = 200, wait: float = 0.0) -> Iterator[tuple[int, list[str]]]:
    """A server that gives `body` to everything; its port, and the paths that it was asked for."""
    paths: list[str] = []
    release = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            release.wait(wait)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield listener.server_port, paths
    finally:
        release.set()
        listener.shutdown()
        listener.server_close()


async def test_both_protocols_are_understood() -> None:
    with answering(json.dumps(TAGS).encode()) as (ollama, asked), answering(json.dumps(LISTED).encode()) as (other, _):
        found = await find_servers((Port("Ollama", ollama, "/api/tags"), Port("llama.cpp", other), Port("vLLM", 1)), 10)
    assert found == [
        LocalServer("Ollama", ollama, ("llama3.2:3b", "qwen2.5:7b")),
        LocalServer("llama.cpp", other, ("qwen2.5-7b-instruct",)),
    ]
    assert asked == ["/api/tags"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>some other server</html>", 200),
        (b"[1, 2]", 200),
        (b'{"data": "none"}', 200),
        (json.dumps(LISTED).encode(), 404),
        (b'{"data": [' + b" " * 1_100_000 + b"]}", 200),
        (b"[" * 100_000, 200),
    ],
)
async def test_anything_else_on_the_port_is_no_server_of_models(body: bytes, status: int) -> None:
    with answering(body, status=status) as (port, _):
        assert await find_servers((Port("vLLM", port),), 10) == []


async def test_a_server_that_says_nothing_holds_nothing_up() -> None:
    with answering(json.dumps(LISTED).encode(), wait=30) as (port, asked):
        assert await find_servers((Port("vLLM", port),)) == []
        assert asked == ["/v1/models"]


async def test_names_that_could_break_a_line_are_left_out() -> None:
    names = ['a"; b', "x\n[evil]", "\x1b[2J", "good/name:1b", "", 7]
    with answering(json.dumps({"data": [{"id": name} for name in names]}).encode()) as (port, _):
        (server,) = await find_servers((Port("vLLM", port),), 10)
    assert server.models == ("good/name:1b",)


@pytest.mark.parametrize("model", ["llama3.2:3b", "team/Model-7B@main", "m" * 120, "::"])
def test_the_line_is_an_entry_of_models_toml(tmp_path: Path, model: str) -> None:
    line = LocalServer("Ollama", 11434, (model,)).entry(model)
    assert len(tomllib.loads(line)) == 1
    path = tmp_path / "models.toml"
    path.write_text(line + "\n", encoding="utf-8")
    spec = list(load_models(path).values())[-1]
    assert (spec.provider, spec.model, spec.base_url) == ("openai", model, "http://127.0.0.1:11434/v1")
    assert spec.label.endswith("(Ollama)")
