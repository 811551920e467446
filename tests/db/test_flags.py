"""Flags of the scorer's page: who may write one, who is read for research, and the table's own rules."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import BEGIN, WRITE, _config, create_engine, upgrade
from heard.db.errors import StoreDenied, StoreError, StoreGone
from heard.db.records import ConsentRecord
from heard.db.store import Store
from tests.db.conftest import Make
from tests.db.test_store import count


async def agree(store: Store, make: Make, person: str, *, chat: bool = True, research: bool = True) -> None:
    await store.save_consent(ConsentRecord(person, "1", chat, research, make.now))


async def test_a_flag_comes_back_as_it_was_written(store: Store, make: Make, person: str) -> None:
    await agree(store, make, person)
    scored = make.flag(person, seeker="", note=None, score=make.score(perceived=None))
    unscored = make.flag(
        person,
        reply="🙂",
        created_at=make.now + timedelta(hours=1),
        score=make.score(
            status="emoji_only",
            reason="Emoji.",
            cognitive=None,
            emotional=None,
            behavioral=None,
            empathy=None,
            perceived=None,
        ),
    )
    for flag in (unscored, scored):
        await store.save_flag(flag)
    assert await store.research_flags() == [scored, unscored]


async def test_the_same_case_again_changes_the_note(store: Store, make: Make, person: str, path: Path) -> None:
    await agree(store, make, person)
    await agree(store, make, "other")
    await store.save_flag(make.flag(person, note="first\x00"))
    await store.save_flag(make.flag(person, note="second"))
    await store.save_flag(make.flag("other"))
    await store.save_flag(make.flag(person, seeker="Another message."))
    assert count(path, "flag") == 3
    notes = [flag.note for flag in await store.research_flags() if flag.participant_id == person]
    assert sorted(filter(None, notes)) == ["second", "why so high?"]


async def test_who_may_not_flag(store: Store, make: Make, person: str, path: Path) -> None:
    with pytest.raises(StoreDenied):  # has answered nothing
        await store.save_flag(make.flag(person))
    await agree(store, make, person)
    await agree(store, make, person, chat=False, research=False)
    with pytest.raises(StoreDenied):
        await store.save_flag(make.flag(person))
    await store.erase_participant(person)
    with pytest.raises(StoreGone):
        await store.save_flag(make.flag(person))
    assert count(path, "flag") == 0


@pytest.mark.parametrize(
    ("answers", "read"),
    [
        ([(True, True)], True),
        ([(True, False)], False),
        ([(True, False), (True, True)], True),
        ([(True, True), (True, False)], False),
        ([(True, True), (False, False)], False),
    ],
)
async def test_the_newest_answer_decides_what_research_reads(
    store: Store, make: Make, person: str, answers: list[tuple[bool, bool]], read: bool
) -> None:
    await agree(store, make, person)
    await store.save_flag(make.flag(person))
    for chat, research in answers:
        await agree(store, make, person, chat=chat, research=research)
    assert len(await store.research_flags()) == read


async def test_bad_numbers_are_refused(store: Store, make: Make, person: str, path: Path) -> None:
    await agree(store, make, person)
    for bad in ({"cognitive": 3.5}, {"empathy": 2.9}, {"behavioral": None}, {"status": "empty"}, {"head_sha256": ""},
                {"perceived": 3.5}):  # fmt: skip
        with pytest.raises(StoreError) as caught:
            await store.save_flag(make.flag(person, score=make.score(**bad)))
        assert (caught.value.rule or "").startswith("ck_flag_")
    assert count(path, "flag") == 0


async def test_a_database_of_the_first_version_gets_the_table(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "old.db"
    url = f"sqlite+aiosqlite:///{path}"
    engine = create_engine(url)
    await migrate(engine, "0001")
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO participant VALUES ('p', '2026-01-01 00:00:00')")
    connection.close()
    await upgrade(url)
    store = Store(engine)
    await agree(store, make, "p")
    await store.save_flag(make.flag("p"))
    assert (count(path, "participant"), count(path, "flag")) == (1, 1)
    await engine.dispose()


async def migrate(engine: AsyncEngine, revision: str) -> None:
    def work(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    async with engine.execution_options(**{BEGIN: WRITE}).begin() as connection:
        await connection.run_sync(work)
