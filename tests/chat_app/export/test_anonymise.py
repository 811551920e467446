"""The anonymised data set: nothing of who voted is left, the figures stay, and its citation is valid."""

import asyncio
import csv
import hashlib
import json
import re
import sqlite3
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator, FormatChecker

from heard.chat_app.export.anonymous_columns import CHANGES, ORDER, name_after
from heard.chat_app.export.citation import author_of, citation_cff, licence_of
from heard.chat_app.export.columns import tables
from heard.chat_app.export.folder import ExportError
from heard.chat_app.export.screening import screen
from tests.chat_app.export.exporting import filled_file as filled_file
from tests.chat_app.export.exporting import read_csv, read_parquet, run
from tests.chat_app.export.exporting import url as url
from tests.chat_app.export.test_question_export import GIVEN, asked
from tests.commands import Done, heard
from tests.db.conftest import Make

WORDS = "My name is Anna Kowalski, pid-anna. Write to anna.k@example.org or +44 20 7946 0958, says Piotr."
OPTIONS = ("--title", "Who sounds warm?", "--author", "Lee, Robin, 0000-0002-1825-0097", "--author", "A Panel Ltd")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
CFF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["authors", "cff-version", "message", "title"],
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "type": {"enum": ["dataset", "software"]},
        **{name: {"type": "string", "minLength": 1} for name in ("message", "title", "abstract")},
        "license": {"enum": ["CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC0-1.0", "ODbL-1.0", "PDDL-1.0"]},
        "date-released": {"type": "string", "pattern": r"^[0-9]{4}-(0[1-9]|1[012])-(0[1-9]|[12][0-9]|3[01])$"},
        "authors": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {
                "anyOf": [
                    {
                        "type": "object", "additionalProperties": False, "required": ["name"],
                        "properties": {"name": {"type": "string", "minLength": 1}},
                    },
                    {
                        "type": "object", "additionalProperties": False, "required": ["family-names"],
                        "properties": {
                            "family-names": {"type": "string", "minLength": 1},
                            "given-names": {"type": "string", "minLength": 1},
                            "orcid": {"pattern": r"^https://orcid\.org/[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X]{1}$"},
                        },
                    },
                ]
            },
        },
    },
}  # fmt: skip
"""The keys that we write, with the rules of the Citation File Format 1.2.0 for them."""


def anonymise(url: str, study: str, out: Path, *options: str) -> Done:
    return heard(
        "study", "anonymise", study, "--out", out, *(options or OPTIONS), HEARD_DATABASE_URL=url,
        HEARD_DATA_DIR="/nonexistent",
    )  # fmt: skip


def valid_cff(text: str) -> dict[str, object]:
    loaded: dict[str, object] = yaml.load(text, Loader=yaml.BaseLoader)  # dates stay texts
    assert list(Draft7Validator(CFF, format_checker=FormatChecker()).iter_errors(loaded)) == []
    return loaded


