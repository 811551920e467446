"""Other programs on the same database: real processes, because locks between threads are not the same."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
"""


@contextmanager
def holding(path: Path, begin: str = "BEGIN IMMEDIATE") -> Iterator[subprocess.Popen[str]]:
    """Another process with an open transaction. Ends it at the end of the block, or at `release`."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        release(process)
        process.stdin.close()
        process.stdout.close()


def release(process: subprocess.Popen[str]) -> None:
    """Let the other process end its transaction."""
    if process.poll() is None and process.stdin is not None:
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait(10)
