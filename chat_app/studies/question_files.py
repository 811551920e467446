"""The first line of a CSV of messages: its columns, and which of them holds the messages."""

import csv
import io

from heard.scorer.csv_rows import decode, read_sheet

QUESTION_COLUMNS = ("message", "context", "question")
"""Names of a column of messages, in small letters; the first that is there is taken."""


def first_line(name: str, raw: bytes) -> list[str]:
    """The columns' names in lower case; the errors of a file without any are `read_sheet`'s to tell."""
    text, _ = decode(name, raw)
    try:
        rows = (row for row in csv.reader(io.StringIO(text, newline="")) if any(cell.strip() for cell in row))
        return [cell.strip().lower() for cell in next(rows, [])]
    except csv.Error:
        return []


def question_column(name: str, raw: bytes) -> tuple[list[str], str | None]:
    """The columns of a file, and the one of its messages; None where it has none.

    Raises ScorerError for a file that is empty, or parted by something else than commas.
    """
    columns = first_line(name, raw)
    column = next((column for column in QUESTION_COLUMNS if column in columns), None)
    if column is None and (not columns or ";" in columns[0] or "\t" in columns[0]):
        read_sheet(name, raw, QUESTION_COLUMNS[:1])  # which tells of it
    return columns, column
