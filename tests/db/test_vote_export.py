"""`heard export` on real databases: what is in the files, what is not, and what happens when it is disturbed."""

import asyncio
import csv
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from chat_app.commands.export import app
from chat_app.export_columns import tables
from db.records import ConsentRecord
from db.store import Store
from db.study_records import (
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    Choice,
    EnrolmentRecord,
    ItemRecord,
    SlotRecord,
    StudyKind,
    StudyRecord,
    VoteRecord,
)
from db.study_store import StudyStore
from tests.bench.many_votes import many_votes
from tests.db.conftest import Make

HOSTILE = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "\n+1", "＝1+1", "'=1", "\ufeff=1",
    "\u200f=cmd|' /C calc'!A0",
    'He said "no",\nthen; left\r\n', "🙂 \U0001f469\u200d\U0001f467", "\u202eevil\u202c ‏שלום", "a\x00b", "x" * 20_000,
    "",
)  # fmt: skip
GONE = "only-the-withdrawn-wrote-this"
SOURCES = ("human", "=model", "calm")
RUN = [Path(sys.executable).with_name("heard"), "export"]


def make_study(name: str, kind: StudyKind, make: Make) -> StudyRecord:
    definition = {"id": name, "kind": kind.value, "allow": ["secret-pid"], "completion_code": "PAY-ME", "seed": "s33d"}
    definition["reveal"] = False  # else a vote is final
    return StudyRecord(name, kind, definition, hashlib.sha256(name.encode()).hexdigest(), make.now)


def make_answer(make: Make, study: str, item: str | None, source: str, text: str, **fields: Any) -> AnswerRecord:
    drafts = [asdict(make.draft(f"first: {text}")), asdict(make.draft(text, number=2))]
    answer = AnswerRecord(
        make.id(), study, item, source, make.now, text, AnswerStatus.COMPLETE, human=source == "human",
        persona="study", strategy="plain", model="echo", parameters={"temperature": 0.7}, prompt_sha256="c" * 64,
        first_token_seconds=0.25, total_seconds=1.5, prompt_tokens=3, completion_tokens=4, improve_assigned=True,
        improved=source == "calm", drafts=drafts, characters=len(text), words=2, formatting={"bold": 2, "emoji": 1},
        leak=["model", "maker"] if source == "=model" else [], score=make.score(),
    )  # fmt: skip
    return replace(answer, **fields)


def vote_of(ballot: BallotRecord, make: Make, **fields: Any) -> VoteRecord:
    vote = VoteRecord(
        ballot.id, ballot.participant_id, Choice.RANKED, 1, 3, None, 4.5, "phone", make.id(), make.now
    )  # fmt: skip
    return replace(vote, **fields)


async def fill(store: Store) -> None:
    """A survey with hostile texts, judged by three people; a live study; an empty one. One person has withdrawn."""
    make, studies = Make(), StudyStore(store.engine)
    items = []
    for number, text in enumerate(HOSTILE, start=1):
        item = ItemRecord(f"item-{number}", "survey", number, text, "human" if number == 1 else None)
        answers = tuple(make_answer(make, "survey", item.id, source, text) for source in SOURCES)
        items.append(replace(item, answers=answers))
    await studies.save_study(make_study("survey", StudyKind.SURVEY, make), items)
    await studies.save_study(make_study("empty", StudyKind.SURVEY, make))
    await studies.save_study(make_study("talk", StudyKind.LIVE, make))
    for who in ("anna", "=ben", GONE, "refuses"):
        await store.save_consent(ConsentRecord(who, "1", True, True, make.now))

        def draw(person: EnrolmentRecord, _: Any) -> list[BallotRecord]:
            ballots = []
            for number, item in enumerate(items, start=1):
                turn = number % 3
                answers = (item.answers[turn:] + item.answers[:turn])[: 2 if number == 2 else 3]
                slots = tuple(SlotRecord(p, a.id, a.source, True) for p, a in enumerate(answers, start=1))
                ballots.append(
                    BallotRecord(
                        make.id(), "survey", person.participant_id, number, item.id, None, None, 7, turn,
                        person.condition, make.now, slots, attention=item.attention,
                    )
                )  # fmt: skip
            return ballots

        wanted = EnrolmentRecord("survey", who, f"pid-{who}", None, 5, make.now)
        await studies.enrol(wanted, lambda _: "warm", draw)
        for (ballot, _), text in zip(await studies.ballots_of_person("survey", who), HOSTILE, strict=True):
            words = GONE if who == GONE else text
            if ballot.number == len(HOSTILE):
                continue  # left without a vote
            if ballot.number == 2:
                await studies.vote(vote_of(ballot, make, least=None, reason=words))
            elif ballot.number == 3:
                await studies.vote(vote_of(ballot, make, choice=Choice.SAME, most=None, least=None, reason="first"))
                await studies.vote(vote_of(ballot, make, most=2, least=1, reason=words))
            else:
                await studies.vote(vote_of(ballot, make, reason=words))
        await _talk(store, studies, make, who)
    await store.save_consent(ConsentRecord(GONE, "1", False, False, make.now))
    await store.save_consent(ConsentRecord("refuses", "1", True, False, make.now))


