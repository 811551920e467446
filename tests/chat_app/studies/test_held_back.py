"""Messages that read like a crisis, and attention items in a file of their own: from the file to the ballot."""

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.studies.assignment import draw_survey
from heard.chat_app.studies.generation import missing_answers, updated_items
from heard.chat_app.studies.item_drafts import ItemsError
from heard.chat_app.studies.study_file import StudyFile, StudyFileError, parse_study, study_of
from heard.chat_app.studies.study_items import item_id, read_items, read_questions
from heard.db.engine import open_database
from heard.db.quota_counts import Drawn
from heard.db.study_records import EnrolmentRecord
from heard.db.study_store import StudyStore
from tests.commands import Done
from tests.commands import heard as command

CRISIS = "I want to kill myself tonight"
SURVEY = 'id = "held"\nkind = "survey"\nsources = ["human", "leaflet"]\n'
ITEMS = f"message,human,leaflet\nI failed.,Oh no.,Read this.\n{CRISIS},Please call.,Read that.\nI am sad.,Hm.,Well.\n"


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "heard.db")) as database:
        return database.execute(sql).fetchall()


async def test_a_crisis_is_listed_and_let_in_by_a_named_person(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SURVEY, encoding="utf-8")
    (tmp_path / "items.csv").write_text(ITEMS, encoding="utf-8")

    async def done(*arguments: str) -> Done:
        return await asyncio.to_thread(command, "study", *arguments, folder=tmp_path, HEARD_DATA_DIR=str(tmp_path))

    told = await done("import", "study.toml", "items.csv")
    assert "Held back as crises: 1. heard study held-back held" in told.stdout
    identity = item_id(parse_study({"id": "held", "kind": "survey"}, "x"), CRISIS)
    listed = await done("held-back", "held")
    assert re.fullmatch(rf"{identity}  items\.csv, line 3  [a-z_]+\n", listed.stdout), listed.stdout
    assert CRISIS not in listed.stdout
    refused = await done("admit", "held", identity, "--by", "Dr. Eva Lang")
    assert (refused.status, "does not say that its raters are trained" in refused.stderr) == (2, True)
    (tmp_path / "study.toml").write_text(f"{SURVEY}trained_raters = true\n", encoding="utf-8")
    assert (await done("import", "study.toml", "items.csv")).status == 0
    for arguments, fault in (
        (("admit", "held", identity, "--by", "  "), "Nobody is named"),
        (("admit", "held", identity[:-1] + "x", "--by", "E"), f"Did you mean {identity}?"),
    ):
        refused = await done(*arguments)
        assert (refused.status, fault in refused.stderr) == (2, True), refused.stderr
    assert rows(tmp_path, "SELECT count(*) FROM item") == [(2,)]
    assert (await done("admit", "held", identity, "--by", "Dr. Eva Lang")).status == 0
    assert "admitted by Dr. Eva Lang, 20" in (await done("held-back", "held")).stdout
    assert (await done("import", "study.toml", "items.csv")).status == 0
    assert rows(tmp_path, "SELECT number, admitted_by FROM item WHERE admitted_at IS NOT NULL") == [(2, "Dr. Eva Lang")]
    exported = await asyncio.to_thread(
        command, "export", "held", "--out", str(tmp_path / "out"), HEARD_DATA_DIR=str(tmp_path)
    )
    assert exported.status == 0, exported.stderr
    assert "Dr. Eva Lang" in (tmp_path / "out" / "items.csv").read_text(encoding="utf-8")

    # It is given to trained raters alone, and no arm ever answers it.
    async with open_database(Settings(data_dir=tmp_path).database, lock_seconds=1) as engine:
        studies = StudyStore(engine)
        record, items = await studies.study("held"), await studies.items("held")
    assert record
    study = study_of(record)

    def given(of: StudyFile) -> set[str | None]:
        person = EnrolmentRecord("held", "p", None, None, 1, record.created_at)
        return {ballot.item_id for ballot in draw_survey(of, items)(person, Drawn())}

    assert identity in given(study)
    assert identity not in given(study.model_copy(update={"trained_raters": False}))
    arms = [{"name": "arm", "persona": "listener", "model": "echo"}]
    with_arm = parse_study(study.model_dump(mode="json") | {"arms": arms}, "x")
    tasks = missing_answers(with_arm, updated_items(with_arm, items))
    assert {task.item.message for task in tasks} == {"I failed.", "I am sad."}
    # Where an arm would have to answer, the import says so.
    (tmp_path / "study.toml").write_text(
        'id = "held"\nkind = "survey"\nsources = ["human"]\ntrained_raters = true\n'
        '[[arms]]\nname = "arm"\npersona = "listener"\nmodel = "echo"\n', encoding="utf-8",
    )  # fmt: skip
    (tmp_path / "items.csv").write_text(
        f"Context,Response\nI failed.,Oh no.\n{CRISIS},Please call.\n", encoding="utf-8"
    )
    refused = await done("import", "study.toml", "items.csv")
    assert (refused.status, "no model may answer it" in refused.stderr) == (2, True), refused.stderr
    assert CRISIS not in refused.stderr


