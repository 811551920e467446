"""The recipes of docs/export.md, run as they stand there on ids that a careless reader would change; spreadsheets."""

import asyncio
import codecs
import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heard.db.engine import create_engine
from heard.db.store import Store
from heard.db.study_store import StudyStore
from tests.chat_app.export.exporting import read_csv, read_parquet, run
from tests.db.conftest import Make
from tests.db.studying import Studying

PAGE = (Path(__file__).parents[3] / "docs" / "export.md").read_text(encoding="utf-8")
IDS = (
    "007", "5E10", "1e5", "3-4", "12345678901234567890", "NA", "nan", "null", "None", "TRUE", "false", "1.50", "0x1F",
    "MAR1", "sept-2", "2024-01-31", "1_000", "Inf", "F", "00",
)  # fmt: skip
SOURCES = ("NA", "007", "élan")


def code(heading: str, number: int = 0) -> str:
    """The code under a heading of the page."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", section, re.MULTILINE)
    found = [re.sub(r"^ {4}", "", block, flags=re.MULTILINE).strip("\n") for block in blocks]
    return [block for block in found if block][number]


@pytest.fixture(scope="module")
def database(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study with these ids, one person each, whose first vote is for the first answer."""
    path = tmp_path_factory.mktemp("ids") / "heard.db"
    shutil.copyfile(migrated, path)

    async def fill() -> None:
        engine = create_engine(f"sqlite+aiosqlite:///{path}")
        s = Studying(Store(engine), Make())
        await s.survey(study="2024-01", sources=SOURCES)
        for number, pid in enumerate(IDS):
            person = await s.agree(f"person-{number:02}")
            (ballot, _) = await s.enrolled(person, study="2024-01", sources=SOURCES)
            await StudyStore(engine).vote(s.cast(ballot, reason=pid))
            await set_id(engine, person, pid)
        await engine.dispose()

    asyncio.run(fill())
    return f"sqlite+aiosqlite:///{path}"


async def set_id(engine: Any, person: str, pid: str) -> None:
    from sqlalchemy import text

    async with engine.begin() as connection:
        await connection.execute(
            text("UPDATE enrolment SET external_id = :pid WHERE participant_id = :person"),
            {"pid": pid, "person": person},
        )


@pytest.fixture
def folder(database: str, tmp_path: Path) -> Path:
    run(database, "2024-01", "--out", tmp_path / "results", "--with-external-ids")
    return tmp_path


def ran(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_recipes_for_pandas_keep_ids(folder: Path) -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    ask = "print(len(whole), '\\n'.join(people.external_id), people.study[0], sep='\\n')"
    script = "\n".join((*(code("pandas", number) for number in range(3)), ask))
    said = ran(folder, sys.executable, "-W", "error", "-c", script).split()
    assert said[-len(IDS) - 2 :] == [str(3 * len(IDS)), *IDS, "2024-01"]
    assert set(SOURCES) <= set(said)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R: apt-get install r-base-core")
def test_the_recipe_for_r_keeps_ids(folder: Path) -> None:
    ask = 'cat(nrow(whole), people$external_id, people$study[1], sep = "\\n")'
    script = folder / "recipe.R"
    script.write_text(f"options(warn = 2)\n{code('R')}\n{code('R', 1)}\n{ask}\n", encoding="utf-8")
    said = ran(folder, "Rscript", "--vanilla", "--encoding=UTF-8", str(script)).split()
    assert said[-len(IDS) - 2 :] == [str(3 * len(IDS)), *IDS, "2024-01"]
    assert set(SOURCES) <= set(said)


def excel_value(cell: str) -> str:
    """What a spreadsheet shows of a cell, if it takes the cell for a text."""
    found = re.fullmatch(r'="(.*)"', cell, re.DOTALL)
    return found[1] if found else cell.removeprefix("'")


def test_a_spreadsheet_gets_its_mark_and_ids_as_texts(database: str, tmp_path: Path) -> None:
    plain, excel = tmp_path / "plain", tmp_path / "excel"
    run(database, "2024-01", "--out", plain, "--with-external-ids")
    run(database, "2024-01", "--out", excel, "--with-external-ids", "--excel")
    files = sorted(path.name for path in excel.glob("*.csv"))
    assert files == sorted(path.name for path in plain.glob("*.csv"))
    for name in files:
        raw = (excel / name).read_bytes()
        assert raw.startswith(codecs.BOM_UTF8)
        assert not raw.startswith(codecs.BOM_UTF8 * 2)
        assert not (plain / name).read_bytes().startswith(codecs.BOM_UTF8)
    with (excel / "people.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with (excel / "votes_wide.csv").open(encoding="utf-8-sig", newline="") as file:
        votes = list(csv.DictReader(file))
    assert [excel_value(row["external_id"]) for row in rows] == list(IDS)
    assert {row["study"] for row in rows} == {'="2024-01"'}
    for said, row, vote in zip(IDS, rows, votes, strict=True):
        # Letters alone, but for those that a spreadsheet knows, need nothing.
        changed = bool(re.match(r"\d|MAR|sept|TRUE|false", said))
        assert row["external_id"] == (f'="{said}"' if changed else said)
        assert vote["reason"] == row["external_id"]
    assert read_parquet(excel / "people.parquet") == read_parquet(plain / "people.parquet")
    assert [row["external_id"] for row in read_csv(plain / "people.csv")] == list(IDS)
