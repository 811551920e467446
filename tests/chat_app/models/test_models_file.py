"""An edited models.toml is noticed while the server goes on with the models of its start."""

import logging
from pathlib import Path

import pytest

from heard.chat_app.models.models_file import ModelsFile


def test_an_edit_is_seen_and_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "models.toml"
    file = ModelsFile(path)
    assert not file.edited
    with caplog.at_level(logging.WARNING):
        for text in ('a = { provider = "echo" }', 'abc = { provider = "echo" }'):
            path.write_text(text, encoding="utf-8")
            assert (file.edited, file.edited) == (True, True)
    assert [record.getMessage() for record in caplog.records] == [
        "models.toml has been edited; its models are taken in when heard is started again"
    ]
    path.unlink()
    assert not file.edited, "as it was at the start"
