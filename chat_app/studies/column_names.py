"""Names of columns as a person says them: `--columns message=questionText,reply=answerText`."""

import csv
from collections.abc import Mapping
from dataclasses import replace

from heard.errors import UserError
from heard.hints import nearest_name
from heard.scorer.csv_rows import Row, Sheet, printable

REPLY = "reply"
"""Our name for answers of the source "human" in a file with one answer a line."""


class ColumnsError(UserError):
    """Names of columns that cannot be used; `str()` names the fault and the next step."""


def parse_columns(text: str) -> dict[str, str]:
    """Return our names of columns with those in the file, both in lower case, from "ours=theirs,ours=theirs".

    A pair with a comma in it is put in quotes: '"message=What, then",reply=b'. Raises ColumnsError.
    """
    found: dict[str, str] = {}
    try:
        pieces = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        pieces = [text]
    for piece in pieces:
        ours, sign, theirs = (part.strip().lower() for part in piece.partition("="))
        if not (ours and sign and theirs):
            raise ColumnsError(
                f'--columns: "{printable(piece)}" is no pair of names. Write --columns message=NAME,reply=NAME.'
            )
        if ours in found or theirs in found.values():
            raise ColumnsError(
                f'--columns: "{printable(ours if ours in found else theirs)}" is there twice. Name it once.'
            )
        found[ours] = theirs
    return found


def renamed(sheet: Sheet, names: Mapping[str, str]) -> Sheet:
    """Return the sheet with columns by our names. A column that had such a name before is not read.

    With `reply` it is a table of messages and replies (Context and Response), and nothing else of it is read. Raises
    ColumnsError for a column that is not there, or is there twice.
    """
    if not names:
        return sheet
    for theirs in names.values():
        if theirs not in sheet.columns:
            raise ColumnsError(
                f'{sheet.name}: no column "{printable(theirs)}". {nearest_name(theirs, map(printable, sheet.columns))}'
            )
        if sheet.columns.count(theirs) > 1:
            raise ColumnsError(f"{sheet.name}: the column {printable(theirs)} is there twice. Remove one.")
    if REPLY in names:
        if "message" not in names and "message" not in sheet.columns:
            raise ColumnsError(
                f"{sheet.name}: no column message. Name that of the messages too: --columns message=NAME."
            )
        known = {"context": names.get("message", "message"), "response": names[REPLY]}
        known |= {ours: theirs for ours, theirs in names.items() if ours not in ("message", REPLY)}
    else:
        kept = {column: column for column in sheet.columns if column not in names and column not in names.values()}
        known = {**names, **kept}
    rows = [Row(row.line, {ours: row.cells[theirs] for ours, theirs in known.items()}) for row in sheet.rows]
    left = [column for column in dict.fromkeys(sheet.columns) if column not in known.values()]
    note = f"Not read: the column{'s' * (len(left) != 1)} {', '.join(map(printable, left))}."
    return replace(sheet, rows=rows, columns=tuple(known), notes=(*sheet.notes, *([note] if left else [])))
