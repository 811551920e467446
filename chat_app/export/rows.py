"""From the database's rows to the export's: answers with their scores and earlier drafts; votes, long and wide.

A survey's few answers stand on a million ballots. Each is read once, and its columns are taken from there.
"""

import functools
import json
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from heard.chat_app.export.cells import Chunk, beside, cells, chunk, taken
from heard.chat_app.export.columns import ANSWERS, FORMATTING, SCALES, Column, Kind, TableOfExport
from heard.db.research_export import Batch, ExportReader
from heard.db.study_records import LETTERS

NAMES = {
    "study_id": "study",
    "item_id": "item",
    "conversation_id": "conversation",
}
"""Columns of the database that have another name here; "id" is the table's own."""
MOST_ANSWERS = 50_000
"""Answers kept for the next batch, before they are forgotten and read again."""
NOT_TOLD = ("allow", "completion_code", "seed")
"""Keys of a study's definition that stay here: people's ids, and what would let somebody foresee an order or pay."""
OF_SLOT = {"votable": Kind.YES_NO, "not_votable_because": Kind.TEXT}
"""What a slot says of its own."""
OURS = ("ballot", "participant", "letter", "choice", "width_class", "most", "least")
"""Texts of which heard has made every character: nothing to defuse in them."""
_LETTERS = pa.array(list(LETTERS))


def plain_chunk(table: TableOfExport, batch: Batch, own_id: str = "id") -> Chunk:
    """A table whose columns are the database's, under their names here."""
    named = {own_id if name == "id" else NAMES.get(name, name): values for name, values in batch.items()}
    if "completed_at" in named:
        named["completed"] = [value is not None for value in named["completed_at"]]
    for name in ("most", "least"):
        if name in named:
            named[name] = [None if place is None else LETTERS[place - 1] for place in named[name]]
    return chunk({column.name: cells(named[column.name], column.kind) for column in table.columns})


def study_chunk(table: TableOfExport, batch: Batch, *, external_ids: bool) -> Chunk:
    """Studies; what NOT_TOLD names is cut from their definitions."""
    hidden = [key for key in NOT_TOLD if not (external_ids and key == "allow")]
    definitions = [
        json.dumps({key: value for key, value in json.loads(text).items() if key not in hidden}, ensure_ascii=False)
        for text in batch["definition"]
    ]
    return plain_chunk(table, batch | {"definition": definitions}, "study")


def answer_chunk(columns: Sequence[Column], batch: Batch) -> Chunk:
    """Answers: formatting, hints at the maker and the earlier draft are taken out of their JSON."""
    values: dict[str, Sequence[Any]] = {NAMES.get(name, name): column for name, column in batch.items()}
    values |= {"answer": batch["id"]}
    for scale in SCALES:
        values[scale] = batch[f"score_{scale}"]
    counts = [json.loads(text) for text in batch["formatting"]]
    for name in FORMATTING:
        values[name] = [count.get(name) for count in counts]
    values["leak"] = [";".join(map(str, json.loads(text))) or None for text in batch["leak"]]
    if any(column.name == "earlier_text" for column in columns):
        drafts = [_earlier(*both) for both in zip(batch["improved"], batch["drafts"], strict=True)]
        values["earlier_text"] = [draft.get("text") for draft in drafts]
        for scale in SCALES:
            values[f"earlier_{scale}"] = [(draft.get("score") or {}).get(scale) for draft in drafts]
    return chunk({column.name: cells(values[column.name], column.kind) for column in columns})


def _earlier(improved: bool, drafts: str) -> dict[str, Any]:
    found = json.loads(drafts) if improved else []
    return found[0] if found and isinstance(found[0], dict) else {}


class Answers:
    """Answers by id, read when they are first needed."""

    def __init__(self, reader: ExportReader, names: Collection[str], most: int = MOST_ANSWERS) -> None:
        self._reader = reader
        self._most = most
        self._columns = [column for column in ANSWERS if column.name in names]
        self._rows: dict[str, int] = {}
        self._read = _read_by(self._columns)
        self._found: dict[str, list[pa.Array]] = {}
        self.chunk: Chunk

    async def rows(self, wanted: Sequence[Sequence[str | None]]) -> list[pa.Array]:
        """For each list of ids the rows of `self.chunk` where those answers are; null for None."""
        flat = set(chain.from_iterable(wanted))
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
            self.chunk = chunk({name: pa.concat_arrays(parts) for name, parts in self._found.items()})
            self._found = {name: [column] for name, column in self.chunk.columns.items()}
        find = self._rows.get
        return [
            pa.array([None if answer is None else find(answer) for answer in answers], pa.int32()) for answers in wanted
        ]


def _read_by(columns: Sequence[Column]) -> list[str]:
    """Columns of the database that these are made of."""
    return ["id", "formatting", "leak", *(f"score_{scale}" for scale in SCALES), *(column.name for column in columns)]


class Spread(NamedTuple):
    """How the slots of `ballots` ballots become rows: by ballot, then by place."""

    order: pa.Array
    """Numbers in the columns of A, then B, .. put one after the other."""
    ballot: pa.Array
    position: pa.Array


