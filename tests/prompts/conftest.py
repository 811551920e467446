"""What the tests of prompt files share."""

import shutil
from pathlib import Path

import pytest

from heard.prompts.library import BUILT_IN


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of one's own with the prompt files that come with heard."""
    for name in ("personas", "strategies"):
        shutil.copytree(BUILT_IN / name, tmp_path / name)
    shutil.copy(BUILT_IN / "guidance.yaml", tmp_path)
    return tmp_path
