"""`heard export` on a real database: what it refuses and replaces, and what happens when it is broken off."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.bench.many_votes import many_votes
from tests.chat_app.export.exporting import environment, run
from tests.chat_app.export.exporting import filled_file as filled_file
from tests.chat_app.export.exporting import url as url

RUN = [Path(sys.executable).with_name("heard"), "export"]


def test_the_command_does_not_load_pandas(url: str, tmp_path: Path) -> None:
    """Where it is installed, pyarrow would, for nothing."""
    program = "import sys; from heard.chat_app.commands.export import app; app(standalone_mode=False); "
    program += "print('pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program, "survey", "--out", str(tmp_path / "out")],
        env=environment(url), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "False"


def test_what_cannot_be_exported(url: str, path: Path, tmp_path: Path) -> None:
    assert "Did you mean survey?" in run(url, "servey", "--out", tmp_path / "out", status=2)
    assert "--all" in run(url, "--out", tmp_path / "out", status=2)
    assert "--all" in run(url, "survey", "--all", "--out", tmp_path / "out", status=2)
    (tmp_path / "file").write_text("mine")
    assert "is a file" in run(url, "survey", "--out", tmp_path / "file", status=2)
    assert "Choose a folder" in run(url, "survey", "--out", tmp_path / "file" / "below", status=2)
    assert "Choose another folder" in run(url, "survey", "--out", "/proc/out", status=2)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM enrolment WHERE participant_id = 'anna'")
    assert "takes no part in its study" in run(url, "survey", "--out", tmp_path / "out", status=2)
    assert not (tmp_path / "out").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_only_an_earlier_export_is_replaced(url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert "no earlier export" in run(url, "survey", "--out", out, "--force", status=2)
    (out / "notes.txt").unlink()
    run(url, "survey", "--out", out)
    assert "--force" in run(url, "survey", "--out", out, status=2)
    (out / "notes.txt").write_text("mine")
    assert "notes.txt" in run(url, "survey", "--out", out, "--force", status=2)
    (out / "notes.txt").unlink()
    run(url, "empty", "--out", out, "--force")
    assert json.loads((out / "manifest.json").read_text())["filters"]["study"] == "empty"
    assert out.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_export_that_is_broken_off_leaves_the_old_one(tmp_path: Path, how: signal.Signals) -> None:
    path, out = tmp_path / "many.db", tmp_path / "out"
    many_votes(path, 8000)
    url = f"sqlite+aiosqlite:///{path}"
    run(url, "many", "--out", out)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    process = subprocess.Popen(
        [*RUN, "many", "--out", out, "--force"], env=environment(url), stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not any(tmp_path.glob(".out.partial-*/votes_long.csv")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(how)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == (-9 if how is signal.SIGKILL else 130), said
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert (list(tmp_path.glob(".out.partial-*")) == []) == (how is signal.SIGINT)
    run(url, "many", "--out", out, "--force")
    assert list(tmp_path.glob(".out.partial-*")) == []
