"""Columns of an export as Arrow arrays: types, times, and texts that a spreadsheet would run as formulas."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heard.chat_app.common.csv_cell import FORMULA_STARTS
from heard.chat_app.export.columns import Column, Kind

Columns = dict[str, pa.Array]

TYPES = {
    Kind.TEXT: pa.string(),
    Kind.JSON: pa.string(),
    Kind.WHOLE: pa.int64(),
    Kind.NUMBER: pa.float64(),
    Kind.YES_NO: pa.bool_(),
    Kind.TIME: pa.timestamp("us", "UTC"),
}

FORMULA_PATTERN = rf"^(?:[\s\v\p{{Z}}\p{{C}}]*[{re.escape(FORMULA_STARTS)}]|['\t\r\n])"
"""RE2: what makes a spreadsheet take a text for a formula, also after white space or what cannot be seen; and "'",
which is doubled so that taking one away always gives the text back."""


CHANGED_PATTERN = (
    r"^(?:[.,]?[0-9][0-9A-Za-z .,:/_%+-]{0,99}|\p{L}{3,10}[ .-]?[0-9]{1,4}"
    r"|(?i:true|false|wahr|falsch|vrai|faux|verdadero|falso|verdadeiro|vero))$"
)
"""RE2: short texts that a spreadsheet may take for a number, a date or a truth value: 007, 5E10, 3-4, MAR1, true."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table. `safe` holds the columns that differ in CSV; all others are the same there."""

    columns: Columns
    safe: Columns

    @property
    def rows(self) -> int:
        """How many rows."""
        return len(next(iter(self.columns.values())))


def schema(columns: Iterable[Column]) -> pa.Schema:
    """Return the Arrow types of a table."""
    return pa.schema([(column.name, TYPES[column.kind]) for column in columns])


def csv_schema(columns: Iterable[Column]) -> pa.Schema:
    """Return the types in CSV: times are texts, because Arrow writes aware times forty times as slowly."""
    kinds = TYPES | {Kind.TIME: pa.string()}
    return pa.schema([(column.name, kinds[column.kind]) for column in columns])


def csv_times(columns: Columns) -> Columns:
    """Return the columns of times as texts like 2026-01-31 12:00:00.000000Z."""
    return {
        name: pc.binary_join_element_wise(column.cast(pa.timestamp("us")).cast(pa.string()), "Z", "")
        for name, column in columns.items()
        if pa.types.is_timestamp(column.type)
    }


def arrow_array(values: Sequence[Any] | pa.Array, kind: Kind) -> pa.Array:
    """Return the values of a column as an array. Times are aware datetimes, or SQLite's texts in UTC; an array is
    returned as it is."""
    arrow_type = TYPES[kind]
    if isinstance(values, pa.Array):
        return values
    if kind is Kind.TIME and any(isinstance(value, str) for value in values):
        return pa.array(values, pa.string()).cast(pa.timestamp("us")).cast(arrow_type)
    return pa.array(values, arrow_type)


def escape_formulas(columns: Columns) -> Columns:
    """Return the text columns with any text that a spreadsheet could run, with "'" before each such text."""
    safe = {}
    for name, column in columns.items():
        if not pa.types.is_string(column.type):
            continue
        dangerous = pc.match_substring_regex(column, FORMULA_PATTERN)
        if pc.any(dangerous).as_py():
            prefixed = pc.binary_join_element_wise(pa.scalar("'"), column, "")
            safe[name] = pc.if_else(dangerous, prefixed, column)
    return safe


def kept_texts(columns: Columns) -> Columns:
    """Return the text columns with any text that a spreadsheet would change, each such text as ="007"."""
    kept = {}
    for name, column in columns.items():
        if pa.types.is_string(column.type):
            changed = pc.match_substring_regex(column, CHANGED_PATTERN)
            if pc.any(changed).as_py():
                kept[name] = pc.if_else(changed, pc.binary_join_element_wise('="', column, '"', ""), column)
    return kept


def make_chunk(columns: Columns, without_formulas: Collection[str] = ()) -> Chunk:
    """Return a chunk with its formulas escaped; the columns `without_formulas` are known to have none."""
    return Chunk(
        columns, escape_formulas({name: column for name, column in columns.items() if name not in without_formulas})
    )


def filter_rows(source: Chunk, rows: pa.Array) -> Chunk:
    """Return the rows for which `rows` is true."""
    columns = {name: column.filter(rows) for name, column in source.columns.items()}
    return Chunk(columns, {name: column.filter(rows) for name, column in source.safe.items()})


def take_rows(source: Chunk, rows: pa.Array, names: Mapping[str, str]) -> Chunk:
    """Return rows of `source` by number, null for none; `names` maps the columns to be taken to their new names."""
    columns = {new: source.columns[old].take(rows) for old, new in names.items()}
    safe = {new: source.safe[old].take(rows) for old, new in names.items() if old in source.safe}
    return Chunk(columns, safe)


def join_columns(*chunks: Chunk) -> Chunk:
    """Return chunks with the same number of rows as one; of columns with the same name the last one counts."""
    columns: Columns = {}
    safe: Columns = {}
    for part in chunks:
        for name in part.columns:
            safe.pop(name, None)
        columns |= part.columns
        safe |= part.safe
    return Chunk(columns, safe)
