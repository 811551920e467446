"""Read a person's CSV: find its encoding, give every row its line, and say what is wrong with a row instead of raising.

A fault of one row spoils that row only. A fault of the whole file (no such column, a quote that swallows other rows)
raises, because what would be left could not be trusted. What was taken otherwise than it may look (another encoding,
another separator, a column that was not read) stands in the sheet's notes.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from heard.hints import closest
from heard.scorer.errors import ScorerError
from heard.scorer.text_encoding import decode

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""Signs between cells, and their names for people. The first is taken where none is found more often."""
_NAMED_SEPARATOR = re.compile(r'"?sep=(.)"?[,;\t|]*[ ]*(?:\r\n|\r|\n|$)', re.IGNORECASE)
"""The line by which Excel is told the separator."""
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d{1,2}")
_SPELLINGS = {"behavioural": "behavioral"}
"""Names of columns as the British write them, and as they are known here."""
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Row:
    """One row that has as many cells as the first line has names."""

    line: int
    """Where it begins, counted from 1; a cell with line breaks makes a row of several lines."""
    cells: dict[str, str]
    """Column to cell, for the columns that are there."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A row that cannot be used."""

    line: int
    """Where it begins, counted from 1."""
    reason: str
    """As the end of a sentence that begins with the line."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a table, and those that are none."""

    name: str
    """Of the file, for messages."""
    encoding: str
    """What it was read as, for people: "UTF-8", "UTF-16", "Windows-1252" ..."""
    rows: list[Row]
    """Rows without any text are not among them."""
    faults: list[Fault] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    """Names in lower case, in the order of the file, one as often as it is there. Those without a name are left out."""
    first_line: int = 1
    """Where the columns are named."""
    notes: tuple[str, ...] = ()
    """Sentences about what was taken otherwise than it may look."""
    unit: str = "line"
    """What the lines are called, for messages: a Parquet file has rows."""


def read_file(path: Path) -> bytes:
    """The bytes of a file. Raises ScorerError if it cannot be read."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        reason = error.strerror if isinstance(error, OSError) else "its name is no path"
        raise ScorerError(f"{path} cannot be read ({reason}). Check the path.") from error


def read_sheet(name: str, raw: bytes, needed: Sequence[str], optional: Sequence[str] = ()) -> Sheet:
    """The rows of the CSV `raw`, which people know as `name`. Its columns may be in any order.

    Raises ScorerError for a file that is empty, lacks a column that is `needed`, has one that is in neither list, is in
    an unknown encoding, or has a quote that is never closed.
    """
    sheet = read_table(name, raw)
    if not sheet.columns:
        raise ScorerError(f"{name} is empty. Its first line must be {','.join(needed)}.")
    return choose(sheet, needed, optional)


def read_table(name: str, raw: bytes, *, quoted: bool = True) -> Sheet:
    """The rows of the CSV `raw` with all its columns; no columns for a file without text.

    The separator is a comma, a semicolon, a tab or a bar: what a first line `sep=;` says, else the one by which the
    line of names falls into most pieces. If the file is not `quoted`, a quote is a letter like others, and what stands
    after the last column is not read. Raises ScorerError for an unknown encoding, or a quote that is never closed.
    """
    decoded = decode(name, raw)
    text, notes = decoded.text, [decoded.note] if decoded.note else []
    told = _NAMED_SEPARATOR.match(text)
    body = text[told.end() :] if told else text
    separator = told[1] if told and told[1] in _SEPARATORS else _separator(body, quoted)
    if separator != ",":
        notes.append(f"The cells are parted by {_SEPARATORS[separator]}.")
    names: list[str] = []
    first_line, rows, faults = 1, list[Row](), list[Fault]()
    for line, cells in _records(name, body, separator, faults, 1 if told else 0, quoted=quoted):
        if faults and not names:
            break
        if not names:
            names, first_line = [cell.strip().lower() for cell in cells], line
        elif len(cells) != len(names) and (quoted or len(cells) < len(names)):
            faults.append(Fault(line, f"this row has {len(cells)} cells, but the first line has {len(names)}."))
        else:  # from the last to the first, so that of two columns of one name the first is kept
            rows.append(Row(line, {name: cell for name, cell in reversed(list(zip(names, cells, strict=False)))}))
    if nameless := names.count(""):
        notes.append(f"Not read: {nameless} column{'s' * (nameless != 1)} without a name.")
        for row in rows:
            row.cells.pop("")
    if faults and not names:
        raise ScorerError(f"{name}, {faults[0]}")
    columns = tuple(column for column in names if column)
    notes += _mend_decimal_commas(rows, columns)
    return Sheet(name, decoded.encoding, rows, faults, columns, first_line, tuple(notes))


def choose(sheet: Sheet, needed: Sequence[str], optional: Sequence[str] = (), *, others: bool = False) -> Sheet:
    """The sheet with only the columns in `needed` and, where they are there, in `optional`.

    With `others` there may be further columns, which are noted; without, they are a fault. Raises ScorerError for a
    column that is missing or is there twice, and for one that looks like a misspelt one of `optional`.
    """
    known = [*needed, *optional]
    found = [_SPELLINGS[column] if _SPELLINGS.get(column) in known else column for column in sheet.columns]
    where = f"{sheet.name}, {sheet.unit} {sheet.first_line}" if sheet.unit == "line" else sheet.name
    shown = ", ".join(needed) + (f" (and, if you like, {', '.join(optional)})" if optional else "")
    missing = [column for column in needed if column not in found]
    if missing:
        raise ScorerError(f"{where}: no column {', '.join(missing)}. The columns are {shown}.")
    unknown = list(dict.fromkeys(column for column in found if column not in known))
    for column in unknown if others else unknown[:1]:
        if nearest := closest(column, [name for name in known if name not in found]):
            raise ScorerError(f"{where}: unknown column {printable(column)}. Did you mean {nearest}?")
    if unknown and not others:
        listed = ", ".join(map(printable, unknown))
        raise ScorerError(f"{where}: unknown column {listed}. The columns are {shown}; remove others.")
    twice = sorted({column for column in found if column in known and found.count(column) > 1})
    if twice:
        raise ScorerError(f"{where}: the column {twice[0]} is there twice. Remove one.")
    places = {name: column for name, column in zip(found, sheet.columns, strict=True) if name in known}
    rows = [Row(row.line, {name: row.cells[column] for name, column in places.items()}) for row in sheet.rows]
    notes = [f"The column {column} is read as {name}." for name, column in places.items() if name != column]
    if unknown:
        notes.append(f"Not read: the column{'s' * (len(unknown) != 1)} {', '.join(map(printable, unknown))}.")
    return replace(sheet, rows=rows, columns=tuple(places), notes=(*sheet.notes, *notes))


def printable(name: str) -> str:
    """A name from a file for a sentence: on one line, at most 40 characters, without what a terminal would obey."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in name).split())
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}..."


