"""The files of `heard export`, of a real database: what is in them, what is not, and that they agree."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from heard.chat_app.export.columns import tables
from tests.chat_app.export.exporting import GONE, HOSTILE, ballots, read_csv, read_parquet, run
from tests.chat_app.export.exporting import filled_file as filled_file
from tests.chat_app.export.exporting import url as url


def as_csv(value: Any) -> str:
    """A value of the Parquet file as the CSV has it, but for defusing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "strftime"):
        return str(value.strftime("%Y-%m-%d %H:%M:%S.%fZ"))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def test_files_agree_with_each_other_and_with_the_manifest(url: str, tmp_path: Path) -> None:
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


def test_long_wide_and_the_rows_agree(url: str, tmp_path: Path) -> None:
    run(url, "--all", "--out", tmp_path / "out", "--full")
    parts = {name: read_parquet(tmp_path / "out" / f"{name}.parquet") for name in tables(external_ids=False, full=True)}
    wide = {row["ballot_id"]: row for row in parts["votes_wide"]}
    answers = {row["answer"]: row for row in parts["answers"]}
    items = {row["item"]: row for row in parts["items"]}
    assert len(wide) == 2 * (len(HOSTILE) - 1) + 2
    stored = [pair for who in ("anna", "=ben") for study in ("survey", "talk") for pair in ballots(url, study, who)]
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
            for name in ("source", "votable", "status", "leak", "empathy", "perceived", "text", "characters"):
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
    assert (calm["empathy"], calm["perceived"]) == (2.0, 2.4)
    assert (calm["earlier_empathy"], calm["earlier_perceived"], calm["leak"]) == (2.0, 2.4, None)
    assert {row["leak"] for row in answers.values() if row["source"] == "=model"} == {"model;maker"}
    assert [row["reason"] for row in parts["vote_changes"]] == ["first", "first"]
    assert {row["changes"] for row in wide.values()} == {0, 1}


def test_a_ballot_joins_its_tables_and_its_person(url: str, tmp_path: Path) -> None:
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
        for ballot, vote in ballots(url, study, who)
    }
    for row in parts["votes_wide"] + parts["unvoted"]:
        ballot, _ = stored[row["ballot_id"]]
        person = people[row["participant"]]
        assert (person["participant_id"], person["study"]) == (ballot.participant_id, ballot.study_id)
        assert row["ballot"] == f"{row['participant']}-{ballot.number}"
        assert row["completed"] is person["completed"]
        assert row["excluded"] is person["excluded"] is (ballot.participant_id == "anna" and row["study"] == "survey")
    assert [(one["excluded_by"], one["excluded_because"]) for one in parts["people"] if one["excluded"]] == [
        ("fast=3s", "=too fast")
    ]
    shown = {json.loads(study["definition"])["completion_url"] for study in parts["studies"]}
    assert shown == {"https://panel.example/done?cc={code}&x=1"}
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


def test_nothing_of_those_left_out_and_no_secret(url: str, tmp_path: Path) -> None:
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
def test_the_codebook_has_every_column(url: str, tmp_path: Path, options: tuple[str, ...]) -> None:
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


def test_an_empty_study(url: str, tmp_path: Path) -> None:
    run(url, "empty", "--out", tmp_path / "out")
    assert read_csv(tmp_path / "out" / "votes_long.csv") == []
    assert len(read_parquet(tmp_path / "out" / "studies.parquet")) == 1
