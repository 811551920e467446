"""Read a file of questions: a table with a column of them, or a text file with one a line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from heard.chat_app.safety.assessment import assess
from heard.chat_app.studies.question_files import question_sheet
from heard.chat_app.studies.stimulus_text import Repairs
from heard.errors import UserError
from heard.scorer.csv_rows import read_file
from heard.scorer.text_encoding import decode


class QuestionsError(UserError):
    """A file of questions that cannot be used; `str()` names the file, the fault and the next step."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question that may be sent to a model."""

    id: int
    """Number of the line where it begins, from 1: the same whichever other lines are left out."""
    text: str


@dataclass(slots=True)
class Questions:
    """The questions of a file, and what was left out."""

    questions: list[Question] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What is wrong with each line that is left out."""
    crises: int = 0
    """Number of questions with suicidal or self-harm meaning: they never reach a model."""
    told: list[str] = field(default_factory=list)
    """Sentences about how the file was read, and what was mended in it."""
    unit: str = "line"
    """What a question's id counts: a Parquet file has rows."""


def read_questions(
    path: Path, longest: int, names: Mapping[str, str] | None = None, *, repeats: bool = False
) -> Questions:
    """Read the questions of a file, each once, at most `longest` characters long.

    A .txt file has one question a line; any other is a table with a column question, message or Context, whose other
    columns are not read. `names` are our names of columns with those in the file (`parse_columns`). With `repeats`, for
    a file that has a line an answer, a question that comes again is no fault. Raises QuestionsError, ColumnsError, or
    ScorerError if the file is no table.
    """
    questions, repairs = Questions(), Repairs()
    lines = _text_lines(path, questions) if path.suffix.lower() == ".txt" else _cells(path, names or {}, questions)
    seen: dict[str, int] = {}
    for line, raw_text in lines:
        text = repairs.mended(raw_text, line)
        if not text:
            questions.faults.append(f"{questions.unit} {line}: the question is empty.")
        elif text in seen and repeats:
            continue
        elif text in seen:
            questions.faults.append(f"{questions.unit} {line}: the same question as in {questions.unit} {seen[text]}.")
        elif assess(text).crisis:
            questions.crises += 1
        elif len(text) > longest:
            questions.faults.append(
                f"{questions.unit} {line}: {len(text):,} characters, and {longest:,} fit into a message."
            )
        else:
            questions.questions.append(Question(line, text))
        seen.setdefault(text, line)
    questions.told += repairs.sentences(questions.unit)
    if not questions.questions:
        raise QuestionsError(f"{path.name} has no question that can be sent to a model. {_first(questions)}")
    return questions


def _first(questions: Questions) -> str:
    if questions.faults:
        return f"Its first fault is in {questions.faults[0]}"
    return "All of them are a crisis." if questions.crises else "Write one question a line."


def _text_lines(path: Path, questions: Questions) -> Iterable[tuple[int, str]]:
    decoded = decode(path.name, read_file(path))
    questions.told += [decoded.note] if decoded.note else []
    # Blank lines part questions, in a text that a person has laid out.
    return [(number, line) for number, line in enumerate(decoded.text.splitlines(), 1) if line.strip()]


def _cells(path: Path, names: Mapping[str, str], questions: Questions) -> Iterable[tuple[int, str]]:
    sheet, column = question_sheet(path, names)
    if column is None:
        raise QuestionsError(
            f"{path.name}, line 1: no column question, message or Context. Name the column of questions so, say which "
            "it is (--columns message=NAME), or give a .txt file with one question a line."
        )
    questions.unit = sheet.unit
    questions.faults += [f"{sheet.unit} {fault.line}: {fault.reason}" for fault in sheet.faults]
    questions.told += sheet.notes
    return [(row.line, row.cells[column]) for row in sheet.rows]
