"""Whatever stands in a file of items, questions or a study: it is read, or refused in one sentence."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heard.chat_app.comparing.questions import read_questions as read_compared
from heard.chat_app.studies.column_names import parse_columns
from heard.chat_app.studies.import_preview import preview
from heard.chat_app.studies.public_sets import PUBLIC_SETS
from heard.chat_app.studies.study_file import parse_study, read_study_file
from heard.chat_app.studies.study_items import read_items, read_questions
from heard.errors import UserError

ARMS = [{"name": f"arm-{number}", "persona": "listener", "model": "echo"} for number in range(2)]
STUDY = parse_study({"id": "s", "kind": "survey", "sources": ["human", "gpt"], "arms": ARMS}, "test")
COLUMNS = sorted(
    {"message", "human", "gpt", "Context", "Response", "source", "answer", "attention", "", "utterance_idx", "upvotes"}
    | {column for known in PUBLIC_SETS.values() for column in (*known.needed, *known.either)}
)
SETS = st.sampled_from([None, *PUBLIC_SETS])
CELLS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            '""',
            '"',
            "<p>",
            "&amp;",
            "\ufeff",
            "=",
            "Iâ€™m",
            "1,5",
            '[{"role":"user","content":"x"}]',
            "\0",
            "\r",
            "client",
        ]
    ),
)
fuzzed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def attempt(path: Path, raw: bytes, public_set: str | None = None, names: Mapping[str, str] | None = None) -> None:
    """Read a file in each way there is."""
    path.write_bytes(raw)
    for work in (
        lambda: preview(read_items(path, STUDY, {}, names=names, public_set=public_set)),
        lambda: read_questions(path, STUDY, names=names),
        lambda: read_compared(path, 60, names),
        lambda: read_study_file(path),
    ):
        try:
            work()
        except UserError as error:
            told = str(error)
            assert told.endswith((".", "?", ")")), told
            assert len(told.splitlines()) == 1, told


@fuzzed
@given(
    st.sampled_from([b"", b"message,human,gpt\n", b"Context,Response\n", b"\xff\xfe", b"PAR1", b"[{", b'{"a":']),
    st.binary(max_size=200),
    st.sampled_from([".csv", ".json", ".jsonl", ".parquet", ".txt", ".toml"]),
    SETS,
)
def test_any_bytes(tmp_path: Path, before: bytes, raw: bytes, suffix: str, public_set: str | None) -> None:
    attempt(tmp_path / f"f{suffix}", before + raw, public_set)


@fuzzed
@given(
    st.lists(st.one_of(st.sampled_from(COLUMNS), CELLS), max_size=7),
    st.lists(st.lists(CELLS, max_size=7), max_size=6),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "cp1250", "cp1251", "gb18030"]),
    st.sampled_from(["", "sep=;\n", "sep=\t\r\n"]),
    SETS,
)
def test_any_rows(
    tmp_path: Path,
    header: list[str],
    rows: list[list[str]],
    sign: str,
    end: str,
    codec: str,
    before: str,
    public_set: str | None,
) -> None:
    raw = (before + end.join(sign.join(row) for row in [header, *rows])).encode(codec, "replace")
    attempt(tmp_path / "f.csv", raw, public_set)
    attempt(tmp_path / "f.csv", raw, None, {"message": "questiontext", "reply": "answertext"})


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), CELLS, st.just("\ud800")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["role", "content", "speaker", "text"]), inner, max_size=3),
    ),
    max_leaves=8,
)


@fuzzed
@given(
    st.lists(st.dictionaries(st.sampled_from([*COLUMNS, "Message"]), VALUES, max_size=6), max_size=4),
    st.integers(0, 3),
    st.integers(0, 400),
    SETS,
)
def test_any_json(tmp_path: Path, rows: list[dict[str, Any]], kind: int, cut: int, public_set: str | None) -> None:
    forms = (json.dumps(rows), "\n".join(map(json.dumps, rows)), json.dumps({"data": rows}), json.dumps(rows, indent=1))
    attempt(tmp_path / "f.json", forms[kind].encode(), public_set)
    attempt(tmp_path / "f.jsonl", forms[kind][:cut].encode(), public_set)


@fuzzed
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(["message", "=", ",", '"', "a", "\n"])).map("".join)))
def test_any_names_of_columns(text: str) -> None:
    try:
        found = parse_columns(text)
    except UserError as error:
        found, told = {}, str(error)
    else:
        told = "read"
    assert len(told.splitlines()) == 1
    assert "" not in {*found, *found.values()}


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".toml", ".txt"])
def test_what_is_endless(tmp_path: Path, suffix: str) -> None:
    for text in (
        "[" * 100_000,
        f"[{'1' * 5000}]",
        '{"a":' * 50_000,
        f'[{{"message":{"9" * 6000}}}]',
        "a = " + "[" * 5000,
    ):
        attempt(tmp_path / f"f{suffix}", text.encode())
