"""Servers to be killed, one after the other, each a process of its own that answers with the real parent and store.

    python -m tests.vote_server DATA_DIR DATABASE_URL

A whole `heard chat` takes seconds to start, mostly for imports and models that votes do not need. So this process
imports everything once, and forks a server for each line "serve" on its input; the server opens the database itself
and prints its process id and port when it listens. `KillableServers` drives it.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from heard.chat_app.common.identity import VISITOR_COOKIE, Identity
from heard.chat_app.common.settings import Settings
from heard.chat_app.safety import crisis_check
from heard.db.engine import create_engine
from heard.db.store import Store
from heard.db.study_records import BallotRecord
from tests.db.conftest import Make
from tests.db.studying import Studying
from tests.journeys.web import Sessions, parent

AT_ONCE = 3
"""Votes on their way in each round; the first one that is acknowledged brings the kill."""


class _Telling(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(f"{os.getpid()} {self.servers[0].sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()


async def _serve(data_dir: Path, url: str) -> None:
    settings = Settings(data_dir=data_dir, database_url=url)
    store = Store(create_engine(url, lock_seconds=settings.save_seconds))
    app = parent(settings, store, Identity.load(data_dir), Sessions())
    # Without a lifespan: there is no model to start, and nobody will be there for the end.
    await _Telling(uvicorn.Config(app, port=0, log_level="error", lifespan="off")).serve()


def _forking(data_dir: Path, url: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the killed are not waited for
    crisis_check.danger_checker()
    crisis_check.checker()  # as a running chat has it ready
    for line in sys.stdin:
        if line.strip() == "serve" and os.fork() == 0:
            asyncio.run(_serve(data_dir, url))
            os._exit(0)


@dataclass(frozen=True)
class KillableServers:
    """Starts a server when asked; whoever asked kills it by its process id."""

    process: "subprocess.Popen[str]"

    def serve(self) -> tuple[int, str]:
        """Process id and URL of a new server."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("serve\n")
        self.process.stdin.flush()
        pid, port = self.process.stdout.readline().split()
        return int(pid), f"http://127.0.0.1:{port}"


@contextmanager
def killable(data_dir: Path, url: str) -> Iterator[KillableServers]:
    """The process that forks servers on this database, which must have been migrated."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.vote_server", str(data_dir), url],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield KillableServers(process)
    finally:
        process.communicate(timeout=20)  # closes its input, which ends it


@dataclass
class Killed:
    """What came of the rounds."""

    acknowledged: int = 0
    lost: int = 0
    """Of the acknowledged ones, those that are not in the database afterwards as they were sent."""


def vote_call(ballot: BallotRecord, request: str, reason: str) -> dict[str, object]:
    """What a page sends for a vote on a ballot of three answers."""
    return {
        "ballot": ballot.id, "choice": "ranked", "most": "C", "least": "A", "reason": reason, "seconds": 4.25,
        "width": "desktop", "request": request,
    }  # fmt: skip


async def kill_rounds(data_dir: Path, url: str, rounds: int, study: str = "kill") -> Killed:
    """Vote over HTTP and kill the server (SIGKILL) at the first acknowledgement, again and again, on new ballots."""
    engine = create_engine(url, lock_seconds=30)
    studying, result = Studying(Store(engine), Make()), Killed()
    await studying.survey(study=study, number=rounds * AT_ONCE)
    person = await studying.agree()
    ballots = await studying.enrolled(person, study=study, number=rounds * AT_ONCE)
    cookies = {VISITOR_COOKIE: Identity.load(data_dir).sign(person)}
    with killable(data_dir, url) as servers:
        for number in range(rounds):
            pid, address = await asyncio.to_thread(servers.serve)
            calls = [
                vote_call(ballot, studying.make.id(), f"round {number}, its last words")
                for ballot in ballots[number * AT_ONCE : (number + 1) * AT_ONCE]
            ]
            async with httpx.AsyncClient(base_url=address, cookies=cookies, timeout=30) as client:
                sent = [asyncio.create_task(client.post("/vote", json=call)) for call in calls]
                await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
                os.kill(pid, signal.SIGKILL)
                answers = await asyncio.gather(*sent, return_exceptions=True)
            for call, answer in zip(calls, answers, strict=True):
                if isinstance(answer, httpx.Response):
                    assert answer.status_code == 200, answer.text
                    result.acknowledged += 1
                    result.lost += not await _stored(studying, call)
    await engine.dispose()
    return result


async def _stored(studying: Studying, call: dict[str, object]) -> bool:
    found = await studying.studies.ballot(str(call["ballot"]))
    vote = found[1] if found else None
    told = vote and (vote.request_id, vote.most, vote.least, vote.reason, vote.seconds)
    return told == (call["request"], 3, 1, call["reason"], call["seconds"])


if __name__ == "__main__":
    _forking(Path(sys.argv[1]), sys.argv[2])
