"""A preregistered study: its file, its closed results and exports, and the two ways in which they open."""

import asyncio
import csv
import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, update
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import create_engine, upgrade
from heard.db.preregistration import preregistration, register, registered_file
from heard.db.store import Store
from heard.db.study_tables import EnrolmentRow, PreregistrationRow, StudyRow
from tests.commands import heard
from tests.voters import NOW, Cast, Put, put

URL = "sqlite+aiosqlite:///var/heard.db"
NAMES = ("human", "plain", "warm")
PLAN = b"%PDF-1.7 \x00\xff the plan"
CASTS = [Cast(n, NAMES, most=1 + n % 2, least=3) for n in range(4)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEARD_DATA_DIR", raising=False)
    monkeypatch.delenv("HEARD_DATABASE_URL", raising=False)
    (tmp_path / "plan.pdf").write_bytes(PLAN)
    return tmp_path


async def filled(*studies: str) -> Put:
    await upgrade(URL)
    engine = create_engine(URL)
    made = {study: await put(engine, CASTS, study=study) for study in studies}
    for study, one in made.items():
        await enrol(engine, study, list(one.people.values()))
    await engine.dispose()
    return made[studies[0]]


async def enrol(engine: AsyncEngine, study: str, people: list[str]) -> None:
    async with engine.begin() as connection:
        rows = [dict(study_id=study, participant_id=one, seed=0, started_at=NOW) for one in people]
        await connection.execute(insert(EnrolmentRow), rows)


async def finish(people: list[str]) -> None:
    engine = create_engine(URL)
    async with engine.begin() as connection:
        finished = EnrolmentRow.participant_id.in_(people)
        await connection.execute(update(EnrolmentRow).where(finished).values(completed_at=NOW))
    await engine.dispose()


def test_results_and_exports_are_closed_until_enough_people_have_finished_and_stay_open(folder: Path) -> None:
    made = asyncio.run(filled("warm", "other"))
    done = heard("study", "preregister", "warm", "plan.pdf", "--stop-after", "people=2")
    assert done.status == 0, done.stderr
    assert hashlib.sha256(PLAN).hexdigest() in done.stdout
    assert "Votes were there before: 4" in done.stdout
    for closed in (
        heard("results", "warm"),
        heard("results", "warm", "--json", "--by", "item"),
        heard("results", "warm", "--flow", "--pictures", "p"),
        heard("export", "warm", "--out", "e"),
    ):
        assert "until 2 people have finished (now 0)" in closed.sentence
        assert "heard study open-results warm" in closed.sentence
    assert not (folder / "e").exists()
    assert not (folder / "p").exists()
    assert "already" in heard("study", "preregister", "warm", "plan.pdf", "--stop-after", "people=9").sentence
    every = heard("export", "--all", "--out", "all")
    assert 'Left out: The results of "warm" are closed' in every.stdout
    for name, number in {"votes_wide": 4, "people": 4, "items": 1, "answers": 3, "studies": 1}.items():
        with (folder / "all" / f"{name}.csv").open(encoding="utf-8") as file:
            assert [row["study"] for row in csv.DictReader(file)] == ["other"] * number, name
    assert len((folder / "all" / "votes_long.csv").read_text(encoding="utf-8").splitlines()) == 1 + 4 * 3
    people = list(made.people.values())
    asyncio.run(finish(people[:2]))
    assert heard("results", "warm").status == 0
    status = heard("study", "status", "warm").stdout
    assert "registered   plan.pdf" in status
    assert "results      open, stop rule met by" in status

    async def erased() -> None:  # and stays open when somebody erases everything
        engine = create_engine(URL)
        await Store(engine).erase_participant(people[0])
        await engine.dispose()

    asyncio.run(erased())
    assert heard("results", "warm").status == 0
    manifest = folder / "e" / "manifest.json"
    assert heard("export", "warm", "--out", "e").status == 0
    (noted,) = json.loads(manifest.read_text(encoding="utf-8"))["preregistrations"].values()
    assert (noted["sha256"], noted["stop_rule"], noted["votes_before"], noted["opened_by"]) == (
        hashlib.sha256(PLAN).hexdigest(), "2 people have finished", 4, None,
    )  # fmt: skip


def test_results_are_opened_before_with_a_name_and_a_reason_that_stay(folder: Path) -> None:
    asyncio.run(filled("warm"))
    assert "no preregistration" in heard("study", "open-results", "warm", "--reason", "x", "--by", "me").sentence
    day = f"{datetime.now(UTC) + timedelta(days=9):%Y-%m-%d}"
    both = ("--stop-after", "people=60", "--stop-after", f"date={day}")
    assert heard("study", "preregister", "warm", "plan.pdf", *both).status == 0
    status = heard("study", "status", "warm").stdout
    assert f"stop rule    60 people have finished, or {day} 00:00 UTC, whichever comes first" in status
    assert "results      closed; 0 have finished" in status
    assert "Say why" in heard("study", "open-results", "warm", "--reason", " ", "--by", "me").sentence
    opened = heard("study", "open-results", "warm", "--reason", "The board\nasked.", "--by", "R. Lee")
    assert opened.status == 0, opened.stderr
    assert "open since" in heard("study", "open-results", "warm", "--reason", "x", "--by", "me").sentence
    assert heard("results", "warm").status == 0
    assert "by R. Lee: The board asked." in heard("study", "status").stdout
    assert heard("export", "warm", "--out", "e").status == 0
    manifest = json.loads((folder / "e" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["preregistrations"]["warm"]["opened_reason"] == "The board asked."


def test_what_is_no_stop_rule_or_no_file_is_refused(folder: Path) -> None:
    asyncio.run(filled("warm"))
    (folder / "empty").write_bytes(b"")
    for arguments, words in (
        (("warm", "plan.pdf"), "needs a stop rule"),
        (("warm", "plan.pdf", "--stop-after", "people=0"), "cannot be"),
        (("warm", "plan.pdf", "--stop-after", "votes=5"), "cannot be"),
        (("warm", "plan.pdf", "--stop-after", "date=soon"), "no date"),
        (("warm", "plan.pdf", "--stop-after", "date=2020-01-01"), "past"),
        (("warm", "none.pdf", "--stop-after", "people=5"), "Cannot read"),
        (("warm", "empty", "--stop-after", "people=5"), "is empty"),
        (("wram", "plan.pdf", "--stop-after", "people=5"), "Did you mean"),
    ):
        assert words in heard("study", "preregister", *arguments).sentence


async def test_the_day_opens_people_without_research_do_not_count_and_the_file_is_kept(folder: Path) -> None:
    await upgrade(URL)
    engine = create_engine(URL)
    made = await put(engine, CASTS, consents={0: [(True, True), (True, False)]})
    people = list(made.people.values())
    day = datetime(2027, 3, 1, tzinfo=UTC)
    await register(
        engine, "warm", "plan.pdf", PLAN, people=2, at=day, now=datetime(2027, 1, 1, tzinfo=UTC), heard="1"
    )  # fmt: skip
    await enrol(engine, "warm", people)
    await finish(people[:2])
    before = await preregistration(engine, "warm", day - timedelta(seconds=1))
    assert before is not None
    assert (before.people, before.closed) == (1, True)
    async with engine.begin() as connection:
        await connection.execute(update(StudyRow).values(definition_sha256="1" * 64))
    after = await preregistration(engine, "warm", day)
    assert after is not None
    assert (after.closed, after.met_at, after.sentence) == (False, day, "")
    assert after.definition_now != after.definition_sha256
    assert await registered_file(engine, "warm") == PLAN
    async with engine.begin() as connection:  # a live study counts who has voted
        await connection.execute(update(PreregistrationRow).values(met_at=None, stop_at=None, stop_people=4))
        await connection.execute(update(StudyRow).values(kind="live"))
    live = await preregistration(engine, "warm", day)
    assert live is not None
    assert (live.people, live.closed, "people have voted (now 3)" in live.sentence) == (3, True, True)
    await engine.dispose()
