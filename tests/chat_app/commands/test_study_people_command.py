"""`heard study people`, `exclude` and `include` on a real database."""

import asyncio
import csv
import io
import re
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert

from heard.chat_app.common.settings import Settings
from heard.db.engine import create_engine
from heard.db.study_tables import EnrolmentRow
from tests.commands import heard
from tests.voters import NOW, Cast, put


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    """Three people: anna and ben finished, of whom ben always marked C; the third walked in and did not."""
    data = tmp_path / "var"
    data.mkdir()
    shutil.copy(migrated, data)

    async def fill() -> None:
        engine = create_engine(Settings(data_dir=data).database)
        places = {0: (1, 2, 3, 1, 2, 3), 1: (3,) * 6, 2: (1, 2)}
        marked = [(who, most) for who, marks in places.items() for most in marks]
        casts = [Cast(who, ("ann", "bot", "cat"), most, most % 3 + 1) for who, most in marked]
        made = await put(engine, casts)
        people = [("anna", NOW), ("ben", NOW), (None, None)]
        rows = [
            {"study_id": "warm", "participant_id": made.people[number], "external_id": name, "seed": 1,
             "started_at": NOW + timedelta(minutes=number), "completed_at": done}
            for number, (name, done) in enumerate(people)
        ]  # fmt: skip
        async with engine.begin() as connection:
            await connection.execute(insert(EnrolmentRow), rows)
        await engine.dispose()

    asyncio.run(fill())
    return tmp_path


def test_people_are_listed_excluded_and_taken_in_again(folder: Path) -> None:
    def run(*arguments: str) -> str:
        done = heard("study", *arguments, folder=folder)
        assert (done.status, done.stderr) == (0, ""), done.stderr
        return done.stdout

    shown = run("people", "warm")
    assert "3 people: 2 finished, 1 under way." in shown
    assert "100%" in shown
    assert run("people", "warm", "--csv", "all.csv") == "Written: all.csv\n"
    rows = list(csv.DictReader(io.StringIO((folder / "all.csv").read_text(encoding="utf-8"))))
    assert {(row["external_id"], row["state"], row["judged"], row["given"]) for row in rows} == {
        ("anna", "finished", "6", "6"), ("ben", "finished", "6", "6"), ("", "under way", "2", "2"),
    }  # fmt: skip
    assert "straight-lining=90%: 1 of 3 people\n  ben: Marked the same place" in run(
        "exclude", "warm", "--rule", "straight-lining", "--dry-run"
    )
    assert "12 of" not in heard("results", "warm", folder=folder).stdout
    assert "Excluded: 1." in run("exclude", "warm", "--rule", "straight-lining=90%")
    left = heard("results", "warm", folder=folder).stdout
    assert "Left out: The person was excluded from the study" in left
    paid = run("people", "warm", "--to-pay").splitlines()
    assert [line.split(",")[:2] for line in paid] == [
        ["external_id", "outcome"], ["anna", "finished"], ["ben", "finished"],
    ]  # fmt: skip
    assert "Marked the same place" in paid[2]
    assert "Lifted: 1." in run("include", "warm", "--person", "ben", "--reason", "A tremor.")
    assert "excluded from the study" not in heard("results", "warm", folder=folder).stdout


def test_links_are_made_shown_and_revoked_and_a_study_rests(folder: Path) -> None:
    def run(*arguments: str, **environment: str) -> str:
        done = heard("study", *arguments, folder=folder, **environment)
        assert (done.status, done.stderr) == (0, ""), done.stderr
        return done.stdout

    made = run("invite", "warm", "--role", "researcher", "--name", "Grace", HEARD_PUBLIC_HOST="lab.example.org")
    _, token, name = re.search(r"(https://lab\.example\.org/desk)#(k[0-9a-f]{40})\n.*revoke (\w{8})", made).groups()  # type: ignore[union-attr]
    assert "/survey/warm?pid=k" in run("invite", "warm", "--role", "rater", "--name", "Rater 1")
    shown = run("access", "warm")
    assert f"{name}  researcher   Grace" in shown
    assert token not in shown
    assert run("revoke", name) == "Revoked: the link of Grace (researcher of warm).\n"
    assert "(revoked " in run("access", "warm")
    run("pause", "warm")
    assert "paused" in run("status", "warm")
    run("resume", "warm")
    assert "paused" not in run("status", "warm")
    assert "let the study go on" in run("access", "warm")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("people", "wram"), 'There is no study "wram". Did you mean'),
        (("exclude", "warm"), "Say whom"),
        (("exclude", "warm", "--person", "anna"), "needs a --reason"),
        (("exclude", "warm", "--person", "nobody", "--reason", "x"), "Nobody of this study"),
        (("exclude", "warm", "--rule", "fats=3s"), 'There is no rule "fats". Did you mean'),
        (("invite", "warm", "--role", "led", "--name", "x"), 'There is no role "led". Did you mean'),
        (("revoke", "nothing"), 'There is no link "nothing".'),
        (("include", "warm", "--person", "anna", "--reason", "x"), "None of these people is excluded"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in heard("study", *arguments, folder=folder).sentence
