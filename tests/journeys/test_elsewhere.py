"""The README's examples of the scorer in other programs, run as they stand there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from heard.chat_app.models.downloads import Weights
from tests.journeys.talking import Served
from tests.plain_chainlit import page_of, running

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTION = README.split("## Use the scorer elsewhere\n")[1].split("\n## ")[0]
(CALL,) = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
PROGRAM, CHAIN, APP = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


def run(*command: str, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_call_over_http(talking: Served, tmp_path: Path) -> None:
    assert "http://127.0.0.1:8000/" in CALL
    given = json.loads(run("bash", "-c", CALL.replace("http://127.0.0.1:8000", talking.url), cwd=tmp_path))
    assert given["status"] == "scored"
    assert 1 <= given["empathy"] <= 3


def test_the_program(tmp_path: Path, weights: Weights) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    assert 1 <= float(run(sys.executable, "program.py", cwd=tmp_path).split()[0]) <= 3


def test_the_chain(tmp_path: Path, weights: Weights) -> None:
    (tmp_path / "chain.py").write_text(CHAIN, encoding="utf-8")
    number, record = run(sys.executable, "chain.py", cwd=tmp_path).splitlines()
    assert 1 <= float(number) <= 3
    assert record.startswith("EmpathyScore(status=<ScoreStatus.SCORED")


async def test_the_chainlit_app(tmp_path: Path, weights: Weights) -> None:
    with running(tmp_path, APP) as app:
        async with page_of(app) as page:
            turn = await page.send("I failed my exam.")
    assert turn.card is not None
    assert turn.card["score"]["scored"] is True
