"""The export of the same studies from PostgreSQL and from SQLite."""

import asyncio
from pathlib import Path

import pyarrow.parquet

from heard.db.engine import create_engine
from heard.db.store import Store
from tests.chat_app.export.exporting import fill, run
from tests.db.conftest import PATIENT_SECONDS
from tests.db.postgres import NEEDED

pytestmark = NEEDED
DRAWN_ANEW = {"ballot", "answer", "item", "conversation", "drafts"}
"""Ids that each filling makes for itself."""


async def test_the_same_files_as_from_sqlite(empty_server: str, file_url: str, tmp_path: Path) -> None:
    for place in (empty_server, file_url):
        engine = create_engine(place, lock_seconds=PATIENT_SECONDS)
        await fill(Store(engine))
        await engine.dispose()
    await asyncio.to_thread(run, empty_server, "--all", "--out", tmp_path / "postgres", "--full")
    await asyncio.to_thread(run, file_url, "--all", "--out", tmp_path / "sqlite", "--full")
    for path in sorted((tmp_path / "sqlite").glob("*.parquet")):
        ours = pyarrow.parquet.read_table(path)
        theirs = pyarrow.parquet.read_table(tmp_path / "postgres" / path.name)
        assert ours.schema == theirs.schema
        kept = [
            name
            for name in ours.column_names
            if name.split("_")[0] not in DRAWN_ANEW or name == "ballot" or "_number" in name
        ]
        assert ours.select(kept).to_pylist() == theirs.select(kept).to_pylist(), path.name
    book = (tmp_path / "sqlite" / "codebook.csv").read_bytes()
    assert (tmp_path / "postgres" / "codebook.csv").read_bytes() == book
