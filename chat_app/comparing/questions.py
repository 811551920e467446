"""A file of questions: a CSV with a column of them, or a text file with one a line."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.question_files import question_column
from heard.errors import UserError
from heard.scorer.csv_rows import decode, read_file, read_sheet


class QuestionsError(UserError):
    """A file of questions that cannot be used; `str()` names the file, the fault and the next step."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question that may be sent to a model."""

    id: int
    """The line where it begins, counted from 1: the same whichever other lines are left out."""
    text: str


@dataclass(slots=True)
class Questions:
    """What a file gave."""

    questions: list[Question] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Of each line that is left out, what is wrong with it."""
    crises: int = 0
    """Questions with suicidal or self-harm meaning: they never reach a model."""


def read_questions(path: Path, longest: int) -> Questions:
    """The questions of a file, each once, at most `longest` characters long.

    A name that ends in .txt means one question a line; any other a CSV with a column question, message or Context,
    whose other columns are not read. Raises QuestionsError, or ScorerError for a file that is no CSV.
    """
    raw = read_file(path)
    found = Questions()
    lines = _text_lines(path, raw) if path.suffix.lower() == ".txt" else _cells(path, raw, found)
    seen: dict[str, int] = {}
    for line, given in lines:
        text = clean_unicode(given).strip()
        if not has_visible(text):
            found.faults.append(f"line {line}: the question is empty.")
        elif text in seen:
            found.faults.append(f"line {line}: the same question as in line {seen[text]}.")
        elif crisis_check.check(text).crisis:
            found.crises += 1
        elif len(text) > longest:
            found.faults.append(f"line {line}: {len(text):,} characters, and {longest:,} fit into a message.")
        else:
            found.questions.append(Question(line, text))
        seen.setdefault(text, line)
    if not found.questions:
        raise QuestionsError(f"{path.name} has no question that can be sent to a model. {_first(found)}")
    return found


def _first(found: Questions) -> str:
    if found.faults:
        return f"Its first fault is in {found.faults[0]}"
    return "All of them are a crisis." if found.crises else "Write one question a line."


def _text_lines(path: Path, raw: bytes) -> Iterable[tuple[int, str]]:
    text, _ = decode(path.name, raw)
    # Blank lines part questions, in a text that a person has laid out.
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _cells(path: Path, raw: bytes, found: Questions) -> Iterable[tuple[int, str]]:
    columns, column = question_column(path.name, raw)
    if column is None:
        raise QuestionsError(
            f"{path.name}, line 1: no column question, message or Context. Name the column of questions so, or give a "
            ".txt file with one question a line."
        )
    sheet = read_sheet(path.name, raw, (column,), [other for other in columns if other != column])
    found.faults += [str(fault) for fault in sheet.faults]
    return [(row.line, row.cells[column]) for row in sheet.rows]