def test_nobody_is_in_the_data_and_every_vote_is(url: str, path: Path, tmp_path: Path) -> None:
    with sqlite3.connect(path) as database:
        changed = database.execute("UPDATE vote SET reason = ? WHERE reason = '+1'", (WORDS,)).rowcount
    database.close()
    assert changed > 0
    out = tmp_path / "data"
    done = anonymise(url, "survey", out)
    assert done.status == 0, done.stderr
    assert "Before you publish it, read" in done.stdout
    run(url, "survey", "--out", tmp_path / "export")
    ours = {
        table: read_parquet(out / f"{table}.parquet") for table in ("people", "votes_wide", "votes_long", "answers")
    }
    theirs = {table: read_parquet(tmp_path / "export" / f"{table}.parquet") for table in ours}
    for table, rows in ours.items():
        assert len(rows) == len(theirs[table]) > 0
    for name in ("choice", "most_source", "item_number", "seconds"):
        before, after = (Counter(row[name] for row in rows["votes_wide"]) for rows in (theirs, ours))
        assert before == after, name
    people = {row["participant"] for row in ours["people"]}
    assert people == {row["participant"] for row in ours["votes_wide"]}
    assert {row["ballot"].rpartition("-")[0] for row in ours["votes_long"]} == people
    assert {row["answer"] for row in ours["votes_long"]} <= {row["answer"] for row in ours["answers"]}
    assert min(row["voted_day"] for row in ours["votes_wide"]) == 0
    secrets = {row["participant_id"] for row in theirs["people"]} | {row["ballot_id"] for row in theirs["votes_wide"]}
    secrets |= {
        "p000001",
        "secret-pid",
        "PAY-ME",
        "s33d",
        "pid-anna",
        "Kowalski",
        "example.org",
        "7946",
        "T00:",
        "2026-0",
    }
    for file in out.iterdir():
        if file.suffix in (".csv", ".md") and not file.name.startswith("codebook"):
            text = file.read_text(encoding="utf-8")
            assert [one for one in secrets if one in text] == [], file.name
            assert not UUID.search(text), file.name
    reasons = [row["reason"] for row in ours["votes_wide"] if row["reason"] and "Write to" in row["reason"]]
    assert set(reasons) == {"My name is [name], [id]. Write to [mail] or [number], says Piotr."}
    with (tmp_path / "data-to-read.csv").open(encoding="utf-8", newline="") as listed:
        first, *_ = [row for row in csv.DictReader(listed) if "Write to" in row["text"]]
    assert (first["found"], first["perhaps_names"]) == ("id mail number name", "Piotr")
    assert not (out / "data-to-read.csv").exists()
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    files = {one["name"]: one["sha256"] for one in manifest["files"]}
    assert files == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in out.iterdir()
        if file.name != "manifest.json"
    }
    assert (manifest["licence"], manifest["preregistration"]) == ("CC-BY-4.0", None)
    book = read_csv(out / "codebook.csv")
    for table in manifest["rows"]:
        described = [row["column"] for row in book if row["table"] == table]
        assert described == list(read_csv(out / f"{table}.csv")[0] if manifest["rows"][table] else described)
    assert "creativecommons.org/licenses/by/4.0" in (out / "LICENSE").read_text(encoding="utf-8")
    cited = valid_cff((out / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["title"], cited["type"], cited["license"]) == ("Who sounds warm?", "dataset", "CC-BY-4.0")
    again = tmp_path / "again"  # other ids each time
    assert anonymise(url, "survey", again).status == 0
    assert {row["participant"] for row in read_parquet(again / "people.parquet")}.isdisjoint(people)
    assert "is there already" in anonymise(url, "survey", out).sentence


def test_a_live_study_goes_out_without_what_was_said_and_a_plan_goes_with_it(url: str, tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").write_bytes(b"plan\x00")
    environment = {"HEARD_DATABASE_URL": url, "HEARD_DATA_DIR": "/nonexistent"}
    plan = ("study", "preregister", "talk", tmp_path / "plan.pdf", "--stop-after", "people=99")
    assert heard(*plan, **environment).status == 0
    assert "closed by its preregistration" in anonymise(url, "talk", tmp_path / "data").sentence
    assert list(tmp_path.glob("data*")) == []
    assert heard("study", "open-results", "talk", "--by", "me", "--reason", "done", **environment).status == 0
    done = anonymise(url, "talk", tmp_path / "data")
    assert done.status == 0, done.stderr
    for table, column in (("items", "message"), ("answers", "text"), ("answers", "prompt_sha256")):
        rows = read_parquet(tmp_path / "data" / f"{table}.parquet")
        assert rows
        assert {row[column] for row in rows} == {None}
    assert "hard week" not in (tmp_path / "data-to-read.csv").read_text(encoding="utf-8")
    assert (tmp_path / "data" / "preregistration-plan.pdf").read_bytes() == b"plan\x00"
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["preregistration"]["opened_reason"] == "done"
    assert "no licence" in anonymise(url, "talk", tmp_path / "x", *OPTIONS, "--licence", "MIT").sentence


def test_answers_to_questions_go_out_screened_with_what_was_asked(file_url: str, make: Make, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GIVEN, "words", "I am on mail: me@x.org")
        asyncio.run(asked(file_url, make))
    done = anonymise(file_url, "asking", tmp_path / "data")
    assert done.status == 0, done.stderr
    rows = read_parquet(tmp_path / "data" / "question_answers.parquet")
    assert len(rows) == 20
    assert {row["participant"] for row in rows} == {
        row["participant"] for row in read_parquet(tmp_path / "data" / "people.parquet")
    }
    assert {row["value"] for row in rows if row["question"] == "about-you.words"} == {"I am on mail: [mail]"}
    assert {row["number"] for row in rows if row["question"] == "about-you.age"} == {30}
    assert len(read_parquet(tmp_path / "data" / "question_scores.parquet")) == 6
    assert "| `about-you.age` | number |" in (tmp_path / "data" / "codebook.md").read_text(encoding="utf-8")
    assert "questions of asking" in {row["table"] for row in read_csv(tmp_path / "data" / "codebook.csv")}


def test_every_column_that_goes_out_is_one_of_the_export_and_no_id_goes_unchanged() -> None:
    for name, table in tables(external_ids=True, full=False).items():
        columns = {column.name for column in table.columns}
        extra = {one for one in CHANGES[name] if one not in columns and not one.startswith(("leak_", "status_"))}
        assert extra == set(), name
        assert (
            columns & {"participant_id", "external_id", "ballot_id", "seed", "order_seed"} & set(CHANGES[name]) == set()
        )
        assert set(ORDER[name]) <= {name_after(*one) for one in CHANGES[name].items()}
        for one, change in CHANGES[name].items():
            assert (change == "as it is") <= (one.partition("_")[0] not in ("participant", "ballot", "answer", "item")
                                              or one.endswith("_number")), (name, one)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("I told jo@b.co.uk and j.doe (at) web (dot) de", "I told [mail] and [mail]"),
        ("see https://x.org/me?a=1 or www.me.org or me.github.io/x", "see [link] or [link] or [link]"),
        ("I am @jo_doe there", "I am [handle] there"),
        ("ring 030 / 123 45 67, born 3.4.1990", "ring [number], born [number]"),
        ("5f2c1e9a8b7d6e5f4a3b2c1d", "[number]"),
        ("We live at 12 Abbey Mill Road, LS1 4AP", "We live at [address], [address]"),
        ("in der Goethestraße 12b; 3, rue de la Paix; Calle Mayor 5", "in der [address]; [address]; [address]"),
        ("my friend Zoë, Dr. van Dam and Frau Müller", "my friend [name], Dr. [name] and Frau [name]"),
        ("Ich heiße Jörg. Me llamo Ana María.", "Ich heiße [name]. Me llamo [name]."),
        ("A was best of 5, B took 10 seconds and 1000 words", "A was best of 5, B took 10 seconds and 1000 words"),
        ("It felt like my mum would say it. I'm sure.", "It felt like my mum would say it. I'm sure."),
    ],
)  # fmt: skip
def test_what_the_patterns_are_sure_of_is_replaced(text: str, after: str) -> None:
    assert screen(text).text == after


