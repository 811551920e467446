"""Human answers to the questions of a comparison, from a table: they are scored like a model's, and are a source.

A question may have several. They stand in the form in which `heard study import` takes them (`studies/item_forms.py`):
Context and Response, or message and a column or a `source` of people. What others wrote is not read.
"""

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from heard.chat_app.comparing.questions import Question
from heard.chat_app.studies.broken_ends import breaks_off
from heard.chat_app.studies.column_names import ColumnsError, renamed
from heard.chat_app.studies.data_files import read_data
from heard.chat_app.studies.item_drafts import HUMAN
from heard.chat_app.studies.stimulus_text import Repairs
from heard.chat_app.studies.study_items import is_human
from heard.db.records import DraftRecord, DraftStatus
from heard.errors import UserError
from heard.hints import nearest_name
from heard.scorer.csv_rows import Row, Sheet, choose, printable

MESSAGES = ("message", "context", "question")
ANSWERS = ("response", "reply", "answer")
"""Names of the columns of messages and of answers, in lower case; the first one present is used."""


class HumanAnswersError(UserError):
    """A file of human answers that cannot be used; `str()` names the file, the fault and the next step."""


@dataclass(frozen=True, slots=True)
class HumanAnswer:
    """One answer of a person to one of the questions."""

    question: Question
    text: str

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Its key in the journal. It holds a digest of the text, so that an edited answer is another one."""
        return (str(self.question.id), HUMAN, "", "", _digest(self.text))

    def draft(self) -> DraftRecord:
        """Return it as a complete draft, which a scorer takes, without a score."""
        return DraftRecord(
            id=str(uuid.uuid4()),
            number=1,
            text=self.text,
            status=DraftStatus.COMPLETE,
            kept=True,
            guidance=None,
            prompt_sha256="",
            model=HUMAN,
            parameters={},
            first_token_seconds=None,
            total_seconds=0.0,
            prompt_tokens=None,
            completion_tokens=None,
            error=None,
            score=None,
            created_at=datetime.now(UTC),
        )


@dataclass(slots=True)
class HumanAnswers:
    """The human answers of a file."""

    answers: list[HumanAnswer] = field(default_factory=list)
    """In the order of the questions."""
    told: list[str] = field(default_factory=list)
    """Sentences about how the file was read, what was left out, and which questions have no answer."""


def read_human_answers(path: Path, questions: Sequence[Question], names: Mapping[str, str]) -> HumanAnswers:
    """Read the human answers to `questions`; several to one of them are all kept, the same text once.

    A message is that of a question if both read the same, white space apart. `names` are our names of columns with
    those in the file. Raises HumanAnswersError, ColumnsError, or ScorerError if the file is no table.
    """
    sheet = read_data(path)
    sheet = renamed(sheet, {ours: theirs for ours, theirs in names.items() if theirs in sheet.columns})
    repairs = Repairs()
    by_text = {_plain(question.text): question for question in questions}
    found: dict[int, dict[str, HumanAnswer]] = {question.id: {} for question in questions}
    empty, elsewhere, others, broken = 0, 0, 0, list[int]()
    sheet, cells = _cells(sheet)
    for row, source, message, answer in cells:
        if not is_human(source):
            others += 1
            continue
        text = repairs.mended(answer, row.line)
        question = by_text.get(_plain(repairs.mended(message, row.line)))
        if not text:
            empty += 1
        elif question is None:
            elsewhere += 1
        else:
            found[question.id].setdefault(text, HumanAnswer(question, text))
            broken += [row.line] if breaks_off(text) else []
    answers = [answer for texts in found.values() for answer in texts.values()]
    if not answers:
        raise HumanAnswersError(
            f"{path.name} has no human answer to any of the questions. A message there must read as its question does; "
            "with other columns say which they are: --columns message=NAME,reply=NAME."
        )
    told = [*sheet.notes, *repairs.sentences(sheet.unit), *(f"left out, {fault}" for fault in sheet.faults[:20])]
    reasons = ((empty, "without a text"), (elsewhere, "to none of the questions"), (others, "not by people"))
    if left_out := [f"{count:,} {what}" for count, what in reasons if count]:
        told.append(f"Left out of {path.name}: {', '.join(left_out)}.")
    if broken:
        told.append(
            f"Human answers that end in mid-sentence: {len(broken):,}, the first in {sheet.unit} {min(broken)}. They "
            "are scored as they are."
        )
    answered = sum(bool(texts) for texts in found.values())
    told.append(
        f"human: {len(answers):,} answers to {answered:,} of {len(questions):,} questions; those of one question count "
        "as their mean."
    )
    return HumanAnswers(answers, told)


def question_names(path: Path, names: Mapping[str, str]) -> dict[str, str]:
    """Return those of `names` that say which column holds the messages of a file of questions; none for a .txt."""
    if "message" not in names or path.suffix.lower() == ".txt":
        return {}
    return {"message": names["message"]} if names["message"] in read_data(path).columns else {}


def check_names(names: Mapping[str, str], paths: Iterable[Path]) -> None:
    """Raise ColumnsError for a name that is a column of none of the files."""
    columns = [column for path in paths if path.suffix.lower() != ".txt" for column in read_data(path).columns]
    for theirs in names.values():
        if theirs not in columns:
            hint = nearest_name(theirs, [printable(column) for column in dict.fromkeys(columns)])
            raise ColumnsError(f'No file has a column "{printable(theirs)}". {hint}')


def _cells(sheet: Sheet) -> tuple[Sheet, Iterator[tuple[Row, str, str, str]]]:
    """Return the sheet as it is read, and of each answer its row, source, message and text."""
    message = next((name for name in MESSAGES if name in sheet.columns), None)
    answer = next((name for name in ANSWERS if name in sheet.columns), None)
    people = [column for column in dict.fromkeys(sheet.columns) if is_human(column)]
    if message is None or (answer is None and not people):
        raise HumanAnswersError(
            f"{sheet.name}, {sheet.unit} {sheet.first_line}: no column of "
            f"{'messages' if message is None else 'human answers'}. The columns are message and answer (and, if you "
            "like, source), Context and Response, or message and human; --columns message=NAME,reply=NAME names others."
        )
    if answer is None:
        sheet = choose(sheet, (message, *people), others=True)
        return sheet, (
            (row, column, row.cells[message], row.cells[column])
            for row in sheet.rows
            for column in people
            if row.cells[column].strip()
        )
    sheet = choose(sheet, (message, answer), ("source",), others=True)
    return sheet, ((row, row.cells.get("source", HUMAN), row.cells[message], row.cells[answer]) for row in sheet.rows)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _plain(text: str) -> str:
    return " ".join(text.split())
