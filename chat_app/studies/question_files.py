"""The header of a CSV of messages: its columns, and which of them holds the messages."""

import csv
import io

from heard.scorer.csv_rows import read_sheet
from heard.scorer.text_encoding import decode

QUESTION_COLUMNS = ("message", "context", "question")
"""Names of a column of messages, in lower case; the first one present is used."""


def header_columns(name: str, raw: bytes) -> list[str]:
    """Return the names of the columns in lower case; none for a file without a header, which `read_sheet` refuses."""
    text = decode(name, raw).text
    try:
        rows = (row for row in csv.reader(io.StringIO(text, newline="")) if any(cell.strip() for cell in row))
        return [cell.strip().lower() for cell in next(rows, [])]
    except csv.Error:
        return []


def question_column(name: str, raw: bytes) -> tuple[list[str], str | None]:
    """Return the columns of a file, and the one of its messages or None.

    Raises ScorerError for a file that is empty or not separated by commas.
    """
    columns = header_columns(name, raw)
    column = next((column for column in QUESTION_COLUMNS if column in columns), None)
    if column is None and (not columns or ";" in columns[0] or "\t" in columns[0]):
        read_sheet(name, raw, QUESTION_COLUMNS[:1])  # which raises
    return columns, column
