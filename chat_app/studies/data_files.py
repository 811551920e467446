"""A person's table of texts, whatever kind of file it is in: CSV, JSON, JSON lines or Parquet."""

from pathlib import Path

from heard.chat_app.studies.json_rows import read_json
from heard.chat_app.studies.parquet_rows import read_parquet
from heard.scorer.csv_rows import Sheet, read_file, read_table
from heard.scorer.errors import ScorerError

_NOT_A_TABLE = {
    b"PK\x03\x04": "a workbook of Excel or another zip archive",
    b"\xd0\xcf\x11\xe0": "a workbook of an old Excel",
    b"\x1f\x8b": "compressed by gzip",
    b"%PDF": "a PDF",
    b"SQLite": "a database of SQLite",
}
"""First bytes of files that hold tables and are none, and what they are."""
_JSON = (".json", ".jsonl", ".ndjson")


def read_data(path: Path, *, quoted: bool = True) -> Sheet:
    """The rows of a file with all its columns, whose values are texts; a list or an object in a cell is its JSON.

    What the file is, is told by its first bytes and its ending. `quoted` is that of `read_table`. Raises ScorerError
    for a file that cannot be read, has no columns, or is no table.
    """
    name, raw = path.name, read_file(path)
    suffix = path.suffix.lower()
    if raw.startswith(b"PAR1") or suffix == ".parquet":
        sheet = read_parquet(name, raw)
    elif what := next((what for mark, what in _NOT_A_TABLE.items() if raw.startswith(mark)), ""):
        raise ScorerError(f'{name} is {what}. Save the table in it as "CSV UTF-8", JSON or Parquet.')
    elif suffix in _JSON or raw.removeprefix(b"\xef\xbb\xbf").lstrip()[:2] in (b'{"', b"[{"):
        sheet = read_json(name, raw)
    else:
        sheet = read_table(name, raw, quoted=quoted)
    if not sheet.columns:
        raise ScorerError(f"{name} is empty. Its first line must name the columns.")
    return sheet
