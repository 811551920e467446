"""Convert rows of the database to rows of the export: answers with scores and earlier drafts; votes, long and wide.

A survey's few answers are on a million ballots. Each is read once and cached.
"""

import functools
import json
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from heard.chat_app.common.return_links import without_code
from heard.chat_app.export.cells import Chunk, arrow_array, join_columns, make_chunk, take_rows
from heard.chat_app.export.columns import ANSWERS, FORMATTING, SCALES, Column, ExportTable, Kind
from heard.db.research_export import Batch, ExportReader
from heard.db.study_records import LETTERS

NAMES = {
    "study_id": "study",
    "item_id": "item",
    "conversation_id": "conversation",
}
"""Columns of the database with another name in the export; "id" gets the table's own."""
CACHED_ANSWERS = 50_000
"""Most cached answers; then the cache is cleared."""
CODES = {f"{name}_code": f"{name}_url" for name in ("completion", "screen_out", "decline")}
"""Keys of codes that a panel pays for, and of the links that may hold them."""
WITHHELD_KEYS = ("allow", "seed", *CODES)
"""Keys of a study's definition that are not exported: people's ids, and what lets others predict an order or pay."""
SLOT_COLUMNS = {"votable": Kind.YES_NO, "not_votable_because": Kind.TEXT}
"""The slot's own columns."""
SAFE_COLUMNS = ("ballot", "participant", "letter", "choice", "width_class", "most", "least")
"""Text columns that heard makes itself, so that they hold no formulas."""
_LETTERS = pa.array(list(LETTERS))


def plain_chunk(table: ExportTable, batch: Batch, own_id: str = "id") -> Chunk:
    """Return rows of a table whose columns are those of the database, under their export names."""
    named = {own_id if name == "id" else NAMES.get(name, name): values for name, values in batch.items()}
    if "completed_at" in named:
        named["completed"] = [value is not None for value in named["completed_at"]]
    for name in ("most", "least"):
        if name in named:
            named[name] = [None if place is None else LETTERS[place - 1] for place in named[name]]
    return make_chunk({column.name: arrow_array(named[column.name], column.kind) for column in table.columns})


def study_chunk(table: ExportTable, batch: Batch, *, external_ids: bool) -> Chunk:
    """Return rows of studies, with WITHHELD_KEYS removed from their definitions, and codes from their links."""
    hidden = [key for key in WITHHELD_KEYS if not (external_ids and key == "allow")]
    definitions = [json.dumps(_shown(json.loads(text), hidden), ensure_ascii=False) for text in batch["definition"]]
    return plain_chunk(table, batch | {"definition": definitions}, "study")


