"""What can happen to an SQLite file while it is open, and before it is opened: nothing is acknowledged that nobody
finds again, and each fault has its own sentence, there and in the look that /health takes."""

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.condition import last_fault
from heard.db.engine import create_engine, upgrade
from heard.db.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreMoved,
    StoreOutdated,
    StoreReadOnly,
    StoreUnavailable,
)
from heard.db.probe import look
from heard.db.sqlite_file import LEAST_ROOM, check_room
from heard.db.store import Store
from tests.db.conftest import LOCK_SECONDS, Make
from tests.db.processes import holding
from tests.db.test_store import count


def delete_all(path: Path) -> None:
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()


def replace_by_a_copy(path: Path) -> None:
    shutil.copyfile(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def move_the_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_to_another(path: Path) -> None:
    path.rename(path.with_name("old.db"))
    shutil.copyfile(path.with_name("old.db"), path.with_name("new.db"))
    path.symlink_to(path.with_name("new.db"))


def beside(path: Path, end: str) -> Path:
    return Path(f"{path}{end}")


MOVES: dict[str, Callable[[Path], object]] = {
    "moved": lambda path: path.rename(path.with_name("moved.db")),
    "deleted": lambda path: path.unlink(),
    "all three deleted": delete_all,
    "replaced": replace_by_a_copy,
    "a link now": link_to_another,
    "a folder now": folder_in_its_place,
    "its folder moved": move_the_folder,
    "the -wal file deleted": lambda path: beside(path, "-wal").unlink(),
    "the -wal file moved": lambda path: beside(path, "-wal").rename(path.with_name("w")),
    "the -shm file deleted": lambda path: beside(path, "-shm").unlink(),
}


def is_empty_file(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "heard.db"


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(url, lock_seconds=LOCK_SECONDS)
    yield engine
    await engine.dispose()


def overwrite(path: Path, content: bytes, offset: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
async def test_a_file_that_is_not_at_its_place_takes_nothing(
    store: Store, engine: AsyncEngine, make: Make, person: str, path: Path, move: Callable[[Path], object]
) -> None:
    conversation = make.conversation(person)
    message, _ = await make.turn(store, conversation)
    assert await look(engine) is None
    move(path)
    for _ in range(2):
        with pytest.raises(StoreMoved, match="moved, deleted or replaced"):
            await store.open_turn(conversation, make.message(conversation))
        with pytest.raises(StoreMoved):
            await store.messages(conversation.id)
        with pytest.raises(StoreMoved):
            await store.close_turn(message.id, make.message(conversation).outcome.STOPPED, None)
    fault = await look(engine)
    assert isinstance(fault, StoreMoved)
    assert fault.kind == "moved"
    assert not is_empty_file(path)  # none was made in its place


async def test_a_write_that_went_into_a_moved_file_is_not_acknowledged(
    store: Store, engine: AsyncEngine, make: Make, person: str, path: Path
) -> None:
    """Moved after the transaction has begun, so that only the look after the commit can see it."""
    conversation = make.conversation(person)

    @event.listens_for(engine.sync_engine, "commit")
    def _move(_: object) -> None:
        path.rename(path.with_name("moved.db"))

    with pytest.raises(StoreMoved):
        await store.open_turn(conversation, make.message(conversation))


async def test_put_back_it_goes_on(store: Store, engine: AsyncEngine, make: Make, person: str, path: Path) -> None:
    MOVES["moved"](path)
    assert isinstance(await look(engine), StoreMoved)
    os.rename(path.with_name("moved.db"), path)
    await make.turn(store, make.conversation(person))
    assert await look(engine) is None
    assert count(path, "reply") == 1


def as_it_was_killed(path: Path) -> None:
    """A copy of a database and its -wal file as the end of a process leaves them, in the place of the file."""
    live = path.with_name("live.db")
    path.rename(live)
    with closing(sqlite3.connect(live, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO participant (id, created_at) VALUES ('p', '2026-05-01')")
        for end in ("", "-wal"):
            shutil.copyfile(beside(live, end), beside(path, end))
    assert beside(path, "-wal").stat().st_size > 32


def no_wal(path: Path) -> None:
    beside(path, "-wal").unlink()


DAMAGES: dict[str, tuple[Callable[[Path], object], type[StoreError], str]] = {
    "header": (lambda path: (no_wal(path), overwrite(path, os.urandom(100))), StoreDamaged, "copy of it"),
    "first page": (lambda path: (no_wal(path), overwrite(path, os.urandom(3000), 100)), StoreDamaged, "copy of it"),
    "text": (lambda path: (no_wal(path), path.write_text("Dear reader. " * 900)), StoreDamaged, "copy"),
    "cut": (lambda path: (no_wal(path), os.truncate(path, 5000)), StoreDamaged, "copy of it"),
    "emptied beside its -wal": (lambda path: os.truncate(path, 0), StoreDamaged, "gone or empty"),
    "gone beside its -wal": (lambda path: path.unlink(), StoreDamaged, "gone or empty"),
    "-wal overwritten": (lambda path: overwrite(beside(path, "-wal"), os.urandom(4000)), StoreDamaged, "-wal"),
    "-wal zeroed": (lambda path: overwrite(beside(path, "-wal"), bytes(32)), StoreDamaged, "-wal"),
    "a folder": (folder_in_its_place, StoreUnavailable, "folder in the place"),
    "a table gone": (lambda path: run(path, "DROP TABLE vote"), StoreOutdated, "missing"),
    "newer": (lambda path: run(path, "UPDATE alembic_version SET version_num = '9999'"), StoreOutdated, "newer"),
}


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def run(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


@pytest.mark.parametrize(("damage", "kind", "words"), DAMAGES.values(), ids=DAMAGES.keys())
async def test_a_start_on_a_damaged_file_says_so_and_changes_nothing(
    url: str, path: Path, damage: Callable[[Path], object], kind: type[StoreError], words: str
) -> None:
    as_it_was_killed(path)
    damage(path)
    before = {one.name: one.read_bytes() for one in path.parent.iterdir() if one.is_file() and "shm" not in one.name}
    with pytest.raises(kind, match=words) as caught:
        await upgrade(url)
    assert "db upgrade" not in str(caught.value)
    after = {one.name: one.read_bytes() for one in path.parent.iterdir() if one.is_file() and "shm" not in one.name}
    if kind is StoreDamaged:
        assert after == before


async def test_a_start_after_a_killed_process_finds_what_it_had_saved(url: str, path: Path) -> None:
    as_it_was_killed(path)
    await upgrade(url)
    assert count(path, "participant") == 1


async def test_a_place_that_cannot_be_has_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place, words in {
        tmp_path / "file" / "heard.db": "folder of the database's file is not there",
        Path("/proc/nothing/heard.db"): "folder of the database's file is not there",
        Path("/dev/null"): "is no file",
    }.items():
        with pytest.raises(StoreUnavailable, match=words):
            await upgrade(f"sqlite+aiosqlite:///{place}")


async def test_damage_that_one_call_met_stays_known(
    store: Store, engine: AsyncEngine, make: Make, person: str, path: Path
) -> None:
    conversation = make.conversation(person)
    await make.turn(store, conversation, "long " * 5000)
    run(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    halve(path)
    with pytest.raises(StoreDamaged):
        await make.turn(store, conversation, "long " * 50_000)
    assert isinstance(await look(engine), StoreDamaged)
    assert isinstance(await look(engine), StoreDamaged)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DROP TABLE draft", "missing"),
        ("UPDATE alembic_version SET version_num = '9999'", "newer version"),
        ("UPDATE alembic_version SET version_num = '0010'", "heard db upgrade"),
        ("DELETE FROM alembic_version", "heard db upgrade"),
        ("DROP TABLE alembic_version", "heard db upgrade"),
    ],
)
async def test_other_tables_are_seen_while_it_runs(engine: AsyncEngine, path: Path, sql: str, words: str) -> None:
    assert await look(engine) is None
    run(path, sql)
    fault = await look(engine)
    assert isinstance(fault, StoreOutdated)
    assert words in str(fault)


async def test_a_lost_column_is_told_by_who_meets_it(store: Store, engine: AsyncEngine, make: Make, path: Path) -> None:
    await store.ensure_participant("p")
    run(path, "ALTER TABLE message RENAME COLUMN text TO words")
    with pytest.raises(StoreOutdated):
        await make.turn(store, make.conversation("p"))
    assert isinstance(last_fault(engine), StoreOutdated)


async def test_a_lock_is_seen_and_its_end(engine: AsyncEngine, path: Path) -> None:
    with holding(path):
        fault = await look(engine)
        assert isinstance(fault, StoreBusy)
        assert fault.kind == "locked"
    assert await look(engine) is None


async def test_read_only_is_seen(path: Path, url: str) -> None:
    engine = create_engine(f"sqlite+aiosqlite:///file:{path}?mode=ro&uri=true", lock_seconds=LOCK_SECONDS)
    assert isinstance(await look(engine), StoreReadOnly)
    await engine.dispose()


async def test_a_full_database_is_seen_also_where_a_small_write_still_fits(url: str, make: Make) -> None:
    engine = create_engine(url, lock_seconds=LOCK_SECONDS)
    room = 10_000

    @event.listens_for(engine.sync_engine, "checkout")
    def _no_room(connection, _record, _proxy) -> None:  # type: ignore[no-untyped-def]
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA max_page_count = {room}")
        cursor.close()

    store = Store(engine)
    await store.ensure_participant("p")
    conversation = make.conversation("p")
    assert await look(engine) is None
    room = 1  # SQLite raises it to the present size
    with pytest.raises(StoreFull):
        await make.turn(store, conversation, "words " * 50_000)
    fault = await look(engine)
    assert isinstance(fault, StoreFull)
    assert fault.kind == "full"
    room = 10_000
    assert isinstance(await look(engine), StoreFull)  # nothing larger has been stored yet
    await make.turn(store, conversation, "words " * 50_000)
    assert await look(engine) is None
    await engine.dispose()


def test_a_full_disk_is_seen_before_a_write_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_room(tmp_path / "heard.db")
    disk = list(os.statvfs(tmp_path))
    disk[4] = LEAST_ROOM // disk[1] - 1  # blocks that are free for us
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(disk))
    with pytest.raises(StoreFull):
        check_room(tmp_path / "heard.db")
