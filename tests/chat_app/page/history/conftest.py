"""Chainlit's data layer on a real database, for two people who have agreed."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from heard.db.engine import create_engine
from heard.db.store import Store
from tests.chat_app.page.history.threads import ANN, BOB, HeardDataLayer, cl
from tests.db.conftest import Make


@pytest.fixture
def path(tmp_path: Path, migrated: Path) -> Path:
    path = tmp_path / "heard.db"
    shutil.copyfile(migrated, path)
    return path


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    engine = create_engine(f"sqlite+aiosqlite:///{path}", lock_seconds=30)
    store = Store(engine)
    for participant in (ANN, BOB):
        await store.ensure_participant(participant)
    yield store
    await engine.dispose()


@pytest.fixture
async def layer(store: Store) -> HeardDataLayer:
    layer = HeardDataLayer(store)
    for participant in (ANN, BOB):
        await layer.create_user(cl.User(identifier=participant))
    return layer


@pytest.fixture
async def impatient(layer: HeardDataLayer, path: Path) -> AsyncIterator[HeardDataLayer]:
    """Another layer on the same file, that does not wait long for locks."""
    engine = create_engine(f"sqlite+aiosqlite:///{path}", lock_seconds=0.3)
    yield HeardDataLayer(Store(engine))
    await engine.dispose()


@pytest.fixture
def make() -> Make:
    return Make()
