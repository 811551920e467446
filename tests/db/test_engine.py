"""How a database is opened and migrated."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db import engine as engine_module
from heard.db.engine import BEGIN, WRITE, create_engine, upgrade
from heard.db.errors import StoreError, StoreUnavailable
from heard.db.store import Store
from heard.db.tables import Base
from tests.db.conftest import PATIENT_SECONDS, Make

ROOT = Path(__file__).parents[2]
OURS = {"participant", "consent", "conversation", "message", "reply", "draft", "score", "flag", "summary"}
OURS |= {"study", "item", "answer", "enrolment", "ballot", "slot", "vote", "vote_change", "thumb", "felt_heard"}
OURS |= {"flow_count", "preregistration"}
OURS |= {"study_texts", "archived_answer", "held_item"}
OURS |= {"question_answer"}
OURS |= {"exclusion", "access_link", "desk_log"}
CHAINLITS = {"users", "threads", "steps", "elements", "feedbacks"}


def schema(path: Path) -> dict[str, list[str]]:
    """The SQL of every table and index by name, cut at its outer commas and put in order: each part is one rule."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    # A table that a migration made anew has quotes round its name.
    return {name: parts(" ".join(sql.replace(f'TABLE "{name}"', f"TABLE {name}").split())) for name, sql in rows}


def parts(sql: str) -> list[str]:
    head, _, body = sql.partition("(")
    found, depth = [""], 0
    for letter in body:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [head, *sorted(part.strip(" )").replace("( ", "(") for part in found)]


async def test_from_nothing_and_again(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "100%.db"
    url = f"sqlite+aiosqlite:///{path}"
    await upgrade(url)
    first = schema(path)
    assert OURS | CHAINLITS | {"alembic_version"} <= set(first)
    stamp = path.stat().st_mtime_ns
    await upgrade(url)
    assert schema(path) == first
    assert path.stat().st_mtime_ns == stamp
    assert path.stat().st_mode & 0o077 == 0  # nobody else may read what people wrote


async def test_migrations_and_tables_say_the_same(engine: AsyncEngine, path: Path, tmp_path: Path) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), Base.metadata))

    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    # Alembic does not look at CHECK constraints; the text of the schema has them.
    made = tmp_path / "made.db"
    fresh = create_engine(f"sqlite+aiosqlite:///{made}")
    async with fresh.execution_options(**{BEGIN: WRITE}).begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    await fresh.dispose()
    migrated = schema(path)
    del migrated["alembic_version"]
    assert migrated == schema(made)


async def test_our_tables_are_not_chainlits() -> None:
    assert {table.name for table in Base.metadata.sorted_tables} == OURS | CHAINLITS
    assert not OURS & CHAINLITS


async def test_down_and_up_again(url: str, path: Path) -> None:
    from alembic import command

    before = schema(path)
    engine = create_engine(url)
    async with engine.execution_options(**{BEGIN: WRITE}).begin() as connection:

        def down(sync: Connection) -> None:
            config = engine_module._config()
            config.attributes["connection"] = sync
            command.downgrade(config, "base")

        await connection.run_sync(down)
    await engine.dispose()
    assert set(schema(path)) == {"alembic_version"}
    await upgrade(url)
    assert schema(path) == before


async def test_an_upgrade_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.mkdir(exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE score (in_the_way TEXT)")  # the migration's last table
    connection.commit()
    connection.close()
    with pytest.raises(StoreError):
        await upgrade(f"sqlite+aiosqlite:///{path}")
    assert set(schema(path)) == {"score"}


async def test_a_newer_database(url: str, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreUnavailable, match="newer version"):
        await upgrade(url)


def test_two_starters_at_once_from_anywhere(tmp_path: Path) -> None:
    """Three processes in a foreign folder, with a program that finds `db` as an installed package."""
    path = tmp_path / "shared.db"
    program = "import sys; from heard.db.engine import upgrade_sync; sys.stdin.readline(); upgrade_sync(sys.argv[1])"
    starters = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", program, f"sqlite+aiosqlite:///{path}"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("\n")
        starter.stdin.flush()
    for starter in starters:
        _, errors = starter.communicate(timeout=60)
        assert (starter.returncode, errors) == (0, "")
    assert set(schema(path)) >= OURS | CHAINLITS


async def test_every_connection_is_prepared(engine: AsyncEngine) -> None:
    async def pragmas() -> dict[str, object]:
        async with engine.connect() as connection:
            names = ("journal_mode", "foreign_keys", "synchronous", "secure_delete", "busy_timeout")
            return {name: (await connection.execute(text(f"PRAGMA {name}"))).scalar_one() for name in names}

    for found in await asyncio.gather(*(pragmas() for _ in range(8))):
        assert found == {
            "journal_mode": "wal",
            "foreign_keys": 1,
            "synchronous": 1,
            "secure_delete": 1,
            "busy_timeout": PATIENT_SECONDS * 1000,
        }


async def test_two_tabs_at_once(store: Store, make: Make, person: str) -> None:
    """Forty turns at once in two conversations: all there, in an order without gaps."""
    conversations = [make.conversation(person), make.conversation(person)]
    await asyncio.gather(*(make.turn(store, conversations[number % 2], f"m{number}") for number in range(40)))
    for conversation in conversations:
        assert len(await store.messages(conversation.id)) == 20
        assert len(await store.replies(conversation.id)) == 20


_WRITER = """
import asyncio, sys, uuid
from tests.db.conftest import PATIENT_SECONDS, Make
from heard.db.engine import create_engine
from heard.db.store import Store
from heard.db.records import ConversationRecord

async def main(url, person, conversation_id):
    engine = create_engine(url, lock_seconds=30)
    store, make = Store(engine), Make()
    conversation = ConversationRecord(conversation_id, person, "study", make.now)
    for _ in range(10):
        await make.turn(store, conversation)
    await engine.dispose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_writers_in_many_processes(store: Store, make: Make, person: str, url: str, path: Path) -> None:
    conversation_id = make.id()
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _WRITER, url, person, conversation_id, cwd=ROOT, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    for writer in writers:
        _, errors = await writer.communicate()
        assert (writer.returncode, errors) == (0, b"")
    connection = sqlite3.connect(path)
    positions = [row[0] for row in connection.execute("SELECT position FROM message ORDER BY position")]
    assert positions == list(range(1, 31))
    assert connection.execute("SELECT count(*) FROM score").fetchone() == (30,)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
