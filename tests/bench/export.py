"""`heard export` of a million synthetic votes: seconds, and the most memory of the process that writes."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.many_votes import STUDY, many_votes
from tests.bench.table import Row, at_most

VOTES = 1_000_000

_MEASURED = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([status, time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def export() -> list[Row]:
    """One export, measured from outside: from the command to its end."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as scratch:
        path = Path(scratch) / "heard.db"
        many_votes(path, VOTES)
        command = [Path(sys.executable).with_name("heard"), "export", STUDY, "--out", Path(scratch) / "out"]
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, *command],
            env={**os.environ, "HEARD_DATABASE_URL": f"sqlite+aiosqlite:///{path}"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        status, seconds, busy, megabytes = json.loads(done.stdout)
        if status:
            raise RuntimeError("the export failed")
        what = f"export of {VOTES:,} votes"
        return [
            at_most(f"{what}: from the command to its end", [seconds], "s", 60),
            at_most(f"{what}: time of the processor", [busy], "s", 120),
            at_most(f"{what}: most memory", [megabytes], "MB", 300),
        ]
