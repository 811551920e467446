"""The lines that the reader of danger learns from: what a file may hold, and how its faults are named."""

import json
import re
from pathlib import Path

import pytest

from heard.scorer.danger_lines import FIRST_DANGER, LABELS, DangerLine, read_lines
from heard.scorer.errors import ScorerError

SECRET = "zebra-marmalade-4711"
GOOD = {"text": SECRET, "label": "none", "kind": "news", "group": "w1-001"}


def written(folder: Path, *rows: object) -> Path:
    path = folder / "lines.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_a_line_is_read_with_what_was_said_before_it(tmp_path: Path) -> None:
    row = {**GOOD, "before": ["one", "two"], "register": "teen", "pair": "not ours"}
    assert read_lines(written(tmp_path, GOOD, "", row)) == [
        DangerLine(SECRET, "none", "news", "w1-001"),
        DangerLine(SECRET, "none", "news", "w1-001", "teen", ("one", "two")),
    ]
    assert read_lines(written(tmp_path, GOOD))[0].writer == "w1"


@pytest.mark.parametrize(
    "row",
    [
        SECRET,
        f'{{"text": "{SECRET}"',
        [SECRET],
        {**GOOD, "text": ""},
        {**GOOD, "text": 5},
        {**GOOD, "label": SECRET},
        {**GOOD, "group": ""},
        {**GOOD, "before": SECRET},
        {**GOOD, "before": [SECRET, 5]},
        {"text": SECRET, "label": "none", "kind": "news"},
    ],
)
def test_a_faulty_line_is_named_by_its_number_and_never_by_its_words(tmp_path: Path, row: object) -> None:
    path = written(tmp_path, GOOD, "", row, GOOD)
    with pytest.raises(ScorerError, match=re.escape(f"{path}, line 3: ")) as fault:
        read_lines(path)
    assert SECRET not in str(fault.value)
    assert fault.value.__cause__ is None, "a traceback would quote the words"


def test_files_without_lines(tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match=r'holds no lines\. Give JSON lines with "text"'):
        read_lines(written(tmp_path, "", "  "))
    with pytest.raises(ScorerError, match="cannot be read as UTF-8 text"):
        read_lines(tmp_path / "none.jsonl")
    (tmp_path / "lines.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(ScorerError, match="cannot be read as UTF-8 text"):
        read_lines(tmp_path / "lines.jsonl")


def test_the_project_s_own_lines_cover_every_label() -> None:
    lines = read_lines()
    assert len(lines) >= 6_000
    assert {line.label for line in lines} == set(LABELS)
    assert LABELS[FIRST_DANGER] == "crisis"
    assert max(len(line.before) for line in lines) == 2


def test_a_folder_is_all_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("w2", "w1"):
        written(tmp_path, {**GOOD, "group": f"{name}-001"}).rename(tmp_path / f"{name}.jsonl")
    (tmp_path / "notes.txt").write_text("no lines")
    assert [line.writer for line in read_lines(tmp_path)] == ["w1", "w2"]
    (tmp_path / "w1.jsonl").unlink()
    (tmp_path / "w2.jsonl").unlink()
    with pytest.raises(ScorerError, match="holds no lines"):
        read_lines(tmp_path)
