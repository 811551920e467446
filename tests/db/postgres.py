"""A real PostgreSQL server, where one is installed: a fresh cluster on a socket, started for a test or the bench."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


def _programs() -> Path | None:
    """Folder of initdb and pg_ctl; Debian keeps it off the PATH."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


PROGRAMS = _programs()
NEEDED = [
    pytest.mark.skipif(PROGRAMS is None, reason="no PostgreSQL server is installed (initdb, pg_ctl)"),
    pytest.mark.skipif(importlib.util.find_spec("asyncpg") is None, reason="the driver asyncpg is not installed"),
]
"""Marks of a test that needs the server."""


@contextmanager
def cluster(*, durable: bool = False) -> Iterator[str]:
    """URL of a fresh database cluster without a TCP port. durable: whether it waits for the disk at each commit."""
    assert PROGRAMS is not None
    folder = Path(tempfile.mkdtemp(prefix="heard-pg-"))  # a socket's path must be short, so not pytest's folder
    account = None
    if os.geteuid() == 0:  # the server refuses to run as root
        account = pwd.getpwnam("postgres" if "postgres" in {user.pw_name for user in pwd.getpwall()} else "nobody")
        os.chown(folder, account.pw_uid, account.pw_gid)
    user = account.pw_name if account else pwd.getpwuid(os.geteuid()).pw_name

    def run(*command: str) -> None:
        done = subprocess.run(
            [str(PROGRAMS / command[0]), *command[1:]],
            user=account and account.pw_uid,
            group=account and account.pw_gid,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr

    data = str(folder / "data")
    run("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
    options = f"-k {folder} -c listen_addresses= -c fsync={'on' if durable else 'off'}"
    run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql+asyncpg://{user}@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def processes(url: str) -> list[int]:
    """Ids of the server's processes: the first one and its children."""
    first = int(Path(url.partition("host=")[2], "data", "postmaster.pid").read_text().split()[0])
    listed = subprocess.run(["pgrep", "-P", str(first)], stdout=subprocess.PIPE, text=True, check=False).stdout
    return [first, *map(int, listed.split())]


@contextmanager
def frozen(url: str) -> Iterator[None]:
    """The server takes connections and bytes, and does not say a word until the end."""
    stopped = processes(url)
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
