"""Files of questions as people have them, and what is wrong with each."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from heard.chat_app.comparing.questions import Questions, QuestionsError, read_questions
from heard.scorer.errors import ScorerError

CRISIS = "I want to kill myself tonight."


def read(folder: Path, text: str | bytes, name: str = "questions.csv") -> Questions:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_questions(path, 60)


def seen(found: Questions) -> list[tuple[int, str]]:
    return [(question.id, question.text) for question in found.questions]


@pytest.mark.parametrize("column", ["question", "message", "Context", "CONTEXT"])
def test_a_csv_has_one_column_of_questions_and_perhaps_others(tmp_path: Path, column: str) -> None:
    found = read(tmp_path, f'id,{column},Response\n1,"I feel\nlow.",x\n2,I won.,y\n')
    assert seen(found) == [(2, "I feel\nlow."), (4, "I won.")]
    assert (found.faults, found.crises) == ([], 0)


def test_a_text_has_one_a_line(tmp_path: Path) -> None:
    found = read(tmp_path, "I feel low, and tired.\n\n  I won.  \r\nI feel low, and tired.", "questions.txt")
    assert seen(found) == [(1, "I feel low, and tired."), (3, "I won.")]
    assert found.faults == ["line 4: the same question as in line 1."]


def test_other_encodings_are_read(tmp_path: Path) -> None:
    assert seen(read(tmp_path, "question\nÉtrange.\n".encode("utf-16"))) == [(2, "Étrange.")]


def test_what_was_mended_is_told_and_a_column_may_have_another_name(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes("id;text\n1;I am <b>late</b> again – and tired.\n".encode("cp1252"))
    found = read_questions(path, 60, {"question": "text"})
    assert seen(found) == [(2, "I am late again – and tired.")]
    assert [sentence.partition(" ")[0] for sentence in found.told] == ["Read", "The", "Not", "Mended:"]


def test_a_parquet_file_has_rows(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"question": ["I feel low.", "I feel low."]}), tmp_path / "q.parquet")
    assert read_questions(tmp_path / "q.parquet", 60).faults == ["row 2: the same question as in row 1."]


def test_faults_are_told_by_line_and_a_crisis_is_counted_and_its_words_told_to_nobody(tmp_path: Path) -> None:
    rows = ["I feel low.", "", '"\u200b"', "I feel low.", "x" * 61, CRISIS, "too,many"]
    found = read(tmp_path, "question,note\n" + "".join(f"{row},\n" for row in rows))
    assert seen(found) == [(2, "I feel low.")]
    assert found.crises == 1
    told = "\n".join(found.faults)
    for words in ("line 4: the question is empty", "line 5: the same question as in line 2", "line 6: 61 characters",
                  "line 8: this row has 3 cells"):  # fmt: skip
        assert words in told
    assert CRISIS not in told


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("q.csv", "", "q.csv is empty"),
        ("q.csv", "questions\nI feel low.\n", "line 1: no column question, message or Context"),
        ("q.csv", "question\n", "has no question that can be sent"),
        ("q.csv", f"question\n{CRISIS}\n", "All of them are a crisis."),
        ("q.csv", f"question\n{'x' * 61}\n", "Its first fault is in line 2: 61 characters"),
        ("q.csv", 'question\n"never closed\n', "a quote is opened"),
        ("q.txt", "\n \n", "Write one question a line."),
        ("q.txt", b"\xff\xfe\xff\x00\xd8", "no encoding"),
    ],
)
def test_a_file_without_questions_is_refused(tmp_path: Path, name: str, text: str | bytes, sentence: str) -> None:
    with pytest.raises((QuestionsError, ScorerError)) as caught:
        read(tmp_path, text, name)
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match=r"gone\.csv cannot be read"):
        read_questions(tmp_path / "gone.csv", 60)
