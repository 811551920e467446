"""A small server on loopback that speaks the Hugging Face Hub's protocol, with one repository."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True, slots=True)
class HubServer:
    """Where it is, and what it was asked."""

    endpoint: str
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    """The authorization of each request."""


@contextmanager
def hub_serving(repository: str, published: Path, token: str | None = None) -> Iterator[HubServer]:
    """Serve the files of a folder as `repository`; with `token`, as a gated one that this token opens."""
    names = [path.name for path in published.iterdir()]

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            server.paths.append(path)
            server.keys.append(self.headers.get("authorization"))
            if token is not None and server.keys[-1] != f"Bearer {token}":
                self.refuse(401, "GatedRepo")
            elif path.startswith(f"/api/models/{repository}/tree/"):
                self.answer(json.dumps([self.entry(name) for name in names]).encode())
            elif path in (f"/api/models/{repository}", f"/api/models/{repository}/revision/main"):
                siblings = [{"rfilename": name} for name in names]
                self.answer(json.dumps({"id": repository, "sha": COMMIT, "siblings": siblings}).encode())
            elif path.startswith(f"/{repository}/resolve/{COMMIT}/") and path.rpartition("/")[2] in names:
                self.answer((published / path.rpartition("/")[2]).read_bytes())
            else:
                self.refuse(404, "RepoNotFound")

        def entry(self, name: str) -> dict[str, object]:
            data = (published / name).read_bytes()
            return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

        def refuse(self, status: int, code: str) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = HubServer(f"http://127.0.0.1:{listener.server_port}")
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
