"""`heard compare` over 100 questions and 4 arms: its window of open calls, and what kill -9 costs.

The server plays each reply in a tenth of a second and counts what it is asked, so that a call that is paid for twice
shows.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.table import Row, at_most
from tests.chat_app.comparing.comparing import asked, journal, served, slow
from tests.servers import ScriptedServer

QUESTIONS = 100
ARMS = "plain,definition,chain-of-empathy,hybrid"
"""Strategies of one call each, so that calls can be counted."""
CALLS = QUESTIONS * len(ARMS.split(","))
WINDOW = 8
KILLS = (60, 300)
"""Lines of the journal after which the process is killed, one run each."""


def compare() -> list[Row]:
    """Most calls at once, and finished calls that were asked again after kill -9."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as scratch:
        folder = Path(scratch)
        with served(folder, slow(seconds=0.1), questions=QUESTIONS) as server:
            lost = []
            for lines in KILLS:
                with _running(folder) as process:
                    ScriptedServer.wait_until(lambda: len(journal(folder / "out")) >= lines, "the journal", 300)  # noqa: B023
                    process.send_signal(signal.SIGKILL)
                    process.wait(10)
                _wait_until_idle(server)
                lost.append(len(server.requests) - len({tuple(line["key"]) for line in journal(folder / "out")}))
            with _running(folder) as process:
                if process.wait(600) != 0:
                    raise RuntimeError("heard compare did not end well after kill -9")
            repeated = len(server.requests) - CALLS - lost[-1]
            if len(asked(server)) != CALLS:
                raise RuntimeError("some question was never asked")
            return [
                at_most(
                    f"heard compare, {QUESTIONS} questions and 4 arms: most calls open at once, window {WINDOW}",
                    [server.most_open],
                    "",
                    WINDOW,
                ),
                at_most(f"finished calls asked again after {len(KILLS)} kill -9", [repeated], "", 0),
                at_most("unfinished calls that a kill -9 cost, of the window", [_each(lost)], "", WINDOW),
            ]


def _each(lost: list[int]) -> int:
    """The most that one kill cost; `lost` adds up."""
    return max(after - before for before, after in zip([0, *lost], lost, strict=False))


def _wait_until_idle(server: ScriptedServer) -> None:
    while server.open:
        time.sleep(0.05)


@contextmanager
def _running(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    arguments = ["--models", "one", "--strategies", ARMS, "--questions", "questions.csv", "--out", "out"]
    paces = ["--open-calls", str(WINDOW), "--per-minute", "60000"]
    process = subprocess.Popen(
        [Path(sys.executable).with_name("heard"), "compare", *arguments, *paces],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("HEARD_")}
        | {"HEARD_EMBEDDED": "smollm2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)
