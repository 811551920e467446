"""Tables in whatever file people have them: the same items from each, and one sentence where there are none."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from heard.chat_app.studies.column_names import ColumnsError, parse_columns
from heard.chat_app.studies.data_files import read_data
from heard.chat_app.studies.study_file import StudyFile, StudyFileError, parse_study, read_study_file
from heard.chat_app.studies.study_items import Items, read_items
from heard.errors import UserError

ROWS: list[dict[str, Any]] = [
    {"id": 1, "message": "I feel\nlow; really, “low”.", "human": "I am here.", "gpt": "Try a walk.", "tags": ["a"]},
    {"id": 2, "message": "I won!", "human": "Great.", "gpt": "Well done, you.", "tags": []},
]
SEEN = [(row["message"], {"human": row["human"], "gpt": row["gpt"]}) for row in ROWS]
ARM = {"name": "arm", "persona": "listener", "model": "echo"}


def study(*sources: str, arms: int = 0) -> StudyFile:
    named = [{**ARM, "name": f"arm-{number}"} for number in range(arms)]
    return parse_study({"id": "s", "kind": "survey", "sources": list(sources), "arms": named}, "test")


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def seen(found: Items) -> list[tuple[str, dict[str, str]]]:
    return [(item.message, {answer.source: answer.text for answer in item.answers}) for item in found.items]


def parquet_of(folder: Path, rows: list[dict[str, Any]], name: str = "items.parquet") -> Path:
    parquet.write_table(pa.Table.from_pylist(rows), folder / name)
    return folder / name


def separated(sign: str, before: str = "") -> str:
    lines = [[*ROWS[0]], *([str(row[key]) for key in row] for row in ROWS)]
    return before + "\r\n".join(sign.join(f'"{cell}"' for cell in line) for line in lines)


FILES = {
    "commas.csv": separated(","),
    "semicolons.csv": separated(";"),
    "tabs.tsv": separated("\t"),
    "bars.csv": separated("|"),
    "told.csv": separated(";", "sep=;\r\n"),
    "told-tab.csv": separated("\t", '"sep=\t"\n'),
    "marked.csv": "\ufeff\ufeff" + separated(";", "sep=;\r\n"),
    "wide.csv": separated(";").encode("utf-16"),
    "list.json": json.dumps(ROWS),
    "pretty.json": json.dumps(ROWS, indent=2),
    "within.json": json.dumps({"version": 1, "data": ROWS}),
    "lines.jsonl": "\n".join(map(json.dumps, ROWS)),
    "lines.json": "\n".join(map(json.dumps, ROWS)),  # as public sets are named
    "lines.ndjson": "\ufeff" + "\r\n\r\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS),
}


@pytest.mark.parametrize("name", FILES)
def test_the_same_items_come_from_any_file(tmp_path: Path, name: str) -> None:
    found = read_items(write(tmp_path, name, FILES[name]), study("human", "gpt"), {})
    assert seen(found) == SEEN
    assert "Not read: the columns id, tags." in found.told


def test_and_from_parquet(tmp_path: Path) -> None:
    found = read_items(parquet_of(tmp_path, ROWS), study("human", "gpt"), {})
    assert (seen(found), found.places, found.encoding) == (SEEN, ("row 1", "row 2"), "Parquet")


def test_values_of_other_kinds_are_texts(tmp_path: Path) -> None:
    row = {"A": 1, "b": 2.5, "c": None, "d": True, "e": [{"role": "user"}], "f": float("nan"), "g": "\ud83d\ude00"}
    cells = {"a": "1", "b": "2.5", "c": "", "d": "true", "e": '[{"role": "user"}]', "f": "", "g": "😀"}
    assert read_data(write(tmp_path, "a.json", json.dumps([row]))).rows[0].cells == cells
    strange = [{"a": "x", "picture": b"\xff\xfe\x00"}]
    sheet = read_data(parquet_of(tmp_path, strange))
    assert sheet.rows[0].cells["a"] == "x"


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    text = '[\n {"a": "1"},\n\n {"a":\n  "2"}, {"a": "3"}\n]'
    assert [row.line for row in read_data(write(tmp_path, "a.json", text)).rows] == [2, 4, 5]
    text = '{"a": "1"}\n\nnothing\n{"a": "2", "A": "3"}\n[1]\n{"b": "4"}\n'
    sheet = read_data(write(tmp_path, "a.jsonl", text))
    assert [(row.line, row.cells) for row in sheet.rows] == [(1, {"a": "1", "b": ""}), (6, {"b": "4", "a": ""})]
    assert [fault.line for fault in sheet.faults] == [3, 4, 5]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.json", '[{"a": 1}, {"a" 2}]', "a.json, line 1: this is no JSON (Expecting ':' delimiter). Mend it there."),
        ("a.json", '[\n{"a": 1},\n{"a": 2', "a.json, line 3: this is no JSON"),
        ("a.json", '[\n{"a": 1}\n{"a": 2}]', "line 3: the list has no comma and no end here. Is the file whole?"),
        ("a.json", '[{"a": 1}] x', "something stands behind the end of the list"),
        ("a.json", "[]", "a.json is empty"),
        ("a.json", "", "a.json is empty"),
        ("a.json", "3", "this is no object with names and values. Give a list of objects, or an object a line."),
        ("a.json", '{"a": 1, "a": 2}', "a key is there twice in one object"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.jsonl", f'{{"a": {"9" * 6000}}}', "this is no JSON"),
        ("a.parquet", b"PAR1 and nothing more PAR1", "is no Parquet file that can be read, or is damaged"),
        ("a.parquet", "message\n", "is no Parquet file that can be read"),
        ("a.csv", b"PK\x03\x04abc", "a.csv is a workbook of Excel or another zip archive. Save the table in it as"),
        ("a.csv", b"\x1f\x8b\x08abc", "is compressed by gzip"),
        ("a.csv", "", "a.csv is empty"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_one_sentence(tmp_path: Path, name: str, content: str | bytes, sentence: str) -> None:
    with pytest.raises(UserError) as raised:
        read_data(write(tmp_path, name, content))
    assert sentence in str(raised.value)
    assert str(raised.value).startswith("a.")
    assert "\n" not in str(raised.value)


def test_columns_are_named(tmp_path: Path) -> None:
    path = write(
        tmp_path, "a.csv", 'id,questionText,"Then, what",by\n1,I am late.,Sorry.,gpt\n2,I am late.,Oh.,human\n'
    )
    names = parse_columns('message=questionText, "reply=Then, what"')
    found = read_items(path, study("human", arms=1), {}, names=names)
    assert [(item.message, item.answers[0].text) for item in found.items] == [("I am late.", "Sorry.")]
    assert found.told == ("Not read: the columns id, by.",)
    assert found.skipped.further_responses == 1
    names = parse_columns('message=questiontext,source=by,"answer=Then, what"')
    assert seen(read_items(path, study("human", "gpt"), {}, names=names)) == [
        ("I am late.", {"gpt": "Sorry.", "human": "Oh."})
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("message", '"message" is no pair of names. Write --columns message=NAME'),
        ("message=", "is no pair of names"),
        ("=a,", "is no pair of names"),
        ("message=a,message=b", '"message" is there twice'),
        ("message=a,reply=a", '"a" is there twice'),
        ("message=a,reply=bb", 'a.csv: no column "bb". Did you mean b?'),
        ("message=a,reply=c", "the column c is there twice"),
        ("reply=b", "no column message. Name that of the messages too"),
    ],
)
def test_wrong_names_of_columns(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, "a.csv", "a,b,c,c\nI am late.,Sorry.,1,2\n")
    with pytest.raises(ColumnsError) as raised:
        read_items(path, study("human", arms=1), {}, names=parse_columns(text))
    assert sentence in str(raised.value)


def test_sources_are_known_whatever_their_capitals_and_others_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "message,GPT-4o,Human,seconds\nI am late.,Oh.,Sorry.,3\n")
    found = read_items(path, study("human", "GPT-4o"), {})
    assert seen(found) == [("I am late.", {"GPT-4o": "Oh.", "human": "Sorry."})]
    assert found.told == ("Not read: the column seconds.",)


def test_the_study_file_in_other_encodings(tmp_path: Path) -> None:
    text = 'id = "s"\r\nkind = "survey"\r\ntitle = "Étude – “une”"\r\n'
    for raw in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16"), text.encode("cp1252")):
        assert read_study_file(write(tmp_path, "s.toml", raw)).title == "Étude – “une”"
    for content, sentence in (
        (b'id = "s"\ntitle = "\xc3\xa9\xc3\xa9\xe9"\n', "line 2: a byte (0xE9) that is no UTF-8"),
        (b'id = "s"\nkind = survey\n', "is not valid TOML"),
        (b"items_per_person = " + b"9" * 6000, "is not valid TOML"),
        (b"arms = " + b"[" * 100_000, "is not valid TOML"),
    ):
        with pytest.raises(StudyFileError) as raised:
            read_study_file(write(tmp_path, "s.toml", content))
        assert sentence in str(raised.value)
        assert "\n" not in str(raised.value)