async def _talk(store: Store, studies: StudyStore, make: Make, who: str) -> None:
    """A live ballot with an answer that failed, and its vote."""
    conversation = make.conversation(who)
    message = make.message(conversation, GONE if who == GONE else "=a hard week")
    await store.open_turn(conversation, message)
    answers = [
        make_answer(make, "talk", None, source, "", status=AnswerStatus.PENDING, drafts=[], score=None)
        for source in SOURCES
    ]

    def draw(_: int, number: int) -> tuple[BallotRecord, list[AnswerRecord]]:
        slots = tuple(SlotRecord(p, a.id, a.source, False) for p, a in enumerate(answers, start=1))
        return (
            BallotRecord(
                make.id(), "talk", who, number, None, conversation.id, message.id, 7, 0, None, make.now, slots
            ),
            answers,
        )

    ballot = await studies.draw_live("talk", message, draw)
    done = [
        replace(answer, text=f"{who} {answer.source}", status=AnswerStatus.COMPLETE, drafts=[], score=make.score())
        for answer in answers
    ]
    done[2] = replace(done[2], text="", status=AnswerStatus.FAILED, error="It did not answer.", score=None)
    await studies.finish_ballot(ballot.id, done)
    await studies.vote(vote_of(ballot, make, least=None))


@pytest.fixture
async def filled(store: Store) -> Store:
    await fill(store)
    return store


def run(url: str, *arguments: str | Path, status: int = 0) -> str:
    """The command, in this process; gives what it says, or the sentence it is refused with."""
    result = CliRunner(env=_environment(url)).invoke(app, [str(argument) for argument in arguments])
    if status:
        assert getattr(result.exception, "exit_status", None) == status, result.exception
        return str(result.exception)
    if result.exception:
        raise result.exception
    return result.output


def _environment(url: str) -> dict[str, str]:
    return {**os.environ, "HEARD_DATABASE_URL": url, "HEARD_DATA_DIR": "/nonexistent"}


def read_csv(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1_000_000)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_parquet(path: Path) -> list[dict[str, Any]]:
    return list(pyarrow.parquet.read_table(path).to_pylist())


