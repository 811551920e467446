"""Short keys of people and ballots in an export.

A person is "p" and the row in the table people, a ballot that and its number for the person: unlike random ids they are
quick to compare, compress well, and can be made anywhere without looking a million of them up.
"""

from bisect import bisect_left
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heard.chat_app.export.folder import ExportError
from heard.db.research_export import Batch

DIGITS = 6
"""Of a person's number, with zeros before it; a longer one is written whole."""


class People:
    """The people of an export. The only thing that grows with it: about 100 bytes for each person."""

    def __init__(self) -> None:
        self._ids: dict[str, list[str]] = {}
        """By study, in the database's order, which is Python's: that of the code points."""
        self._before: dict[str, int] = {}
        """People of the studies before."""
        self._completed = bytearray(b"\0")

    def add(self, batch: Batch) -> None:
        """The next rows of the table people."""
        for study, person, completed_at in zip(
            batch["study_id"], batch["participant_id"], batch["completed_at"], strict=True
        ):
            if study not in self._ids:
                self._ids[study], self._before[study] = [], len(self._completed)
            self._ids[study].append(person)
            self._completed.append(completed_at is not None)

    def _number(self, study: str, person: str | None) -> int | None:
        if person is None:
            return None
        ids = self._ids.get(study, [])
        place = bisect_left(ids, person)
        if place == len(ids) or ids[place] != person:  # better no export than somebody else's pseudonym
            raise ExportError(
                "A ballot belongs to somebody who takes no part in its study, so nothing was written. The database has "
                "been changed by hand or by another program: restore a copy of it."
            )
        return self._before[study] + place

    def named(self, batch: Batch) -> Batch:
        """The batch with `participant`, `completed`, and `ballot` where it has `ballot_number`. All may be null."""
        pairs = list(zip(batch["study_id"], batch["participant_id"], strict=True))
        found = {pair: self._number(*pair) for pair in set(pairs)}
        numbers = [found[pair] for pair in pairs]
        written = pa.array(numbers, pa.int32()).cast(pa.string())
        padded = pc.utf8_lpad(written, width=DIGITS, padding="0")
        made: dict[str, Any] = {"participant": pc.binary_join_element_wise(pa.scalar("p"), padded, "")}
        made["completed"] = [None if number is None else self._completed[number] == 1 for number in numbers]
        if "ballot_number" in batch:
            number = pa.array(batch["ballot_number"], pa.int64()).cast(pa.string())
            made["ballot"] = pc.binary_join_element_wise(made["participant"], number, "-")
        return batch | made
