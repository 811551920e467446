"""Public sets in the forms in which they are published. Every sentence here was made up for these tests."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from heard.chat_app.studies.item_drafts import ItemsError
from heard.chat_app.studies.public_sets import PUBLIC_SETS, set_that_fits
from heard.chat_app.studies.study_file import StudyFile, parse_study
from heard.chat_app.studies.study_items import Items, read_items
from heard.errors import UserError
from tests.commands import heard

ARM = {"name": "arm", "persona": "listener", "model": "echo"}
MOVED = "I have moved twice this year and know nobody here."
TIRED = "Since the baby came I have not slept a whole night."


def study(*sources: str) -> StudyFile:
    return parse_study({"id": "s", "kind": "survey", "sources": list(sources), "arms": [ARM]}, "test")


def read(folder: Path, public_set: str, text: str, *sources: str, name: str = "set.csv") -> Items:
    (folder / name).write_text(text, encoding="utf-8")
    return read_items(folder / name, study(*(sources or ("human",))), {}, public_set=public_set)


def seen(found: Items) -> list[tuple[str, dict[str, str]]]:
    return [
        (item.message, {answer.source: answer.text for answer in item.answers if answer.text}) for item in found.items
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """A CSV of rows, with their index in a column without a name, as pandas writes it."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["", *rows[0]])
    writer.writerows([number, *row.values()] for number, row in enumerate(rows))
    return text.getvalue()


def asked(question: str, answer: str, upvotes: Any, title: str = "About home") -> dict[str, Any]:
    return {
        "questionID": 4, "questionTitle": title, "questionText": question, "topic": "home", "answerText": answer,
        "upvotes": upvotes, "views": 90,
    }  # fmt: skip


def test_counselchat_gives_the_answer_that_most_found_good(tmp_path: Path) -> None:
    rows = [
        asked(MOVED, "<p>Twice is a lot.</p><p>Who do you miss?</p>", 1),
        asked(MOVED, "<p>New towns take a year.</p>", 5),
        asked(MOVED, "A club may help.", 5),
        asked("", "Houses can be sold.", "", title="How do I leave this house?"),
        asked(TIRED, "", 3),
    ]
    found = read(tmp_path, "counselchat", table(rows))
    assert seen(found) == [
        (MOVED, {"human": "New towns take a year."}),
        ("How do I leave this house?", {"human": "Houses can be sold."}),
    ]
    assert found.places == ("line 3", "line 5")
    assert found.skipped.sentences() == [
        "Passed over: 1 line (without text).",
        "Passed over: 2 lines (further responses to a message that has one).",
    ]
    assert "Mended: tags of HTML were taken off 2 texts (the first in line 2)." in found.told


def test_mental_health_counseling_is_json_lines_by_the_name_of_json(tmp_path: Path) -> None:
    rows = [{"Context": MOVED, "Response": "Start with one face."}, {"Context": TIRED, "Response": "Can anybody help?"}]
    text = "\n".join(map(json.dumps, rows))
    for public_set in ("mental_health_counseling", None):
        (tmp_path / "set.json").write_text(text, encoding="utf-8")
        found = read_items(tmp_path / "set.json", study("human"), {}, public_set=public_set)
        assert seen(found) == [(row["Context"], {"human": row["Response"]}) for row in rows]


def test_epitome_has_several_responses_to_a_post(tmp_path: Path) -> None:
    rows = [
        {"sp_id": "a", "rp_id": "b", "seeker_post": MOVED, "response_post": "I moved too.", "level": 1},
        {"sp_id": "a", "rp_id": "c", "seeker_post": MOVED, "response_post": "Hm.", "level": 0},
    ]  # fmt: skip
    found = read(tmp_path, "epitome", table(rows))
    assert seen(found) == [(MOVED, {"human": "I moved too."})]
    assert found.skipped.further_responses == 1


def test_esconv_gives_the_first_message_that_says_something(tmp_path: Path) -> None:
    def said(*turns: tuple[str, str]) -> dict[str, Any]:
        dialog = [{"speaker": speaker, "annotation": {}, "content": content} for speaker, content in turns]
        return {
            "emotion_type": "sadness",
            "situation": "A move.",
            "survey_score": {"seeker": {"x": 1}},
            "dialog": dialog,
        }

    talks: list[dict[str, Any]] = [
        said(("seeker", "Hello"), ("supporter", "Hi, what brings you?"), ("seeker", MOVED),
             ("seeker", "It is quiet.\n"), ("supporter", "That is a lot."), ("supporter", "What do you miss?"),
             ("seeker", "My friends, all of them, every single day.")),
        said(("supporter", "Hello"), ("seeker", "Hi"), ("supporter", "Bye")),
        said(("seeker", TIRED)),
        {"situation": "x", "dialog": "none"},
    ]  # fmt: skip
    found = read(tmp_path, "esconv", json.dumps(talks, indent=1), name="ESConv.json")
    assert seen(found) == [(f"{MOVED}\nIt is quiet.", {"human": "That is a lot.\nWhat do you miss?"})]
    assert found.skipped.sentences() == [
        "Passed over: 1 line (no row of the table).",
        "Passed over: 2 lines (talks in which no message of 8 words or more is answered).",
    ]


