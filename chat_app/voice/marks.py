"""What the marks of several readers, or of one reader twice, say of each source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heard.chat_app.comparing.tables import ReportTable
from heard.chat_app.results.agreement import agreement_of_marks
from heard.chat_app.results.clustered import clustered_share
from heard.chat_app.results.display import MISSING, counts, interval, percent
from heard.chat_app.results.records import Agreement, Share
from heard.chat_app.voice.records import VoiceError
from heard.chat_app.voice.sheets import KEY_COLUMNS, NEWS, RUBRIC
from heard.scorer.csv_rows import read_file, read_sheet
from heard.scorer.tables import Line

ALL = "acceptable (yes to all)"
MOODS = ("good", "bad")


@dataclass(frozen=True, slots=True)
class KeyRow:
    """What one row of a sheet is of."""

    source: str
    name: str
    """Of the message."""
    mood: str

    @property
    def conversation(self) -> str:
        """The message's conversation: the turns of one talk are alike."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Marks:
    """One reading of a sheet."""

    name: str
    """Of the file, without its ending."""
    questions: tuple[str, ...]
    rows: Mapping[str, tuple[bool, ...]]
    """By row: an answer to each question. A row that is not marked is not in it."""
    unmarked: int

    def yes(self, row: str, question: str) -> bool:
        """Return the answer to a question, or to all of them."""
        return all(self.rows[row]) if question == ALL else self.rows[row][self.questions.index(question)]


def read_key(path: Path) -> dict[str, KeyRow]:
    """Return what each row of a sheet is of. Raises VoiceError or ScorerError for a file that is no key."""
    sheet = read_sheet(str(path), read_file(path), KEY_COLUMNS)
    if sheet.faults:
        raise VoiceError(f"{path}, {sheet.faults[0]} Take the key as it was written.")
    return {row.cells["row"]: KeyRow(row.cells["source"], row.cells["id"], row.cells["mood"]) for row in sheet.rows}


def read_marks(path: Path, key: Mapping[str, KeyRow]) -> Marks:
    """Read a sheet that has been marked. A row with no mark at all is left out and counted.

    Raises VoiceError for a mark that is neither 0 nor 1, a row that is marked in part, one that is there twice or not
    in the key, and a sheet without marks; ScorerError for a file that is no such sheet.
    """
    sheet = read_sheet(str(path), read_file(path), ["row"], ["conversation", "reply", "note", *RUBRIC, *NEWS])
    if sheet.faults:
        raise VoiceError(f"{path}, {sheet.faults[0]} Mend the row.")
    rows: dict[str, tuple[bool, ...]] = {}
    seen: set[str] = set()
    questions = tuple(name for name in (*RUBRIC, *NEWS) if sheet.rows and name in sheet.rows[0].cells)
    if not questions:
        raise VoiceError(f"{path} has no column of marks, such as {RUBRIC[0]}. Take the sheet as it was written.")
    for row in sheet.rows:
        name = row.cells["row"].strip()
        if name in seen or name not in key:
            why = "is there twice" if name in seen else "is not in the key"
            raise VoiceError(f"{path}, line {row.line}: row {name!r} {why}. Take the sheet and the key of one drawing.")
        seen.add(name)
        marks = [row.cells[question].strip() for question in questions]
        if not any(marks):
            continue
        wrong = next((q for q, mark in zip(questions, marks, strict=True) if mark not in ("0", "1")), None)
        if wrong is not None:
            raise VoiceError(f"{path}, line {row.line}: {wrong} must be 0 or 1. Mark it, or leave the whole row empty.")
        rows[name] = tuple(mark == "1" for mark in marks)
    if not rows:
        raise VoiceError(f"{path} has no marks yet. Write 0 or 1 into {', '.join(questions)}.")
    return Marks(path.stem, questions, rows, len(key) - len(rows))


def marks_tables(key: Mapping[str, KeyRow], passes: Sequence[Marks]) -> list[ReportTable]:
    """Return the shares by source, of each pass and of what all passes accept, and how far the passes agree.

    Raises VoiceError for passes over different questions or without a row that all of them have marked.
    """
    questions = passes[0].questions
    if any(one.questions != questions for one in passes):
        raise VoiceError("The sheets ask different questions. Give sheets of one drawing.")
    both = [row for row in key if all(row in one.rows for one in passes)]
    if not both:
        raise VoiceError("No row is marked in all of the sheets. Mark the same rows in each.")
    sources = list(dict.fromkeys(row.source for row in key.values()))
    asked = [*questions, ALL] if len(questions) > 1 else list(questions)
    lines: list[Line] = []
    for mood in MOODS if questions == NEWS else (None,):
        of = f", {mood} news" if mood else ""
        for question in asked:
            for one in passes:
                chosen = [row for row in one.rows if mood in (None, key[row].mood)]
                lines.append(_line(f"{question}{of}: {one.name}", key, sources, chosen, [one], question))
            if len(passes) > 1:
                chosen = [row for row in both if mood in (None, key[row].mood)]
                lines.append(_line(f"{question}{of}: in every pass", key, sources, chosen, passes, question))
    tables = [ReportTable("Marked with yes (intervals of 95%)", tuple(lines))]
    if len(passes) > 1:
        found = {question: [tuple(one.yes(row, question) for one in passes) for row in both] for question in asked}
        agreed = tuple(Line(question, _agreement(marks)) for question, marks in found.items())
        tables.append(ReportTable(f"Agreement of {len(passes)} passes on {len(both)} replies", agreed))
    return tables


def _line(
    name: str,
    key: Mapping[str, KeyRow],
    sources: Sequence[str],
    rows: Sequence[str],
    passes: Sequence[Marks],
    question: str,
) -> Line:
    cells = {}
    for source in sources:
        own = [row for row in rows if key[row].source == source]
        marks = [all(one.yes(row, question) for one in passes) for row in own]
        cells[source] = _text(clustered_share(marks, [key[row].conversation for row in own]))
    return Line(name, cells)


def _text(share: Share) -> str:
    return f"{percent(share.share)} ({interval(share.low, share.high)}; {counts(share)})" if share.of else MISSING


def _agreement(marks: Sequence[tuple[bool, ...]]) -> dict[str, str]:
    same = sum(len(set(item)) == 1 for item in marks) / len(marks)
    return {"the same mark": percent(same), "Krippendorff's alpha": _alpha(agreement_of_marks(marks))}


def _alpha(found: Agreement) -> str:
    return f"{found.alpha:.2f}" if found.alpha is not None else found.reason or MISSING
