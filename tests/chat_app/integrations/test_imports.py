"""What another program takes along with the card and the Runnable: scorer and crisis check, nothing of the chat."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

READERS = ("", ".fields", ".files", ".hours", ".phone_numbers", ".safety_files", ".variables")
PROMPTS = {f"heard.prompts{name}" for name in READERS}
"""The crisis check's words are read by these."""


@pytest.mark.parametrize(
    "statement", ["from heard import EmpathyRunnable", "import heard.chat_app.integrations.chainlit_plugin"]
)
def test_nothing_of_the_chat_s_own(tmp_path: Path, statement: str) -> None:
    code = (
        f"{statement}\nimport json, sys\nprint(json.dumps([name for name in sys.modules if name.startswith('heard.')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = set(json.loads(done.stdout.splitlines()[-1]))
    foreign = ("heard.db", *(f"heard.chat_app.{room}" for room in ("conversation", "studies", "results", "web")))
    assert {name for name in names if name.startswith(foreign)} == set()
    assert {name for name in names if name.startswith("heard.prompts")} <= PROMPTS
    assert "heard.scorer.score" in names