def _separator(text: str, quoted: bool) -> str:
    """The sign that parts the first line that is not blank into most cells."""
    found = dict.fromkeys(_SEPARATORS, 1)
    for sign in _SEPARATORS:
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=sign, quoting=_quoting(quoted))
            found[sign] = len(next((row for row in rows if any(cell.strip() for cell in row)), [""]))
        except csv.Error:
            continue
    return max(found, key=lambda sign: found[sign])


def _quoting(quoted: bool) -> Literal[0, 3]:
    return csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE


def _records(
    name: str, text: str, separator: str, faults: list[Fault], lines_before: int, *, quoted: bool
) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the line where it begins; what is no row goes to `faults`."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=_quoting(quoted), strict=True)
    while True:
        line = reader.line_num + 1 + lines_before
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            faults.append(Fault(line, _reason(name, line, reader.line_num + lines_before, str(error))))
            continue
        if any(cell.strip() for cell in cells):  # spreadsheets leave blank rows at the end
            yield line, cells


def _mend_decimal_commas(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Write 2,5 as 2.5 in columns of numbers; return a note of it."""
    mended = []
    for column in dict.fromkeys(columns):
        filled = [row.cells[column].strip() for row in rows if row.cells[column].strip()]
        numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in filled)
        if 2 * numbers < len(filled) or not any(_DECIMAL_COMMA.fullmatch(cell) for cell in filled):
            continue
        mended.append(column)
        for row in rows:
            if _DECIMAL_COMMA.fullmatch(row.cells[column].strip()):
                row.cells[column] = row.cells[column].strip().replace(",", ".")
    return [f"Decimal commas are read as points in {', '.join(map(printable, mended))}."] if mended else []


def _reason(name: str, first: int, last: int, error: str) -> str:
    """What is wrong with the row from line `first` to line `last`. Raises ScorerError where other rows are in it."""
    if last > first or error == "unexpected end of data":
        raise ScorerError(
            f"{name}, line {first}: a quote is opened here that is not closed as it should be by line {last}. "
            'Close it, or write a quote within a cell twice ("").'
        )
    if error.startswith("field larger"):
        return f"a cell has more than {csv.field_size_limit():,} characters."
    if "expected after" in error:
        return 'a quote within a cell must be written twice ("").'
    return f"no CSV ({error})."