def test_capitals_within_a_sentence_are_listed_and_ids_replaced() -> None:
    found = screen(
        "Then Marek and I met Ola in Leeds. Response B, by gpt or Human, on Monday: x-7.", ["Human"], {"x-7"}
    )
    assert found.possible == ("Marek", "Ola", "Leeds")
    assert found.text.endswith("on Monday: [id].")
    for endless in ("x" * 200_000, "X" * 200_000, "1x" * 100_000, "A " * 100_000, "a.b-" * 50_000, "My " * 70_000):
        assert len(screen(endless).text) <= 200_000 * 4


def test_authors_licences_and_the_citation() -> None:
    authors = [
        author_of('O"Neil, José: a'),
        author_of("The Panel"),
        author_of("X, Y, https://orcid.org/0000-0002-1694-233X"),
    ]
    cited = valid_cff(citation_cff("A: #1 'title' \\ \"x\"", authors, licence_of("cc0-1.0"), date(2027, 1, 2), "é"))
    assert cited["title"] == "A: #1 'title' \\ \"x\""
    assert cited["authors"] == [
        {"family-names": 'O"Neil', "given-names": "José: a"},
        {"name": "The Panel"},
        {"family-names": "X", "given-names": "Y", "orcid": "https://orcid.org/0000-0002-1694-233X"},
    ]
    for wrong in ("Lee,", "a, b, c, d", "Lee, R, 0000-0002-1825-0098", "Lee, R, orcid"):
        with pytest.raises(ExportError):
            author_of(wrong)