@functools.lru_cache(maxsize=4)
def spread(ballots: int) -> Spread:
    """The order of rows in the long form, with five slots for each ballot."""
    places = range(len(LETTERS))
    order = [place * ballots + ballot for ballot in range(ballots) for place in places]
    ballot = [ballot for ballot in range(ballots) for _ in places]
    position = [place + 1 for _ in range(ballots) for place in places]
    return Spread(pa.array(order, pa.int32()), pa.array(ballot, pa.int32()), pa.array(position, pa.int64()))


def ballot_columns(batch: Batch, columns: Sequence[Column]) -> Chunk:
    """What a ballot and its vote say, without its slots. `most` and `least` are positions."""
    named = {NAMES.get(name, name): values for name, values in batch.items()}
    kinds = {column.name: column.kind for column in columns} | {"most": Kind.WHOLE, "least": Kind.WHOLE}
    return chunk({name: cells(values, kinds[name]) for name, values in named.items() if name in kinds}, OURS)


def slots_long(columns: Sequence[Column], slots: Batch, answers: Chunk, rows: Sequence[pa.Array]) -> Chunk:
    """Five rows for each arrangement, those of A to E. `rows` says where in `answers` those of A, of B, .. are."""
    names = {column.name for column in columns}
    kept = spread(len(rows[0]))
    of_answers = taken(
        answers, pc.take(pa.concat_arrays(rows), kept.order), {name: name for name in answers.columns if name in names}
    )
    places = {"position": kept.position, "letter": _LETTERS.take(pc.subtract(kept.position, 1))}
    own = {
        name: pa.concat_arrays([cells(slots[f"{name}_{letter}"], kind) for letter in LETTERS]).take(kept.order)
        for name, kind in OF_SLOT.items()
    }
    return beside(of_answers, chunk(own), Chunk(places, {}))


def slots_wide(columns: Sequence[Column], slots: Batch, answers: Chunk, rows: Sequence[pa.Array]) -> Chunk:
    """One row for each arrangement, with columns for A to E."""
    names = {column.name for column in columns}
    sides = []
    for letter, where in zip(LETTERS, rows, strict=True):
        sides.append(
            taken(answers, where, {name: f"{name}_{letter}" for name in answers.columns if f"{name}_{letter}" in names})
        )
        own = {f"{name}_{letter}": cells(slots[f"{name}_{letter}"], kind) for name, kind in OF_SLOT.items()}
        sides.append(chunk(own))
    return beside(*sides)


def long_chunk(table: TableOfExport, ballots: Chunk, arrangements: pa.Array, slots: Chunk) -> Chunk:
    """One row for each slot of each ballot. `arrangements` are rows of what slots_long gave, in fives."""
    kept = spread(ballots.rows)
    where = pc.add(pc.multiply(arrangements.take(kept.ballot), len(LETTERS)), pc.subtract(kept.position, 1))
    there = slots.columns["answer"].is_valid()
    if not pc.all(there).as_py():
        mask = there.take(where)
        kept, where = Spread(*(part.filter(mask) for part in kept)), where.filter(mask)
    names = [column.name for column in table.columns]
    repeated = {name: name for name in names if name in ballots.columns and name not in ("most", "least")}
    marks = {}
    for name in ("most", "least"):
        chosen = ballots.columns[name].take(kept.ballot)
        marks[name] = pc.fill_null(pc.equal(chosen, kept.position), False)
    of_slots = taken(slots, where, {name: name for name in names if name in slots.columns})
    return _ordered(beside(of_slots, taken(ballots, kept.ballot, repeated), Chunk(marks, {})), names)


def wide_chunk(table: TableOfExport, ballots: Chunk, arrangements: pa.Array, slots: Chunk) -> Chunk:
    """One row for each ballot. `arrangements` are rows of what slots_wide gave."""
    names = [column.name for column in table.columns]
    whole = beside(ballots, taken(slots, arrangements, {name: name for name in names if name in slots.columns}))
    if "most" in names:
        whole = beside(whole, chunk(_chosen(whole)))
    return _ordered(whole, names)


def _chosen(whole: Chunk) -> dict[str, pa.Array]:
    """Letters and sources of what was marked, and whether the attention item's right source was."""
    sources = [whole.columns[f"source_{letter}"] for letter in LETTERS]
    made = {}
    for name in ("most", "least"):
        place = pc.subtract(whole.columns[name], 1)
        made[name] = _LETTERS.take(place)
        made[f"{name}_source"] = pc.choose(place, *sources)
    passed = pc.fill_null(pc.equal(made["most_source"], whole.columns["attention"]), False)
    asked = whole.columns["attention"].is_valid()
    return made | {"attention_passed": pc.if_else(asked, passed, pa.scalar(None, pa.bool_()))}


def _ordered(whole: Chunk, names: Sequence[str]) -> Chunk:
    return Chunk({name: whole.columns[name] for name in names}, {n: c for n, c in whole.safe.items() if n in names})