def as_csv(value: Any) -> str:
    """A value of the Parquet file as the CSV has it, but for defusing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "strftime"):
        return str(value.strftime("%Y-%m-%d %H:%M:%S.%fZ"))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def test_files_agree_with_each_other_and_with_the_manifest(filled: Store, url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run(url, "--all", "--out", out, "--full", "--with-external-ids")
    assert "Left out: 4 people" in said  # two in each of two studies
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert {file["name"] for file in manifest["files"]} | {"manifest.json"} == {path.name for path in out.iterdir()}
    for file in manifest["files"]:
        body = (out / file["name"]).read_bytes()
        assert (len(body), hashlib.sha256(body).hexdigest()) == (file["bytes"], file["sha256"])
    for counts in manifest["studies"].values():
        for name, number in counts["all"].items():
            assert number == counts["exported"][name] + sum(part[name] for part in counts["left_out"].values())
    assert set(manifest["studies"]["survey"]["left_out"]) == {"withdrawn", "chat_but_not_research"}
    defused = 0
    for table in tables(external_ids=True, full=True).values():
        cells, values = read_csv(out / f"{table.name}.csv"), read_parquet(out / f"{table.name}.parquet")
        assert len(cells) == len(values) == manifest["rows"][table.name]
        for row, value in zip(cells, values, strict=True):
            assert list(row) == list(value)
            for name, cell in row.items():
                assert not cell.lstrip(" \t\r\n\ufeff\u200f").startswith(("=", "+", "@", "＝"))
                defused += cell != as_csv(value[name])
                assert (cell[1:] if cell.startswith("'") else cell) == as_csv(value[name]), name
    assert defused > 50


def test_long_wide_and_the_rows_agree(filled: Store, url: str, tmp_path: Path) -> None:
    run(url, "--all", "--out", tmp_path / "out", "--full")
    parts = {name: read_parquet(tmp_path / "out" / f"{name}.parquet") for name in tables(external_ids=False, full=True)}
    wide = {row["ballot_id"]: row for row in parts["votes_wide"]}
    answers = {row["answer"]: row for row in parts["answers"]}
    items = {row["item"]: row for row in parts["items"]}
    assert len(wide) == 2 * (len(HOSTILE) - 1) + 2
    stored = [pair for who in ("anna", "=ben") for study in ("survey", "talk") for pair in _ballots(url, study, who)]
    assert {ballot.id for ballot, vote in stored if vote} == set(wide)
    assert {ballot.id for ballot, vote in stored if not vote} == {row["ballot_id"] for row in parts["unvoted"]}
    long: dict[str, list[dict[str, Any]]] = {}
    for row in parts["votes_long"]:
        long.setdefault(row["ballot_id"], []).append(row)
    for ballot, vote in stored:
        if vote is None:
            continue
        row, slots = wide[ballot.id], long[ballot.id]
        assert (row["choice"], row["seconds"], row["voted_at"]) == (vote.choice, vote.seconds, vote.voted_at)
        assert row["reason"] == vote.reason
        assert row["message"] == items[row["item"]]["message"]
        assert [slot["position"] for slot in slots] == [slot.position for slot in ballot.slots]
        for slot, kept in zip(slots, ballot.slots, strict=True):
            letter, answer = slot["letter"], answers[slot["answer"]]
            assert (slot["answer"], slot["source"]) == (kept.answer_id, kept.source)
            assert (slot["votable"], slot["not_votable_because"]) == (kept.votable, kept.reason)
            assert slot["most"] == (vote.most == kept.position) == (row["most"] == letter)
            assert slot["least"] == (vote.least == kept.position) == (row["least"] == letter)
            for name in ("source", "votable", "status", "leak", "empathy", "text", "characters"):
                assert row[f"{name}_{letter}"] == slot[name]
            for name in ("source", "text", "model", "bold", "links", "cognitive", "improved", "total_seconds"):
                assert slot[name] == answer[name]
        if len(ballot.slots) < 3:
            assert row["answer_C"] is None
        assert row["answer_E"] is None
    first = next(row for row in wide.values() if row["item_number"] == 1)
    assert first["attention_passed"] is (first["most_source"] == "human")
    calm = next(row for row in answers.values() if row["source"] == "calm" and row["study"] == "survey")
    assert calm["earlier_text"] == f"first: {calm['text']}"
    assert (calm["earlier_empathy"], calm["leak"]) == (2.0, None)
    assert {row["leak"] for row in answers.values() if row["source"] == "=model"} == {"model;maker"}
    assert [row["reason"] for row in parts["vote_changes"]] == ["first", "first"]
    assert {row["changes"] for row in wide.values()} == {0, 1}


def test_a_ballot_joins_its_tables_and_its_person(filled: Store, url: str, tmp_path: Path) -> None:
    """Without --full nothing is repeated, and the short keys say the same as the ids."""
    run(url, "--all", "--out", tmp_path / "out")
    parts = {
        name: read_parquet(tmp_path / "out" / f"{name}.parquet") for name in tables(external_ids=False, full=False)
    }
    people = {row["participant"]: row for row in parts["people"]}
    wide = {row["ballot"]: row for row in parts["votes_wide"]}
    assert (len(people), len(wide)) == (len(parts["people"]), len(parts["votes_wide"]))
    stored = {
        ballot.id: (ballot, vote)
        for who in ("anna", "=ben")
        for study in ("survey", "talk")
        for ballot, vote in _ballots(url, study, who)
    }
    for row in parts["votes_wide"] + parts["unvoted"]:
        ballot, _ = stored[row["ballot_id"]]
        person = people[row["participant"]]
        assert (person["participant_id"], person["study"]) == (ballot.participant_id, ballot.study_id)
        assert row["ballot"] == f"{row['participant']}-{ballot.number}"
        assert row["completed"] is person["completed"]
    assert len(parts["votes_long"]) == sum(len(ballot.slots) for ballot, vote in stored.values() if vote)
    for row in parts["votes_long"]:
        ballot, vote = stored[wide[row["ballot"]]["ballot_id"]]
        slot = ballot.slots[row["position"] - 1]
        assert (row["answer"], row["source"], row["letter"]) == (
            slot.answer_id,
            slot.source,
            "ABCDE"[slot.position - 1],
        )
        assert (row["most"], row["least"]) == (vote.most == slot.position, vote.least == slot.position)
    changed = {(row["ballot"], row["participant"], row["number"]) for row in parts["vote_changes"]}
    assert changed == {(row["ballot"], row["participant"], 1) for row in wide.values() if row["changes"]}


def test_the_command_does_not_load_pandas(filled: Store, url: str, tmp_path: Path) -> None:
    """Where it is installed, pyarrow would, for nothing."""
    program = "import sys; from chat_app.commands.export import app; app(standalone_mode=False); "
    program += "print('pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program, "survey", "--out", str(tmp_path / "out")],
        env=_environment(url), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "False"


def _ballots(url: str, study: str, who: str) -> list[Any]:
    from db.engine import create_engine

    async def work() -> list[Any]:
        engine = create_engine(url)
        try:
            return await StudyStore(engine).ballots_of_person(study, who)
        finally:
            await engine.dispose()

    return asyncio.run(work())


def test_nothing_of_those_left_out_and_no_secret(filled: Store, url: str, tmp_path: Path) -> None:
    run(url, "--all", "--out", tmp_path / "out", "--full")
    for path in (tmp_path / "out").iterdir():
        body = path.read_bytes()
        for word in (GONE, "refuses", "pid-", "secret-pid", "PAY-ME", "s33d"):
            assert word.encode() not in body, (word, path)
        columns = pyarrow.parquet.read_schema(path).names if path.suffix == ".parquet" else []
        assert not [name for name in columns if "agent" in name or "address" in name or name == "ip"]
    for path in (tmp_path / "out").glob("*.parquet"):  # Parquet is compressed: read it too
        assert GONE not in repr(read_parquet(path))
    run(url, "survey", "--out", tmp_path / "ids", "--with-external-ids")
    assert {row["external_id"] for row in read_parquet(tmp_path / "ids" / "people.parquet")} == {"pid-anna", "pid-=ben"}


@pytest.mark.parametrize("options", [(), ("--full", "--with-external-ids")])
def test_the_codebook_has_every_column(filled: Store, url: str, tmp_path: Path, options: tuple[str, ...]) -> None:
    out = tmp_path / "out"
    run(url, "survey", "--out", out, *options)
    rows = read_csv(out / "codebook.csv")
    listed = {(row["table"], row["column"]) for row in rows}
    assert listed == {
        (path.stem, name) for path in out.glob("*.parquet") for name in pyarrow.parquet.read_schema(path).names
    }
    assert len(rows) == len(listed)
    assert all(row["meaning"] and row["origin"] for row in rows)
    page = (out / "codebook.md").read_text(encoding="utf-8")
    assert all(f"| `{column}` |" in page for _, column in listed)


def test_an_empty_study(filled: Store, url: str, tmp_path: Path) -> None:
    run(url, "empty", "--out", tmp_path / "out")
    assert read_csv(tmp_path / "out" / "votes_long.csv") == []
    assert len(read_parquet(tmp_path / "out" / "studies.parquet")) == 1


def test_what_cannot_be_exported(filled: Store, url: str, tmp_path: Path) -> None:
    assert "Did you mean survey?" in run(url, "servey", "--out", tmp_path / "out", status=2)
    assert "--all" in run(url, "--out", tmp_path / "out", status=2)
    assert "--all" in run(url, "survey", "--all", "--out", tmp_path / "out", status=2)
    (tmp_path / "file").write_text("mine")
    assert "is a file" in run(url, "survey", "--out", tmp_path / "file", status=2)
    assert "Choose a folder" in run(url, "survey", "--out", tmp_path / "file" / "below", status=2)
    assert "Choose another folder" in run(url, "survey", "--out", "/proc/out", status=2)
    with closing(sqlite3.connect(filled.engine.url.database)) as database, database:
        database.execute("DELETE FROM enrolment WHERE participant_id = 'anna'")
    assert "takes no part in its study" in run(url, "survey", "--out", tmp_path / "out", status=2)
    assert not (tmp_path / "out").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_only_an_earlier_export_is_replaced(filled: Store, url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert "no earlier export" in run(url, "survey", "--out", out, "--force", status=2)
    (out / "notes.txt").unlink()
    run(url, "survey", "--out", out)
    assert "--force" in run(url, "survey", "--out", out, status=2)
    (out / "notes.txt").write_text("mine")
    assert "notes.txt" in run(url, "survey", "--out", out, "--force", status=2)
    (out / "notes.txt").unlink()
    run(url, "empty", "--out", out, "--force")
    assert json.loads((out / "manifest.json").read_text())["filters"]["study"] == "empty"
    assert out.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_export_that_is_broken_off_leaves_the_old_one(tmp_path: Path, how: signal.Signals) -> None:
    path, out = tmp_path / "many.db", tmp_path / "out"
    many_votes(path, 8000)
    url = f"sqlite+aiosqlite:///{path}"
    run(url, "many", "--out", out)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    process = subprocess.Popen(
        [*RUN, "many", "--out", out, "--force"], env=_environment(url), stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not any(tmp_path.glob(".out.partial-*/votes_long.csv")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(how)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == (-9 if how is signal.SIGKILL else 130), said
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert (list(tmp_path.glob(".out.partial-*")) == []) == (how is signal.SIGINT)
    run(url, "many", "--out", out, "--force")
    assert list(tmp_path.glob(".out.partial-*")) == []
