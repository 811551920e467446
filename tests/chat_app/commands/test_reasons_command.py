"""Reasons as a sheet for two raters, and back: agreement, counts by source, differences, quotes."""

import asyncio
import csv
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import text

from heard.db.desk_records import Actor
from heard.db.desk_store import DeskStore
from heard.db.engine import create_engine
from heard.db.study_records import Choice
from tests.commands import Done, heard
from tests.voters import Cast, put

CODEBOOK = "code,definition\nFelt heard,It says that the person was understood.\nAdvice,It names something to do.\n"
WITHDREW, CUT = 10, 11


@pytest.fixture
def folder(migrated: Path, tmp_path: Path) -> Path:
    """Twelve people, two items: those below six chose "warm" and say why, the others "cool"."""
    shutil.copyfile(migrated, tmp_path / "heard.db")

    async def fill() -> None:
        engine = create_engine(f"sqlite+aiosqlite:///{tmp_path / 'heard.db'}")
        casts = [
            Cast(who, ("warm", "cool", "flat"), most=1 if who < 6 else 2, least=3, item=1 + who % 2)
            for who in range(12)
        ]
        casts.append(Cast(0, ("warm", "cool", "flat"), choice=Choice.SAME, item=2))
        made = await put(engine, casts, consents={WITHDREW: [(True, True), (False, False)]})
        async with engine.begin() as connection:
            for who, person in made.people.items():
                why = f"=It listened to me, my friend Zoltan said {who}" if who < 6 else f"It told me what to do {who}"
                await connection.execute(
                    text("UPDATE vote SET reason = :why WHERE participant_id = :person AND choice = 'ranked'"),
                    {"why": why, "person": person},
                )
        await DeskStore(engine).exclude("warm", {made.people[CUT]: "Came twice."}, None, Actor("Ada"))
        await engine.dispose()

    asyncio.run(fill())
    (tmp_path / "codes.csv").write_text(CODEBOOK, encoding="utf-8")
    return tmp_path


def study(folder: Path, *arguments: str | Path) -> Done:
    return heard("study", *arguments, folder=folder, HEARD_DATABASE_URL=f"sqlite+aiosqlite:///{folder / 'heard.db'}")


def code_as(folder: Path, name: str, others: Sequence[str] = ()) -> Path:
    """A rater's copy of the sheet, coded by what the reasons say; the first rows get `others` instead."""
    with (folder / "sheet.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for place, row in enumerate(rows):
        row["codes"] = (
            "felt heard" if "listened" in row["reason"] else "ADVICE; felt heard" if " 6" in row["reason"] else "-"
        )
        row["codes"] = others[place] if place < len(others) else row["codes"]
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder / name


def test_two_raters_code_and_what_it_says(folder: Path) -> None:
    done = study(folder, "reasons", "warm", "--out", "sheet.csv", "--suggest")
    assert done.status == 0, done.stderr
    sheet = (folder / "sheet.csv").read_text(encoding="utf-8")
    with (folder / "sheet.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["ballot_id", "reason", "codes", "machine_suggestion"]
    assert len(rows) == 10  # neither of whom withdrew nor of whom is excluded
    assert not any(name in sheet for name in ("warm", "cool", "flat"))
    assert {row["reason"][:2] for row in rows} == {"'=", "It"}
    kinds = {(row["machine_suggestion"], "listened" in row["reason"]) for row in rows}
    assert len(kinds) == 2  # two clusters, one of each kind of reason
    ann, ben = code_as(folder, "ann.csv"), code_as(folder, "ben.csv", ("Advice",))
    done = study(folder, "coded", "warm", ann, ben, "--codebook", "codes.csv", "--out", "coded", "--quotes", "2")
    assert done.status == 0, done.stderr
    assert "10 of 10 reasons coded; raters differ on 1." in done.stdout
    with (folder / "coded" / "codebook.csv").open(encoding="utf-8", newline="") as file:
        figures = {row["code"]: row for row in csv.DictReader(file)}
    assert figures["Advice"]["ann.csv"] == "1"
    assert figures["Advice"]["ben.csv"] == ("2" if " 6" not in rows[0]["reason"] else "1")
    assert min(float(row["alpha"]) for row in figures.values()) < 1
    with (folder / "coded" / "differences.csv").open(encoding="utf-8", newline="") as file:
        [one] = list(csv.DictReader(file))
    assert (one["ballot_id"], one["ben.csv"]) == (rows[0]["ballot_id"], "Advice")
    assert "my friend [name] said" in done.stdout
    assert "Zoltan" not in done.stdout
    alone = study(folder, "coded", "warm", ann, "--codebook", "codes.csv")
    assert "6 of 6, 100.0% (" in " ".join(alone.stdout.split())
    assert "alpha" not in alone.stdout
    assert max(map(len, study(folder, "coded", "warm", ann, ben).stdout.splitlines())) <= 80


def test_faults_are_sentences_with_their_line(folder: Path) -> None:
    assert "There is no study" in study(folder, "reasons", "wram", "--out", "x.csv").sentence
    assert study(folder, "reasons", "warm", "--out", "sheet.csv").status == 0
    assert "is there already" in study(folder, "reasons", "warm", "--out", "sheet.csv").sentence
    assert "has no coded reason" in study(folder, "coded", "warm", "sheet.csv").sentence
    ann = code_as(folder, "ann.csv", ("felt herd",))
    told = study(folder, "coded", "warm", ann, "--codebook", "codes.csv").sentence
    assert 'line 2: the codebook has no code "felt herd"' in told
    assert "Felt heard" in told
    assert "named twice" in study(folder, "coded", "warm", ann, ann).sentence
    twice = folder / "twice.csv"
    twice.write_text(ann.read_text(encoding="utf-8") + ann.read_text(encoding="utf-8").splitlines()[1] + "\n")
    assert "stands there twice" in study(folder, "coded", "warm", twice).sentence
    (folder / "codes.csv").write_text("code,definition\na;b,c\n", encoding="utf-8")
    assert "line 2" in study(folder, "coded", "warm", ann, "--codebook", "codes.csv").sentence
    assert "too few for a suggestion" not in study(folder, "reasons", "warm", "--out", "b.csv", "--suggest").stderr
