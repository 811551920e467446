"""Entries of models.toml for tests."""

from pathlib import Path

import pytest

from heard.chat_app.models.catalogue import ModelsError, load_models
from heard.chat_app.models.records import ModelSpec


def entry(folder: Path, text: str) -> ModelSpec:
    """The entry `mine` of a file in `folder`, with these keys."""
    (folder / "models.toml").write_text(f"[mine]\n{text}\n", encoding="utf-8")
    return load_models(folder / "models.toml")["mine"]


def refusal(folder: Path, text: str) -> str:
    """What is said of such an entry, which is refused."""
    with pytest.raises(ModelsError) as caught:
        entry(folder, text)
    return str(caught.value)
