"""Answers to questions, and scores from them, in the files of `heard export`: whose, which, and what each is."""

import asyncio
import json
import tomllib
from pathlib import Path

import pytest

from heard.chat_app.studies.study_file import definition_of, parse_study
from heard.db.engine import create_engine
from heard.db.records import ConsentRecord
from heard.db.store import Store
from heard.db.study_records import EnrolmentRecord, QuestionAnswerRecord, StudyRecord
from heard.db.study_store import StudyStore
from tests.chat_app.export.exporting import read_csv, read_parquet, run
from tests.db.conftest import Make
from tests.db.conftest import each_url as each_url
from tests.db.conftest import empty_server as empty_server
from tests.db.conftest import server as server

EXAMPLE = Path(__file__).parents[3] / "docs" / "example-study" / "about-you.toml"
GIVEN = {"age": "30", "helps": "paid", "where": "phone;room", "easy": "5", "hard": "1", "reading": "3", "tired": None,
         "words": "=warm|words"}  # fmt: skip


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


async def asked(url: str, make: Make) -> None:
    """Three people with answers, one of whom withdraws; another study without any question."""
    engine = create_engine(url)
    store, studies = Store(engine), StudyStore(engine)
    about = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    mood = {
        "id": "mood", "title": "Mood", "place": "between", "every": 2, "range": {"min": 1, "max": 7},
        "pages": [{"items": [{"id": "now", "kind": "likert", "text": "How are you?"}]}],
        "scores": [{"name": "mood", "items": ["now"]}],
    }  # fmt: skip
    for name, questions in (("asking", [about, mood]), ("silent", [])):
        file = parse_study({"id": name, "kind": "survey", "sources": ["a", "b"], "questions": questions}, "a test")
        definition, digest = definition_of(file)
        await studies.save_study(StudyRecord(name, file.kind, definition, digest, make.now))
    for who, given in (("anna", GIVEN), ("ben", GIVEN | {"hard": None, "reading": "1"}), ("gone", GIVEN)):
        await store.save_consent(ConsentRecord(who, "1", True, True, make.now))
        await studies.enrol(EnrolmentRecord("asking", who, None, None, 3, make.now), lambda _: None, lambda *_: [])
        answers = [QuestionAnswerRecord(f"about-you.{name}", 0, value, make.now) for name, value in given.items()]
        answers += [QuestionAnswerRecord("mood.now", after, "6", make.now) for after in (2, 4)]
        await studies.save_question_answers("asking", who, answers)
    await store.save_consent(ConsentRecord("gone", "1", False, False, make.now))
    await engine.dispose()


def test_answers_scores_and_what_each_question_is(url: str, make: Make, tmp_path: Path) -> None:
    asyncio.run(asked(url, make))
    out = tmp_path / "out"
    run(url, "--all", "--out", out)
    answers = read_parquet(out / "question_answers.parquet")
    assert {row["participant"] for row in answers} == {"p000001", "p000002"}
    anna = {(row["question"], row["after_ballots"]): row for row in answers if row["participant"] == "p000001"}
    assert len(anna) == 10
    assert (anna["about-you.age", 0]["value"], anna["about-you.age", 0]["number"]) == ("30", 30)
    assert (anna["about-you.where", 0]["value"], anna["about-you.where", 0]["number"]) == ("phone;room", None)
    assert anna["about-you.tired", 0]["value"] is None
    assert anna["about-you.reading", 0]["correct"] is True
    assert anna["about-you.helps", 0]["correct"] is None
    assert anna["mood.now", 4]["number"] == 6
    assert [r["correct"] for r in answers if r["question"] == "about-you.reading"] == [True, False]
    scores = {
        (row["participant"], row["score"], row["after_ballots"]): (row["value"], row["answered"], row["items"])
        for row in read_parquet(out / "question_scores.parquet")
    }
    assert scores == {
        ("p000001", "comforting", 0): (5, 2, 2), ("p000001", "mood", 2): (6, 1, 1), ("p000001", "mood", 4): (6, 1, 1),
        ("p000002", "comforting", 0): (None, 1, 2), ("p000002", "mood", 2): (6, 1, 1),
        ("p000002", "mood", 4): (6, 1, 1),
    }  # fmt: skip
    by_name = {row["question"]: row["value"] for row in read_csv(out / "question_answers.csv")}
    assert by_name["about-you.words"] == "'=warm|words"
    book = {row["column"]: row for row in read_csv(out / "codebook.csv") if row["table"] == "questions of asking"}
    assert len(book) == 9
    assert book["about-you.helps"]["values"] == "paid = Yes, for a living; unpaid = Yes, unpaid; no = No"
    assert book["about-you.easy"]["values"].startswith("1 = not at all; 2 = a little")
    assert book["about-you.age"]["origin"] == "about-you, page 1, before the ballots; screens out age < 18"
    assert "right is 3" in book["about-you.reading"]["values"]
    assert "after every 2 ballots" in book["mood.now"]["origin"]
    (score,) = [r for r in read_csv(out / "codebook.csv") if r["column"] == "about-you.comforting"]
    assert score["meaning"] == "mean of easy, hard; reversed: hard; at most 0% missing"
    page = (out / "codebook.md").read_text(encoding="utf-8")
    assert "## Questions of asking" in page
    assert "| `about-you.age` | number | How old are you? | from 1 to 120 |" in page
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["rows"]["question_answers"], manifest["rows"]["question_scores"]) == (20, 6)
    run(url, "silent", "--out", tmp_path / "silent")
    assert not list((tmp_path / "silent").glob("question*"))
