"""Read a person's CSV: find its encoding, give every row its line, and say what is wrong with a row instead of raising.

A fault of one row spoils that row only. A fault of the whole file (no such column, another separator, a quote that
swallows other rows) raises, because what would be left could not be trusted.
"""

import codecs
import csv
import difflib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from heard.scorer.errors import ScorerError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
"""First bytes of a file, the codec that takes them off, and its name for people."""
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


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
    """The rows of a CSV, and those that are none."""

    name: str
    """Of the file, for messages."""
    encoding: str
    """What it was read as, for people: "UTF-8", "UTF-16", "Windows-1252" ..."""
    rows: list[Row]
    """Rows without any text are not among them."""
    faults: list[Fault] = field(default_factory=list)


def read_file(path: Path) -> bytes:
    """The bytes of a file. Raises ScorerError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ScorerError(f"{path} cannot be read ({error.strerror}). Check the path.") from error


def read_sheet(name: str, raw: bytes, needed: Sequence[str], optional: Sequence[str] = ()) -> Sheet:
    """The rows of the CSV `raw`, which people know as `name`. Its columns may be in any order.

    Raises ScorerError for a file that is empty, lacks a column that is `needed`, has one that is in neither list, is in
    an unknown encoding, or has a quote that is never closed.
    """
    text, encoding = decode(name, raw)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    sheet = Sheet(name, encoding, [])
    columns: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            reason = _reason(name, line, reader.line_num, str(error))
            if not columns:
                raise ScorerError(f"{name}, line {line}: {reason}") from error
            sheet.faults.append(Fault(line, reason))
            continue
        if not any(cell.strip() for cell in cells):  # spreadsheets leave blank rows at the end
            continue
        if not columns:
            columns = _columns(name, line, cells, needed, optional)
        elif len(cells) != len(columns):
            sheet.faults.append(Fault(line, f"this row has {len(cells)} cells, but the first line has {len(columns)}."))
        else:
            sheet.rows.append(Row(line, dict(zip(columns, cells, strict=True))))
    if not columns:
        raise ScorerError(f"{name} is empty. Its first line must be {','.join(needed)}.")
    return sheet


def decode(name: str, raw: bytes) -> tuple[str, str]:
    """The text in `raw` and the name of its encoding: by its first bytes, else UTF-8, else what its bytes look like.

    Raises ScorerError where nothing fits.
    """
    codec, title = next(((codec, title) for mark, codec, title in _MARKS if raw.startswith(mark)), ("utf-8", "UTF-8"))
    if codec == "utf-8" and b"\0" in raw:  # UTF-16 without a mark: nearly every other byte of English is 0
        halves = (("utf-16-le", raw[1::2]), ("utf-16-be", raw[::2]))
        codec, title = next((codec for codec, half in halves if half.count(0) > 0.8 * len(half)), ""), "UTF-16"
        if not codec:
            raise _unknown(name)
    if codec == "utf-8" and not _is_utf8(raw):
        codec, title = _eight_bit(name, raw)
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as error:
        raise _unknown(name) from error
    if "\0" in text:
        raise _unknown(name)
    return text, title


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _eight_bit(name: str, raw: bytes) -> tuple[str, str]:
    from charset_normalizer import from_bytes  # a tenth of a second that a UTF-8 file does not need

    # Only what spreadsheets in the languages of the West write: among all encodings there are, a few curly quotes in an
    # English text fit dozens.
    best = from_bytes(raw, cp_isolation=["cp1252", "mac_roman"]).best()
    if best is None:
        raise _unknown(name)
    return best.encoding, {"cp1252": "Windows-1252", "mac_roman": "Mac Roman"}[best.encoding]


def _unknown(name: str) -> ScorerError:
    return ScorerError(f'{name} is text in no encoding that can be told. Save it as "CSV UTF-8".')


def _columns(name: str, line: int, cells: list[str], needed: Sequence[str], optional: Sequence[str]) -> list[str]:
    found = [cell.strip().lower() for cell in cells]
    if len(found) == 1 and (sign := next((sign for sign in _SEPARATORS if sign in found[0]), "")):
        raise ScorerError(
            f"{name}, line {line}: the cells are parted by {_SEPARATORS[sign]}. Save it as CSV with commas."
        )
    known = [*needed, *optional]
    shown = ", ".join(needed) + (f" (and, if you like, {', '.join(optional)})" if optional else "")
    missing = [column for column in needed if column not in found]
    if missing:
        raise ScorerError(f"{name}, line {line}: no column {', '.join(missing)}. The columns are {shown}.")
    unknown = [column for column in found if column not in known]
    if unknown:
        nearest = difflib.get_close_matches(unknown[0], [column for column in known if column not in found], n=1)
        hint = f"Did you mean {nearest[0]}?" if nearest else f"The columns are {shown}; remove others."
        raise ScorerError(f"{name}, line {line}: unknown column {', '.join(unknown)}. {hint}")
    twice = sorted({column for column in found if found.count(column) > 1})
    if twice:
        raise ScorerError(f"{name}, line {line}: the column {twice[0]} is there twice. Remove one.")
    return found


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
