"""`heard db upgrade`, `heard data person`, `heard erase`, `heard data flags` on a database in a fresh folder."""

import asyncio
import csv
import json
import sqlite3
from pathlib import Path

import pytest

from heard.db.engine import create_engine, upgrade
from heard.db.records import ConsentRecord
from heard.db.store import Store
from tests.commands import heard
from tests.db.conftest import Make
from tests.db.processes import holding

PERSON = "11111111-1111-4111-8111-111111111111"
WORDS = "a letter nobody else should read"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEARD_SAVE_SECONDS", "0.3")
    monkeypatch.delenv("HEARD_DATA_DIR", raising=False)
    monkeypatch.delenv("HEARD_DATABASE_URL", raising=False)
    return tmp_path


def refused(*arguments: str) -> str:
    """The sentence of a command that is refused with exit status 2."""
    sentence = heard(*arguments).sentence
    assert WORDS not in sentence
    return sentence


def fill(folder: Path) -> str:
    """A turn of PERSON; gives the conversation's id."""

    async def work() -> str:
        url = f"sqlite+aiosqlite:///{folder / 'var' / 'heard.db'}"
        await upgrade(url)
        engine, make = create_engine(url), Make()
        store = Store(engine)
        await store.save_consent(ConsentRecord(PERSON, "1", True, False, make.now))
        conversation = make.conversation(PERSON)
        await make.turn(store, conversation, WORDS)
        await engine.dispose()
        return conversation.id

    return asyncio.run(work())


def test_upgrade_makes_the_database_and_may_be_repeated(folder: Path) -> None:
    for _ in range(2):
        result = heard("db", "upgrade")
        assert result.status == 0
        assert "up to date" in result.stdout
    connection = sqlite3.connect(folder / "var" / "heard.db")
    assert connection.execute("SELECT count(*) FROM participant").fetchone() == (0,)
    connection.close()


def test_upgrade_does_not_show_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARD_DATABASE_URL", "postgresql+asyncpg://heard:hunter2@127.0.0.1:1/heard")
    assert "hunter2" not in refused("db", "upgrade")


def test_export_to_a_file_and_to_the_terminal(folder: Path) -> None:
    thread = fill(folder)
    out = folder / "me.json"
    assert heard("data", "person", PERSON, "--out", str(out)).status == 0
    assert out.stat().st_mode & 0o077 == 0
    stored = json.loads(out.read_text(encoding="utf-8"))
    assert stored["conversations"][0]["id"] == thread
    assert stored["conversations"][0]["messages"][0]["text"] == WORDS
    shown = json.loads(heard("data", "person", PERSON).stdout)
    assert shown | {"exported_at": ""} == stored | {"exported_at": ""}


def test_what_cannot_be_exported(folder: Path) -> None:
    assert "nobody" in refused("data", "person", "nobody")
    fill(folder)
    out = str(folder / "no" / "such" / "folder.json")
    assert "Choose another file" in refused("data", "person", PERSON, "--out", out)
    assert refused("data", "person", "'; DROP TABLE participant; --").startswith("Nothing is stored")


def test_erase_takes_the_rows_and_the_words(folder: Path) -> None:
    fill(folder)
    assert "--yes" in refused("erase", PERSON)
    result = heard("erase", PERSON, "--yes")
    assert result.status == 0
    counts = {line.split()[0]: int(line.split()[1]) for line in result.stdout.splitlines()}
    assert (counts["message"], counts["participant"], counts["threads"]) == (1, 1, 0)
    left = [item for item in (folder / "var").rglob("*") if item.is_file() and WORDS.encode() in item.read_bytes()]
    assert left == []
    assert "Nothing is stored" in refused("erase", PERSON, "--yes")


def test_a_locked_database_is_named(folder: Path) -> None:
    fill(folder)
    with holding(folder / "var" / "heard.db"):
        assert "busy" in refused("erase", PERSON, "--yes")
    assert heard("erase", PERSON, "--yes").status == 0


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "\n+1", "＝1+1", "'=1", "'quoted'")
HARMLESS = ("I hear you.", 'He said "no", and left;\nthen = came', "1-2", "", "🙂 ok")


def flag_some(folder: Path, texts: tuple[str, ...]) -> None:
    """Each text flagged by PERSON, who allows research, and by two who do not (any more)."""

    async def work() -> None:
        url = f"sqlite+aiosqlite:///{folder / 'var' / 'heard.db'}"
        await upgrade(url)
        engine, make = create_engine(url), Make()
        store = Store(engine)
        for who in (PERSON, "refuses", "withdrew"):
            await store.save_consent(ConsentRecord(who, "1", True, who != "refuses", make.now))
            for text in texts:
                await store.save_flag(make.flag(who, reply=text, note=text))
        await store.save_consent(ConsentRecord("withdrew", "1", False, False, make.now))
        await engine.dispose()

    asyncio.run(work())


def test_flags_as_csv_hold_no_formula_and_lose_nothing(folder: Path) -> None:
    flag_some(folder, FORMULAS + HARMLESS)
    out = folder / "flags.csv"
    assert heard("data", "flags", "--csv", "--out", str(out)).status == 0
    assert out.stat().st_mode & 0o077 == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["participant"] for row in rows} == {PERSON}
    for row in rows:
        for cell in row.values():
            assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝"))
        assert (row["status"], row["empathy"], row["head_name"]) == ("scored", "2.0000", "default")
        assert row["perceived"] == "2.4000"
    assert {row["reply"].removeprefix("'") for row in rows} == {*FORMULAS, *HARMLESS}
    assert {row["reply"] for row in rows} == {*(f"'{text}" for text in FORMULAS), *HARMLESS}
    assert heard("data", "flags", "--csv").stdout.splitlines()[0] == ",".join(f'"{name}"' for name in rows[0])


def test_flags_as_json_lines_are_as_they_were_written(folder: Path) -> None:
    flag_some(folder, FORMULAS)
    lines = [json.loads(line) for line in heard("data", "flags").stdout.splitlines()]
    assert {line["note"] for line in lines} == set(FORMULAS)
    assert {(line["cognitive"], line["perceived"]) for line in lines} == {(1.5, 2.4)}


def test_no_flags_give_a_header_alone_and_a_bad_file_a_sentence(folder: Path) -> None:
    assert len(heard("data", "flags", "--csv").stdout.splitlines()) == 1
    assert "Choose another file" in refused("data", "flags", "--csv", "--out", str(folder / "no" / "flags.csv"))
