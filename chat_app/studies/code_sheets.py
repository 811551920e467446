"""Sheets of coded reasons, and the codebook: what people write into the columns of a CSV, read and checked."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heard.chat_app.studies.data_files import read_data
from heard.errors import UserError
from heard.hints import nearest_name
from heard.scorer.csv_rows import Sheet, choose
from heard.scorer.errors import ScorerError

BALLOT, REASON, CODES, SUGGESTION = "ballot_id", "reason", "codes", "machine_suggestion"
SEPARATOR = ";"
NO_CODE = "-"
"""In the column of codes: read, and no code fits. Empty is not read yet."""


class CodingError(UserError):
    """A sheet or a codebook that cannot be used; `str()` names the file, the line and the next step."""


@dataclass(frozen=True, slots=True)
class CodeSheet:
    """One rater's sheet."""

    name: str
    codes: Mapping[str, frozenset[str]]
    """By ballot; a ballot that is not coded yet is absent."""
    strangers: int
    """Rows of ballots that have no reason in the study now: withdrawn, excluded or erased since."""


def _table(path: Path, needed: Sequence[str], optional: Sequence[str], what: str) -> Sheet:
    try:
        sheet = choose(read_data(path), needed, optional, others=True)
    except ScorerError as error:
        raise CodingError(f"{error} {what}") from None
    if sheet.faults:
        raise CodingError(f"{path}, {sheet.faults[0]}. Mend that line.")
    return sheet


def read_codebook(path: Path) -> dict[str, str]:
    """Return the definition of each code, in the order of the file. Raises CodingError."""
    sheet = _table(path, ["code", "definition"], [], "A codebook has the columns code and definition.")
    found: dict[str, str] = {}
    for row in sheet.rows:
        code = " ".join(row.cells["code"].split())
        if not code or SEPARATOR in code or code == NO_CODE:
            raise CodingError(f"{path}, line {row.line}: write the name of a code, without {SEPARATOR}.")
        if code.casefold() in {one.casefold() for one in found}:
            raise CodingError(f'{path}, line {row.line}: "{code}" stands there twice. Keep one.')
        found[code] = row.cells["definition"].strip()
    if not found:
        raise CodingError(f"{path} has no code. Write one a line, with its definition.")
    return found


def read_code_sheet(path: Path, ballots: Collection[str], codebook: Sequence[str] | None) -> CodeSheet:
    """Return one rater's codes of the reasons of `ballots`. With a codebook only its codes are taken. Raises
    CodingError."""
    hint = "Give a sheet that `heard study reasons` has written."
    sheet = _table(path, [BALLOT, CODES], [REASON, SUGGESTION], hint)
    known = {code.casefold(): code for code in codebook or ()}
    found: dict[str, frozenset[str]] = {}
    seen: set[str] = set()
    strangers = 0
    for row in sheet.rows:
        ballot, cell = row.cells[BALLOT].strip(), row.cells[CODES].strip().removeprefix("'")
        if ballot in seen:
            raise CodingError(f"{path}, line {row.line}: the ballot {ballot} stands there twice. Keep one row of it.")
        seen.add(ballot)
        if ballot not in ballots:
            strangers += 1
            continue
        if not cell:
            continue
        codes = [" ".join(one.split()) for one in cell.split(SEPARATOR) if one.strip() not in ("", NO_CODE)]
        for code in codes:
            if codebook is not None and code.casefold() not in known:
                near = nearest_name(code, list(codebook))
                raise CodingError(f'{path}, line {row.line}: the codebook has no code "{code}". {near}')
            known.setdefault(code.casefold(), code)
        found[ballot] = frozenset(known[code.casefold()] for code in codes)
    if not found:
        raise CodingError(
            f"{path} has no coded reason of this study. Write codes into the column {CODES}, parted by {SEPARATOR}, "
            f"or {NO_CODE} where none fits."
        )
    return CodeSheet(path.name, found, strangers)
