"""Somebody else's Chainlit app: written into a folder, started with `chainlit run`, and a page of it on the socket."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.socket_client import SocketPage, Visitor

START_SECONDS = 120


@dataclass(frozen=True)
class Running:
    """A running app and what it printed."""

    url: str
    folder: Path
    log: Path


@contextmanager
def running(folder: Path, source: str, *options: str) -> Iterator[Running]:
    """Write `source` to app.py in `folder` and run it with these further options of `chainlit run`."""
    (folder / "app.py").write_text(source, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    root = options[options.index("--root-path") + 1] if "--root-path" in options else ""
    made = Running(f"http://127.0.0.1:{port}{root}", folder, folder / "log")
    with made.log.open("w") as log:
        process = subprocess.Popen(
            [Path(sys.executable).with_name("chainlit"), "run", "app.py", "--headless", "--port", str(port), *options],
            stdout=log,
            stderr=log,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("CHAINLIT_")},
        )
        try:
            _wait(made, process)
            yield made
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(made: Running, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{made.url}/").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(made.log.read_text(encoding="utf-8"))


class PlainPage(SocketPage):
    """A page of an app without sign-in, mounted at its own root."""

    async def open(self) -> None:
        """Connect, and wait until the page is ready for a message."""
        host, _, root = self.visitor.base_url.removeprefix("http://").partition("/")
        auth = {"clientType": "webapp", "sessionId": self.session, "threadId": "", "userEnv": "{}", "chatProfile": ""}
        await self._client.connect(
            f"http://{host}",
            auth=auth,
            socketio_path=f"/{root}/ws/socket.io".replace("//", "/"),
            transports=["websocket"],
        )
        await self._client.emit("connection_successful")
        await self.until(lambda: any(event.name == "task_end" for event in self.events))


@asynccontextmanager
async def page_of(app: Running) -> AsyncIterator[PlainPage]:
    """A page of a running app."""
    visitor = Visitor(app.url)
    try:
        async with PlainPage(visitor, profile="", thread="", session=str(uuid.uuid4())) as page:
            yield page
    finally:
        await visitor.http.aclose()