def test_annomi_takes_each_utterance_once_and_good_counselling_only(tmp_path: Path) -> None:
    def line(talk: int, number: int, who: str, text: str, quality: str = "high") -> dict[str, Any]:
        return {"mi_quality": quality, "transcript_id": talk, "utterance_id": number, "interlocutor": who,
                "utterance_text": text, "annotator_id": 3}  # fmt: skip

    rows = [
        line(0, 0, "therapist", "What would you like to speak about?"),
        line(0, 2, "therapist", "You are worn out."),
        line(0, 1, "client", TIRED),
        line(0, 1, "client", TIRED),
        line(1, 0, "client", MOVED, "low"),
        line(2, 0, "dog", "Woof."),
    ]
    found = read(tmp_path, "annomi", table(rows))
    assert seen(found) == [(TIRED, {"human": "You are worn out."})]
    assert (found.skipped.faulty, dict(found.skipped.of_format)) == (
        1,
        {"of a talk that shows how not to counsel": 1},
    )


@pytest.mark.parametrize(
    "columns", ["conv_id,utterance_idx,context,prompt,speaker_idx,utterance", "conv_idx,prompt,utterance"]
)
def test_empatheticdialogues_has_commas_of_its_own_and_quotes_that_are_none(tmp_path: Path, columns: str) -> None:
    said = [
        ("c:1", '"Never again" I said_comma_ and then the boat sank', "That_comma_ is awful!"),
        ("c:2", 'My cat is back "', "Where was she?"),
    ]
    lines = []
    for talk, first, second in said:
        for number, (who, text) in enumerate(((5, first), (6, second), (5, "Yes.")), 1):
            cells = {"conv_id": talk, "conv_idx": talk, "utterance_idx": str(number), "context": "sad", "prompt": first,
                     "speaker_idx": str(who), "utterance": text}  # fmt: skip
            lines.append(
                ",".join(cells[column] for column in columns.split(",")) + (",too,many" if number == 2 else "")
            )
    found = read(tmp_path, "empatheticdialogues", "\n".join([columns, *lines, "c:3"]))
    assert seen(found) == [
        ('"Never again" I said, and then the boat sank', {"human": "That, is awful!"}),
        ('My cat is back "', {"human": "Where was she?"}),
    ]
    assert found.skipped.faulty == 1


def battle(model_a: str, model_b: str, message: str, one: str, other: str) -> dict[str, Any]:
    talks = [[{"content": message, "role": "user"}, {"content": text, "role": "assistant"}] for text in (one, other)]
    return {"question_id": "q", "model_a": model_a, "model_b": model_b, "winner": "tie", "turn": 1,
            "conversation_a": talks[0], "conversation_b": talks[1]}  # fmt: skip


BATTLES = [
    battle("Oak-7b", "elm", MOVED, "Join a club.", "That is lonely."),
    battle("oak-7b", "birch", TIRED, "Sleep.", "Rest."),
    battle("elm", "elm", TIRED, "Sleep.", "Rest."),
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_arena_takes_battles_between_sources_of_the_study(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"arena.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.Table.from_pylist(BATTLES), path)
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, BATTLES)), encoding="utf-8")
    else:
        flat = [
            {key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()}
            for row in BATTLES
        ]
        path.write_text(table(flat), encoding="utf-8")
    found = read_items(path, study("oak-7b", "elm"), {}, public_set="arena")
    assert seen(found) == [(MOVED, {"oak-7b": "Join a club.", "elm": "That is lonely."})]
    assert found.skipped.of_format == {"battles of models that are not both among the study's sources": 2}
    with pytest.raises(ItemsError, match="names no two sources, and arena has answers of many models"):
        read_items(path, study("elm"), {}, public_set="arena")


@pytest.mark.parametrize("public_set", PUBLIC_SETS)
def test_a_file_that_is_another_set_is_refused(tmp_path: Path, public_set: str) -> None:
    with pytest.raises(UserError, match=r"set\.csv, line 1: no column") as raised:
        read(tmp_path, public_set, "text,label\na,b\n", "human", "gpt")
    assert "\n" not in str(raised.value)


def test_a_set_is_known_by_its_columns(tmp_path: Path) -> None:
    with pytest.raises(ItemsError, match=r"looks like the public set counselchat: add --format counselchat\."):
        read_items(write(tmp_path, table([asked(MOVED, "Hm.", 1)])), study("human"), {})
    assert set_that_fits(["a", "dialog"]) == "esconv"
    assert set_that_fits(["utterance"]) is None
    with pytest.raises(ItemsError, match=r'no format "counselcat"\. Did you mean counselchat\?'):
        read_items(write(tmp_path, "a,b\n1,2\n"), study("human"), {}, public_set="counselcat")
    with pytest.raises(ItemsError, match="Give --format or --columns, not both"):
        read_items(write(tmp_path, "a,b\n1,2\n"), study("human"), {}, public_set="arena", names={"message": "a"})
    with pytest.raises(ItemsError, match='no source "human" in study s'):
        read(tmp_path, "epitome", "seeker_post,response_post\na,b\n", "gpt")


def write(folder: Path, text: str) -> Path:
    (folder / "set.csv").write_text(text, encoding="utf-8")
    return folder / "set.csv"


def test_help_and_docs_name_every_set_with_its_columns() -> None:
    page = (Path(__file__).parents[3] / "docs" / "studies.md").read_text(encoding="utf-8")
    for name, known in PUBLIC_SETS.items():
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        named = {column.lower() for column in re.findall(r"`(\w+)`", line.split("|")[2])}
        assert named == {*known.needed, *known.either}
    told = " ".join(heard("study", "import", "--help").stdout.replace("│", " ").split())
    assert [name for name in PUBLIC_SETS if name not in told] == []
