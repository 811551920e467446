"""A file of messages without answers: which of its columns holds them."""

from collections.abc import Mapping
from pathlib import Path

from heard.chat_app.studies.column_names import renamed
from heard.chat_app.studies.data_files import read_data
from heard.scorer.csv_rows import Sheet, choose

QUESTION_COLUMNS = ("message", "context", "question")
"""Names of a column of messages, in lower case; the first one present is used."""


def question_sheet(path: Path, names: Mapping[str, str]) -> tuple[Sheet, str | None]:
    """Return the table in a file and its column of messages, or None; `names` are our names with those in the file.

    Raises ScorerError for a file that is no table, and ColumnsError for a name that is not in it.
    """
    sheet = renamed(read_data(path), names)
    column = next((column for column in QUESTION_COLUMNS if column in sheet.columns), None)
    if column is None:
        return sheet, None
    return choose(sheet, (column,), others=True), column
