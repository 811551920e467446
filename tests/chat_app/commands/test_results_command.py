"""`heard results` on a database in a fresh folder."""

import asyncio
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from heard.db.engine import create_engine, upgrade
from tests.commands import Done, heard
from tests.voters import Cast, put

NAMES = ("ann & co", "[bold]ben", "人間")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEARD_DATA_DIR", raising=False)
    monkeypatch.delenv("HEARD_DATABASE_URL", raising=False)
    return tmp_path


def run(*arguments: str) -> Done:
    return heard("results", *arguments)


def fill(casts: list[Cast]) -> None:
    async def work() -> None:
        url = "sqlite+aiosqlite:///var/heard.db"
        await upgrade(url)
        engine = create_engine(url)
        await put(engine, casts)
        await engine.dispose()

    asyncio.run(work())


VOTES = [Cast(n, NAMES[n % 3 :] + NAMES[: n % 3], most=1 + n % 2, least=3, condition="x") for n in range(12)]


def test_tables_json_and_pictures_say_the_same(folder: Path) -> None:
    fill([*VOTES, Cast(1, NAMES, most=1, least=2, leaks=(1,), item=2)])
    shown = run("warm")
    assert shown.status == 0, shown.stderr
    for words in (*NAMES, "50.0%", "All rows", "An answer on the ballot gave its"):
        assert words in shown.stdout
    read = json.loads(run("warm", "--json", "--pictures", "figures").stdout.split("\nPictures")[0])
    assert (read["counted"]["rows"], read["counted"]["kept"], read["counted"]["leaks"]) == (13, 12, 1)
    assert sum(one["most"]["count"] for one in read["shares"]) == 12
    assert json.loads(run("warm", "--json", "--with-leaks").stdout)["counted"]["kept"] == 13
    for name in ("most-least.svg", "strengths.svg"):
        drawing = ElementTree.parse(folder / "figures" / name)
        texts = "".join(drawing.getroot().itertext())
        assert all(one in texts for one in NAMES)


def test_every_table_tells_its_sample_and_a_source_can_be_hidden() -> None:
    fill([*VOTES, Cast(1, NAMES, most=1, least=2, leaks=(1,), item=2)])
    shown = run("warm").stdout
    for words in ("of ballots", "From 12 ballots of 12 people.", "ballots", "marks", "6 of 12", "showings", "1 of 13"):
        assert words in shown, words
    assert "over 1 items and 12 judgements" in shown
    hidden = run("warm", "--hide", NAMES[0], "--hide", NAMES[2]).stdout
    assert f"Hidden, and counted all the same: {NAMES[0]}, {NAMES[2]}." in hidden
    tables = hidden.split("\n", 1)[1]
    assert NAMES[0] not in tables
    assert NAMES[1] in tables
    read, all_of_it = (json.loads(run("warm", "--json", *more).stdout) for more in (["--hide", NAMES[0]], []))
    assert read["counted"] == all_of_it["counted"]
    assert (read["hidden"], len(read["shares"]), len(all_of_it["shares"])) == ([NAMES[0]], 2, 3)


def test_what_costs_more_is_asked_for_by_its_name(folder: Path) -> None:
    votes = []
    for person in range(8):
        for item in range(1, 5):
            turn, words = item % 3, (60 + item, 30, 90)
            votes.append(
                Cast(
                    person, NAMES[turn:] + NAMES[:turn], most=1 + person % 2, least=3, item=item,
                    condition="xy"[item % 2], seconds=person + item, words=words[turn:] + words[:turn],
                )
            )  # fmt: skip
    fill(votes)
    for arguments, said in (
        (["--by", "item"], ("by item", NAMES[1], "42.9%")),
        (["--by", "condition"], ("by condition", "x: 16 votes of 8 people.")),
        (["--by", "source"], ("Led: items", "of 32")),
        (["--flow"], ("Agreed and joined", "In the results", "Of those who began to vote, 0 finished and 8 did not.")),
        (["--adjust", "length", "--adjust", "time"], ("adjusted for", "From 32 ballots of 8 people.")),
        (["--min-seconds", "4"], ("Faster than the fewest seconds",)),
    ):
        done = run("warm", *arguments)
        assert done.status == 0, done.stderr
        for one in said:
            assert one in " ".join(done.stdout.split()), (arguments, one)
        found = json.loads(run("warm", "--json", *arguments).stdout)
        assert found["study"] == "warm"
        assert "NaN" not in json.dumps(found)
    assert run("warm", "--flow", "--pictures", "figures").status == 0
    drawing = ElementTree.parse(folder / "figures" / "flow.svg")
    assert "Began to vote: 8" in "".join(drawing.getroot().itertext())


def test_faults_are_sentences(folder: Path) -> None:
    for arguments, words in (
        (["warm"], "no study in this database yet"),
        (["wram"], "Did you mean warm?"),
        (["warm", "--condition", "y"], "There are: x."),
        (["warm", "--hide", "ann & ko"], "Did you mean ann & co?"),
        (["warm", "--pictures", "file/below"], "Cannot write the pictures"),
        (["warm", "--by", "item", "--flow"], "Give one of them"),
        (["warm", "--by", "item", "--hide", "ann & co"], "--hide does not go with --by"),
        (["warm", "--by", "item", "--condition", "y"], "There are: x."),
        (["warm", "--min-seconds", "nan"], "a number of seconds"),
    ):
        assert words in run(*arguments).sentence
        if words.startswith("no study"):
            fill(VOTES)
            (folder / "file").write_text("")
