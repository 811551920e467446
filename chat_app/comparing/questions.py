"""Read a file of questions: a CSV with a column of them, or a text file with one a line."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.safety.assessment import assess
from heard.chat_app.studies.question_files import question_column
from heard.errors import UserError
from heard.scorer.csv_rows import read_file, read_sheet
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


def read_questions(path: Path, longest: int) -> Questions:
    """Read the questions of a file, each once, at most `longest` characters long.

    A .txt file has one question a line; any other is a CSV with a column question, message or Context, whose other
    columns are not read. Raises QuestionsError, or ScorerError if the file is not a CSV.
    """
    raw = read_file(path)
    questions = Questions()
    lines = _text_lines(path, raw) if path.suffix.lower() == ".txt" else _cells(path, raw, questions)
    seen: dict[str, int] = {}
    for line, raw_text in lines:
        text = clean_unicode(raw_text).strip()
        if not has_visible(text):
            questions.faults.append(f"line {line}: the question is empty.")
        elif text in seen:
            questions.faults.append(f"line {line}: the same question as in line {seen[text]}.")
        elif assess(text).crisis:
            questions.crises += 1
        elif len(text) > longest:
            questions.faults.append(f"line {line}: {len(text):,} characters, and {longest:,} fit into a message.")
        else:
            questions.questions.append(Question(line, text))
        seen.setdefault(text, line)
    if not questions.questions:
        raise QuestionsError(f"{path.name} has no question that can be sent to a model. {_first(questions)}")
    return questions


def _first(questions: Questions) -> str:
    if questions.faults:
        return f"Its first fault is in {questions.faults[0]}"
    return "All of them are a crisis." if questions.crises else "Write one question a line."


def _text_lines(path: Path, raw: bytes) -> Iterable[tuple[int, str]]:
    text = decode(path.name, raw).text
    # Blank lines part questions, in a text that a person has laid out.
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _cells(path: Path, raw: bytes, questions: Questions) -> Iterable[tuple[int, str]]:
    columns, column = question_column(path.name, raw)
    if column is None:
        raise QuestionsError(
            f"{path.name}, line 1: no column question, message or Context. Name the column of questions so, or give a "
            ".txt file with one question a line."
        )
    sheet = read_sheet(path.name, raw, (column,), [other for other in columns if other != column])
    questions.faults += [str(fault) for fault in sheet.faults]
    return [(row.line, row.cells[column]) for row in sheet.rows]
