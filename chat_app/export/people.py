"""Pseudonymous keys of people and ballots in an export.

A person's key is "p" and the row in the table people, a ballot's is that and its number for the person. Unlike random
ids they are quick to compare, compress well, and can be made without looking up a million of them.
"""

from bisect import bisect_left
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heard.chat_app.export.folder import ExportError
from heard.db.research_export import Batch

DIGITS = 6
"""Digits of a person's number, padded with zeros; a longer number is not cut."""


class ParticipantKeys:
    """The keys of the people of an export. The only part of memory that grows: about 100 bytes for each person."""

    def __init__(self) -> None:
        self._ids: dict[str, list[str]] = {}
        """By study, in the order of the database, which is that of code points as in Python."""
        self._first_numbers: dict[str, int] = {}
        """By study, the number of people in the studies before it."""
        self._completed = bytearray(b"\0")
        self._excluded = bytearray(b"\0")

    def add(self, batch: Batch) -> None:
        """Add the next rows of the table people."""
        for study, person, completed_at, excluded_by in zip(
            batch["study_id"], batch["participant_id"], batch["completed_at"], batch["excluded_by"], strict=True
        ):
            if study not in self._ids:
                self._ids[study], self._first_numbers[study] = [], len(self._completed)
            self._ids[study].append(person)
            self._completed.append(completed_at is not None)
            self._excluded.append(excluded_by is not None)

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
        return self._first_numbers[study] + place

    def with_keys(self, batch: Batch) -> Batch:
        """Return the batch with `participant`, `completed`, `excluded` and, beside a `ballot_number`, `ballot`; all may
        be null."""
        pairs = list(zip(batch["study_id"], batch["participant_id"], strict=True))
        found = {pair: self._number(*pair) for pair in set(pairs)}
        numbers = [found[pair] for pair in pairs]
        written = pa.array(numbers, pa.int32()).cast(pa.string())
        padded = pc.utf8_lpad(written, width=DIGITS, padding="0")
        columns: dict[str, Any] = {"participant": pc.binary_join_element_wise(pa.scalar("p"), padded, "")}
        for name, marks in (("completed", self._completed), ("excluded", self._excluded)):
            columns[name] = [None if number is None else marks[number] == 1 for number in numbers]
        if "ballot_number" in batch:
            number = pa.array(batch["ballot_number"], pa.int64()).cast(pa.string())
            columns["ballot"] = pc.binary_join_element_wise(columns["participant"], number, "-")
        return batch | columns