def test_a_live_study_has_no_trained_raters_and_questions_let_no_crisis_in(tmp_path: Path) -> None:
    arms = [{"name": name, "persona": "listener", "model": "echo"} for name in ("one", "two")]
    with pytest.raises(StudyFileError, match="trained_raters is of a survey"):
        parse_study({"id": "l", "kind": "live", "arms": arms, "trained_raters": True}, "x")
    (tmp_path / "q.csv").write_text(f"message\nI failed.\n{CRISIS}\n", encoding="utf-8")
    study = parse_study({"id": "q", "kind": "survey", "arms": arms, "trained_raters": True}, "x")
    read = read_questions(tmp_path / "q.csv", study)
    assert [item.message for item in read.items] == ["I failed."]
    assert [(one.item_id, one.place) for one in read.held] == [(item_id(study, CRISIS), "q.csv, line 3")]


def test_attention_items_come_in_a_file_of_their_own(tmp_path: Path) -> None:
    study = parse_study({"id": "a", "kind": "survey", "sources": ["human"], "arms": [
        {"name": "arm", "persona": "listener", "model": "echo"}]}, "x")  # fmt: skip
    items, attention = tmp_path / "items.csv", tmp_path / "attention.csv"
    items.write_text("Context,Response\n" + "".join(f"Sad {n}.,Oh {n}.\n" for n in range(5)), encoding="utf-8")
    head = "message,source,answer,attention\n"
    attention.write_text(f"{head}Mark right.,left,No.,right\nMark right.,right,Yes.,right\n", encoding="utf-8")
    read = read_items(items, study, {}, 2, attention=attention)
    assert [(item.message, item.attention) for item in read.items] == [
        ("Sad 0.", None), ("Sad 1.", None), ("Mark right.", "right"),
    ]  # fmt: skip
    assert [item.number for item in read.items] == [1, 2, 3]
    assert read.places[-1] == "attention.csv, line 2"
    assert {answer.source for answer in read.items[-1].answers} == {"left", "right"}
    for text, fault in (
        (f"{head}Mark right.,left,No.,\nMark right.,right,Yes.,\n", "attention.csv, line 2: no source in the column"),
        (f"{head}Sad 1.,left,No.,left\nSad 1.,right,Yes.,left\n", "stands among the items too"),
        (f"{head}Mark right.,left,No.,up\nMark right.,right,Yes.,up\n", 'attention.csv, line 2: attention names "up"'),
    ):
        attention.write_text(text, encoding="utf-8")
        with pytest.raises(ItemsError, match=fault):
            read_items(items, study, {}, attention=attention)
    # In the items' own file they are not cut off either.
    long = "message,source,answer,attention\nx,human,y,\nz,human,y,\nMark right.,l,No.,r\nMark right.,r,Yes.,r\n"
    items.write_text(long, encoding="utf-8")
    assert [item.attention for item in read_items(items, study, {}, 1).items] == [None, "r"]