def _shown(definition: dict[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    for code, url in CODES.items():
        if definition.get(url):
            definition[url] = without_code(definition[url], definition.get(code, ""))
    return {key: value for key, value in definition.items() if key not in hidden}


def answer_chunk(columns: Sequence[Column], batch: Batch) -> Chunk:
    """Return rows of answers; formatting, leaks and the earlier draft are extracted from their JSON."""
    values: dict[str, Sequence[Any]] = {NAMES.get(name, name): column for name, column in batch.items()}
    values |= {"answer": batch["id"]}
    for scale in SCALES:
        values[scale] = batch[f"score_{scale}"]
    counts = [json.loads(text) for text in batch["formatting"]]
    for name in FORMATTING:
        values[name] = [count.get(name) for count in counts]
    values["leak"] = [";".join(map(str, json.loads(text))) or None for text in batch["leak"]]
    if any(column.name == "earlier_text" for column in columns):
        drafts = [_earlier_draft(*both) for both in zip(batch["improved"], batch["drafts"], strict=True)]
        values["earlier_text"] = [draft.get("text") for draft in drafts]
        for scale in SCALES:
            values[f"earlier_{scale}"] = [(draft.get("score") or {}).get(scale) for draft in drafts]
    return make_chunk({column.name: arrow_array(values[column.name], column.kind) for column in columns})


def _earlier_draft(improved: bool, drafts: str) -> dict[str, Any]:
    found = json.loads(drafts) if improved else []
    # A draft that the guard caught was never shown, so that it is none that was improved.
    shown = (draft for draft in found if isinstance(draft, dict) and not draft.get("caught"))
    return next(shown, {})


class AnswerCache:
    """A cache of answers by id, read when they are first needed."""

    def __init__(self, reader: ExportReader, names: Collection[str], most: int = CACHED_ANSWERS) -> None:
        self._reader = reader
        self._most = most
        self._columns = [column for column in ANSWERS if column.name in names]
        self._rows: dict[str, int] = {}
        self._read = _database_columns(self._columns)
        self._found: dict[str, list[pa.Array]] = {}
        self.chunk: Chunk

    async def rows(self, ids: Sequence[Sequence[str | None]]) -> list[pa.Array]:
        """Return for each list of ids the rows of those answers in `self.chunk`; null for None."""
        flat = set(chain.from_iterable(ids))
        flat.discard(None)
        missing = sorted(answer for answer in flat if answer is not None and answer not in self._rows)
        if missing and self._rows and len(self._rows) + len(missing) > self._most:
            self._rows, self._found = {}, {}
            missing = sorted(answer for answer in flat if answer is not None)
        for batch in await self._reader.answers_by_id(missing, self._read):
            for answer in batch["id"]:
                self._rows[answer] = len(self._rows)
            for name, column in answer_chunk(self._columns, batch).columns.items():
                self._found.setdefault(name, []).append(column)
        if missing:
            self.chunk = make_chunk({name: pa.concat_arrays(parts) for name, parts in self._found.items()})
            self._found = {name: [column] for name, column in self.chunk.columns.items()}
        find = self._rows.get
        return [
            pa.array([None if answer is None else find(answer) for answer in answers], pa.int32()) for answers in ids
        ]


def _database_columns(columns: Sequence[Column]) -> list[str]:
    """Return the columns of the database from which these are made."""
    return ["id", "formatting", "leak", *(f"score_{scale}" for scale in SCALES), *(column.name for column in columns)]


class LongOrder(NamedTuple):
    """The order of rows in the long format: by ballot, then by position."""

    order: pa.Array
    """Indexes into the columns of A, then B, and so on, concatenated."""
    ballot: pa.Array
    position: pa.Array


@functools.lru_cache(maxsize=4)
def long_order(ballots: int) -> LongOrder:
    """Return the order of rows in the long format for this number of ballots, with five slots each."""
    places = range(len(LETTERS))
    order = [place * ballots + ballot for ballot in range(ballots) for place in places]
    ballot = [ballot for ballot in range(ballots) for _ in places]
    position = [place + 1 for _ in range(ballots) for place in places]
    return LongOrder(pa.array(order, pa.int32()), pa.array(ballot, pa.int32()), pa.array(position, pa.int64()))


def ballot_columns(batch: Batch, columns: Sequence[Column]) -> Chunk:
    """Return the columns of ballots and their votes, without the slots. `most` and `least` are positions."""
    named = {NAMES.get(name, name): values for name, values in batch.items()}
    kinds = {column.name: column.kind for column in columns} | {"most": Kind.WHOLE, "least": Kind.WHOLE}
    return make_chunk(
        {name: arrow_array(values, kinds[name]) for name, values in named.items() if name in kinds}, SAFE_COLUMNS
    )


def slots_long(columns: Sequence[Column], slots: Batch, answers: Chunk, rows: Sequence[pa.Array]) -> Chunk:
    """Return five rows for each arrangement, A to E. `rows` has the rows of `answers` for A, for B, and so on."""
    names = {column.name for column in columns}
    long = long_order(len(rows[0]))
    of_answers = take_rows(
        answers, pc.take(pa.concat_arrays(rows), long.order), {name: name for name in answers.columns if name in names}
    )
    places = {"position": long.position, "letter": _LETTERS.take(pc.subtract(long.position, 1))}
    own = {
        name: pa.concat_arrays([arrow_array(slots[f"{name}_{letter}"], kind) for letter in LETTERS]).take(long.order)
        for name, kind in SLOT_COLUMNS.items()
    }
    return join_columns(of_answers, make_chunk(own), Chunk(places, {}))


def slots_wide(columns: Sequence[Column], slots: Batch, answers: Chunk, rows: Sequence[pa.Array]) -> Chunk:
    """Return one row for each arrangement, with columns for A to E."""
    names = {column.name for column in columns}
    sides = []
    for letter, where in zip(LETTERS, rows, strict=True):
        sides.append(
            take_rows(
                answers, where, {name: f"{name}_{letter}" for name in answers.columns if f"{name}_{letter}" in names}
            )
        )
        own = {f"{name}_{letter}": arrow_array(slots[f"{name}_{letter}"], kind) for name, kind in SLOT_COLUMNS.items()}
        sides.append(make_chunk(own))
    return join_columns(*sides)


def long_chunk(table: ExportTable, ballots: Chunk, arrangements: pa.Array, slots: Chunk) -> Chunk:
    """Return one row for each slot of each ballot. `arrangements` are rows in the result of `slots_long`, in fives."""
    long = long_order(ballots.rows)
    where = pc.add(pc.multiply(arrangements.take(long.ballot), len(LETTERS)), pc.subtract(long.position, 1))
    is_answered = slots.columns["answer"].is_valid()
    if not pc.all(is_answered).as_py():
        mask = is_answered.take(where)
        long, where = LongOrder(*(part.filter(mask) for part in long)), where.filter(mask)
    names = [column.name for column in table.columns]
    repeated = {name: name for name in names if name in ballots.columns and name not in ("most", "least")}
    marks = {}
    for name in ("most", "least"):
        chosen = ballots.columns[name].take(long.ballot)
        marks[name] = pc.fill_null(pc.equal(chosen, long.position), False)
    of_slots = take_rows(slots, where, {name: name for name in names if name in slots.columns})
    return _select_columns(join_columns(of_slots, take_rows(ballots, long.ballot, repeated), Chunk(marks, {})), names)


def wide_chunk(table: ExportTable, ballots: Chunk, arrangements: pa.Array, slots: Chunk) -> Chunk:
    """Return one row for each ballot. `arrangements` are rows in the result of `slots_wide`."""
    names = [column.name for column in table.columns]
    whole = join_columns(
        ballots, take_rows(slots, arrangements, {name: name for name in names if name in slots.columns})
    )
    if "most" in names:
        whole = join_columns(whole, make_chunk(_marked_columns(whole)))
    return _select_columns(whole, names)


def _marked_columns(whole: Chunk) -> dict[str, pa.Array]:
    """Return letters and sources of the marked answers, and whether the right source of an attention item was."""
    sources = [whole.columns[f"source_{letter}"] for letter in LETTERS]
    mark_columns = {}
    for name in ("most", "least"):
        place = pc.subtract(whole.columns[name], 1)
        mark_columns[name] = _LETTERS.take(place)
        mark_columns[f"{name}_source"] = pc.choose(place, *sources)
    has_passed = pc.fill_null(pc.equal(mark_columns["most_source"], whole.columns["attention"]), False)
    has_attention = whole.columns["attention"].is_valid()
    return mark_columns | {"attention_passed": pc.if_else(has_attention, has_passed, pa.scalar(None, pa.bool_()))}


def _select_columns(whole: Chunk, names: Sequence[str]) -> Chunk:
    return Chunk({name: whole.columns[name] for name in names}, {n: c for n, c in whole.safe.items() if n in names})
