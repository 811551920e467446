"""A small server on loopback that serves one large file as the Hugging Face Hub does, with faults as tests order them.

The file's address answers HEAD with its sha256 and size and a redirect, and the place that it points to takes Range.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "team/tiny-GGUF"
FILE = "tiny-q4_k_m.gguf"


@dataclass
class GgufHub:
    """Where it is, what it was asked, and how it behaves from now on."""

    content: bytes
    sha256: str
    """As the Hub states it."""
    endpoint: str = ""
    ranges: list[str | None] = field(default_factory=list)
    """The Range of every request for the content."""
    keys: list[tuple[str, str | None]] = field(default_factory=list)
    """(path, authorization) of every request."""
    token: str | None = None
    """With one, the file is gated."""
    gone: bool = False
    """Whether there is no such repository."""
    cuts: list[int] = field(default_factory=list)
    """After how many bytes the connection is cut: the first entry holds for the next request, and so on."""
    knows_range: bool = True
    in_large_storage: bool = True
    """Whether the file's checksum is stated."""


@contextmanager
def gguf_hub(content: bytes, *, sha256: str | None = None) -> Iterator[GgufHub]:
    """Serve `content` as FILE of REPOSITORY."""
    hub = GgufHub(content, sha256 or hashlib.sha256(content).hexdigest())

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            hub.keys.append((path, self.headers.get("authorization")))
            if path == "/content":
                self.send_content()
            elif hub.gone or not path.startswith(f"/{REPOSITORY}/resolve/") or not path.endswith(f"/{FILE}"):
                self.refuse(404, "RepoNotFound" if hub.gone else "EntryNotFound")
            elif hub.token is not None and self.headers.get("authorization") != f"Bearer {hub.token}":
                self.refuse(401, "GatedRepo")
            else:
                self.send_response(302)
                self.send_header("X-Repo-Commit", COMMIT)
                if hub.in_large_storage:
                    self.send_header("X-Linked-ETag", f'"{hub.sha256}"')
                self.send_header("X-Linked-Size", str(len(hub.content)))
                self.send_header("Location", f"http://localhost:{listener.server_port}/content")
                self.send_header("Content-Length", "0")
                self.end_headers()

        def send_content(self) -> None:
            wanted = self.headers.get("range")
            hub.ranges.append(wanted)
            begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and hub.knows_range else 0
            body = hub.content[begin:]
            self.send_response(206 if wanted and hub.knows_range else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[: hub.cuts.pop(0)] if hub.cuts else body)
                self.wfile.flush()
                self.close_connection = True

        def refuse(self, status: int, code: str) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{listener.server_port}"
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        listener.shutdown()
        listener.server_close()
