"""A table in JSON: a list of objects, an object that holds such a list, or an object a line."""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from heard.chat_app.common.text import clean_unicode
from heard.scorer.csv_rows import Fault, Row, Sheet
from heard.scorer.errors import ScorerError
from heard.scorer.text_encoding import decode

_BLANK = " \t\r\n"


class _NoRow(Exception):
    """Why a value is no row; `str()` is the end of a sentence."""


def read_json(name: str, raw: bytes) -> Sheet:
    """The rows of a JSON file, with the line where each begins; its columns are the keys of any of the objects.

    Raises ScorerError for a file that is no JSON, or has no objects in it.
    """
    decoded = decode(name, raw)
    text = decoded.text
    start = _after_blank(text, 0)
    rows, faults = list[Row](), list[Fault]()
    unit, listed = _objects(name, text, start)
    for line, value in listed:
        try:
            rows.append(Row(line, row_of(value)))
        except _NoRow as error:
            faults.append(Fault(line, str(error)))
    if faults and not rows:
        first = f"{name}, {unit} {faults[0].line}: {faults[0].reason}"
        raise ScorerError(f"{first} Give a list of objects, or an object a line.")
    columns = tuple(dict.fromkeys(column for row in rows for column in row.cells))
    for row in rows:
        row.cells.update({column: "" for column in columns if column not in row.cells})
    notes = (decoded.note,) if decoded.note else ()
    return Sheet(
        name, decoded.encoding, [row for row in rows if any(row.cells.values())], faults, columns, 1, notes, unit
    )


def cell_of(value: Any) -> str:
    """The text of a value: a text as it is, nothing as "", a list or an object as its JSON."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return clean_unicode(value)
    try:
        return clean_unicode(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, TypeError, RecursionError):  # a number too long to write, keys of other kinds, too deep a list
        return ""


def row_of(value: Any) -> dict[str, str]:
    """The cells of an object, by its keys in lower case. Raises _NoRow for anything else."""
    if isinstance(value, _NoRow):
        raise value
    if not isinstance(value, dict):
        raise _NoRow("this is no object with names and values.")
    cells: dict[str, str] = {}
    for key, inner in value.items():
        column = clean_unicode(str(key)).strip().lower()
        if column in cells:
            raise _NoRow("two of its keys differ in capitals only.")
        if column:
            cells[column] = cell_of(inner)
    return cells


def _objects_in_list(name: str, text: str, start: int) -> Iterator[tuple[int, Any]]:
    """Each value of the list that begins at `start`, with its line."""
    place, line, counted = _after_blank(text, start + 1), 1, 0
    more = text[place : place + 1] != "]"
    while more:
        line, counted = line + text.count("\n", counted, place), place
        value, end = _value(name, text, place)
        yield line, value
        place = _after_blank(text, end)
        sign = text[place : place + 1]
        if sign not in (",", "]") or not sign:
            line += text.count("\n", counted, place)
            raise ScorerError(f"{name}, line {line}: the list has no comma and no end here. Is the file whole?")
        more = sign == ","
        if more:
            place = _after_blank(text, place + 1)
    if text[place + 1 :].strip():
        raise ScorerError(f"{name}: something stands behind the end of the list. Remove it.")


def _objects(name: str, text: str, start: int) -> tuple[str, Iterable[tuple[int, Any]]]:
    """The objects of a list, of a list within an object, or one a line, each with its number; before them its unit."""
    if text[start : start + 1] == "[":
        return "line", _objects_in_list(name, text, start)
    try:
        value, end = _decoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return "line", _object_a_line(text)
    if text[end:].strip():
        return "line", _object_a_line(text)
    inner = list(value.values()) if isinstance(value, dict) else []
    lists = [one for one in inner if isinstance(one, list) and one and all(isinstance(row, dict) for row in one)]
    if len(lists) == 1 and not any(isinstance(one, str) for one in inner):
        return "record", enumerate(lists[0], 1)
    return "line", [(text.count("\n", 0, start) + 1, value)]


def _object_a_line(text: str) -> Iterator[tuple[int, Any]]:
    for line, piece in enumerate(text.split("\n"), 1):
        if piece.strip():
            try:
                yield line, _decoder().decode(piece.strip().lstrip("\ufeff"))
            except (ValueError, RecursionError) as error:
                yield line, _NoRow(_why(error))


def _value(name: str, text: str, place: int) -> tuple[Any, int]:
    try:
        return _decoder().raw_decode(text, place)
    except (ValueError, RecursionError) as error:
        at = error.pos if isinstance(error, json.JSONDecodeError) else place
        raise ScorerError(f"{name}, line {text.count(chr(10), 0, at) + 1}: {_why(error)} Mend it there.") from error


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_without_doubles)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice in one object")
    return found


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "this is nested too deeply to be a row."
    what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return f"this is no JSON ({what})."


def _after_blank(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANK:
        place += 1
    return place
