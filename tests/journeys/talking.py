"""A running `heard chat` whose model is a small real server on loopback, and what the socket tests say to it."""

import asyncio
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers import Script, ScriptedServer, reply
from tests.socket_client import SocketPage, Turn

COMMAND = (sys.executable, "-c", "from heard.chat_app.cli import main; main()", "chat")
READY = "heard is ready at "
CRISIS = "I want to kill myself"
WARM = (
    "I am here with you. It makes sense that you feel worn out, and you do not have to carry it alone. "
    "What would help you most right now?"
)
CURT = "Ok. That happens."
COMING_BACK = (
    "My rabbit died this morning and the hutch is empty. I keep listening for her.",
    "It is raining here today.",
    "Rabbits have such characters. What was yours like, and did she come when you called her to the hutch?",
)
"""What was told, what is said a turn later, and a reply that comes back to the first."""
OUTCOME = "SELECT outcome FROM message WHERE id = ?"
PRIVATE = ("private words", "Private words", "kill myself", "too much", "secret detail", "Sent during the lock")
"""Of what people, and servers of models, say in these tests."""
HALVES = (
    "SELECT (SELECT count(*) FROM message WHERE outcome = 'pending'),"
    " (SELECT count(*) FROM reply r WHERE NOT EXISTS (SELECT 1 FROM draft d WHERE d.reply_id = r.id AND d.kept)),"
    " (SELECT count(*) FROM message m WHERE m.outcome = 'answered'"
    "  AND NOT EXISTS (SELECT 1 FROM reply r WHERE r.message_id = m.id)),"
    " (SELECT count(*) FROM draft d WHERE d.status = 'complete' AND d.model <> 'fixed text'"
    "  AND NOT EXISTS (SELECT 1 FROM score s WHERE s.draft_id = d.id))"
)
"""Numbers of things half written: pending messages, replies without a kept draft, answers without a reply, whole drafts
of a model without a score entry."""


def slow(words: int) -> Script:
    """`word0. word1. ...`, one every 50 ms. Each is a sentence, because a page gets whole ones only."""
    return reply(" ".join(f"word{n}." for n in range(words)), pause=0.05)


@dataclass
class Served:
    """A running `heard chat`, its data and its log."""

    url: str
    data_dir: Path
    log: Path
    model: ScriptedServer
    pid: int = 0

    async def settled(self, want: object, sql: str, *values: str) -> None:
        """Wait until a query gives `want`: the page's history, and a crisis, are written after the page is shown."""
        for _ in range(100):
            if self.rows(sql, *values) == want:
                return
            await asyncio.sleep(0.05)
        assert self.rows(sql, *values) == want

    def words_in_log(self) -> list[str]:
        """Those of `PRIVATE` that the log holds; there may be none."""
        log = self.log.read_text(encoding="utf-8")
        return [words for words in PRIVATE if words in log]

    def play(self, *scripts: Script) -> None:
        """What the model answers from now on: each once, and the last one for ever."""
        self.model.requests.clear()
        self.model.scripts = scripts

    def rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.data_dir / "heard.db")) as database:
            return database.execute(sql, values).fetchall()


@contextmanager
def serving(folder: Path, *, command: Sequence[str | Path] = COMMAND, **settings: str) -> Iterator[Served]:
    """Start `heard chat` in `folder` with a model "talker" that plays scripts; `settings` are HEARD_ variables.

    More models may stand in `folder`'s models.toml already. A `command` of another environment finds its own heard.
    """
    with ScriptedServer() as model, (folder / "log").open("w") as log:
        with (folder / "models.toml").open("a", encoding="utf-8") as file:
            file.write(f'talker = {{ provider = "openai", model = "talker", base_url = "{model.base_url}" }}\n')
        data = Path(settings.setdefault("data_dir", str(folder / "data")))
        inherited = {name: value for name, value in os.environ.items() if command is COMMAND or name != "PYTHONPATH"}
        process = subprocess.Popen(
            [*command, "--port", str(free_port())],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
            env={**inherited, **{f"HEARD_{name.upper()}": value for name, value in settings.items()}},
        )
        try:
            assert process.stdout
            first = process.stdout.readline()
            assert first.startswith(READY), (folder / "log").read_text()
            yield Served(first.removeprefix(READY).strip(), data, folder / "log", model, process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def locked(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """The database, held by somebody else until the end or a ROLLBACK."""
    with closing(sqlite3.connect(data_dir / "heard.db", isolation_level=None, timeout=10)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other
        if other.in_transaction:
            other.execute("ROLLBACK")


@contextmanager
def silent(served: Served) -> Iterator[None]:
    """The server takes connections and calls, and does not say a word until the end."""
    os.kill(served.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(served.pid, signal.SIGCONT)


async def begun(page: SocketPage, turn: Turn, pieces: int = 3) -> None:
    """Wait until a reply has grown so many times."""
    await page.until(lambda: turn.pieces >= pieces)
