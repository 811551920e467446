"""The recipes of docs/export.md give the shares of `heard results`, to the last digit, from an export of a study in
which everything happens that leaves a vote out or counts it in part."""

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from heard.db.desk_records import Actor
from heard.db.desk_store import DeskStore
from heard.db.engine import create_engine
from heard.db.study_records import Choice
from heard.db.study_tables import EnrolmentRow
from tests.chat_app.export.exporting import run
from tests.chat_app.export.test_recipes import code, ran
from tests.commands import heard
from tests.voters import NOW, Cast, put

NAMES = ("=model", "NA", "007")
ATTENTION = 90
WITHDREW, REFUSES, FAILS, SKIPS_THE_TEST, EXCLUDED = 2, 3, 4, 5, 7
Shares = dict[str, tuple[int, int, float, int, int, float | None]]
"""By source: marks as most, of ballots, share; the same for least."""


def casts() -> list[Cast]:
    """Fifteen people: each way in which a ballot counts, counts in part, or is left out."""
    found = []
    for who in range(15):
        order = NAMES[who % 3 :] + NAMES[: who % 3]
        right = order.index("NA") + 1
        found += [
            Cast(who, order, most=1 + who % 2, least=3, item=1),
            Cast(who, order, most=2, least=1, item=3, leaks=(order.index("=model") + 1,)),
            Cast(who, order, most=1, item=4, unvotable=(3,)),  # two could be chosen: no least
        ]
        kind = (Choice.SAME, Choice.NONE, Choice.SKIPPED)[who % 3]
        found.append(Cast(who, order, choice=kind, item=2))
        test = {FAILS: right % 3 + 1, SKIPS_THE_TEST: None}.get(who, right)
        of_test = Choice.RANKED if test else Choice.SKIPPED
        least = None if test is None else test % 3 + 1
        found.append(Cast(who, order, choice=of_test, most=test, least=least, item=ATTENTION, attention="NA"))
    return found


@pytest.fixture(scope="module")
def folder(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the database and its export."""
    here = tmp_path_factory.mktemp("shares")
    shutil.copyfile(migrated, here / "heard.db")

    async def fill() -> None:
        engine = create_engine(f"sqlite+aiosqlite:///{here / 'heard.db'}")
        consents = {WITHDREW: [(True, True), (False, False)], REFUSES: [(True, False)]}
        made = await put(engine, casts(), consents=consents)
        rows = [
            {"study_id": made.study, "participant_id": who, "seed": 1, "started_at": NOW}
            for who in made.people.values()
        ]
        async with engine.begin() as connection:
            await connection.execute(insert(EnrolmentRow), rows)
        await DeskStore(engine).exclude("warm", {made.people[EXCLUDED]: "Came twice."}, None, Actor("Ada"))
        await engine.dispose()

    asyncio.run(fill())
    run(f"sqlite+aiosqlite:///{here / 'heard.db'}", "warm", "--out", here / "results")
    return here


def from_results(folder: Path, *options: str) -> Shares:
    url = f"sqlite+aiosqlite:///{folder / 'heard.db'}"
    done = heard("results", "warm", "--json", *options, HEARD_DATABASE_URL=url, HEARD_DATA_DIR="/nonexistent")
    assert done.status == 0, done.stderr

    def flat(one: Any) -> tuple[Any, ...]:
        return (
            *(one["most"][key] for key in ("count", "of", "share")),
            *(one["least"][key] for key in ("count", "of", "share")),
        )

    return {one["source"]: flat(one) for one in json.loads(done.stdout)["shares"]}


WAYS: tuple[tuple[str, ...], ...] = (
    (),
    ("--passed-attention",),
    ("--with-leaks",),
    ("--passed-attention", "--with-leaks"),
)


def test_pandas_gives_the_numbers_of_heard_results(folder: Path) -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    calls = ", ".join(f"dict({', '.join(f'{one[2:].replace(chr(45), chr(95))}=True' for one in way)})" for way in WAYS)
    ask = f"""
import json
for way in [{calls}]:
    found = shares(shown(**way))
    rows = zip(found.index, found.to_numpy())
    print("##" + json.dumps({{source: [float(cell) for cell in row] for source, row in rows}}))
"""
    said = ran(folder, sys.executable, "-W", "error", "-c", code("pandas") + "\n" + ask)
    found = [json.loads(line[2:]) for line in said.splitlines() if line.startswith("##")]
    assert [{source: tuple(row) for source, row in one.items()} for one in found] == expected(folder)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R: apt-get install r-base-core")
def test_r_gives_the_numbers_of_heard_results(folder: Path) -> None:
    calls = ", ".join(
        f"list({', '.join(f'{one[2:].replace(chr(45), chr(95))} = TRUE' for one in way)})" for way in WAYS
    )
    ask = f"""
for (way in list({calls})) {{
  found <- shares(do.call(shown, way))
  cat("##\\n")
  for (i in seq_len(nrow(found))) with(found[i, ], cat("#", source, sprintf("%.17g", c(most, most_of, most_share, least,
    least_of, least_share)), "\\n"))
}}
"""
    script = folder / "shares.R"
    script.write_text(f"options(warn = 2)\n{code('R')}\n{ask}\n", encoding="utf-8")
    said = ran(folder, "Rscript", "--vanilla", "--encoding=UTF-8", str(script))
    found: list[dict[str, tuple[float, ...]]] = []
    for line in said.splitlines():
        if line == "##":
            found.append({})
        elif line.startswith("# "):
            _, source, *cells = line.split()
            found[-1][source] = tuple(map(float, cells))
    assert found == expected(folder)


def expected(folder: Path) -> list[Shares]:
    """What `heard results` says in each way; each of them leaves out something else."""
    every = [from_results(folder, *way) for way in WAYS]
    assert len({json.dumps(one, sort_keys=True) for one in every}) == len(WAYS)
    assert all(one.keys() == set(NAMES) for one in every)
    return every
