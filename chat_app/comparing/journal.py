"""The journal of a run: one JSON line for each answer, written to disk before anything else is done with it.

After kill -9 the next run reads it and generates what is missing. A line that was cut off by the end of the process is
dropped; answers in complete lines are never paid for twice.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from heard.chat_app.comparing.plan import AnswerKey
from heard.chat_app.conversation.drafts import draft_from_json, draft_to_json
from heard.chat_app.models.records import FailureKind
from heard.db.records import DraftRecord
from heard.errors import UserError

NAME = "journal.jsonl"
LOCK = "journal.lock"


class JournalError(UserError):
    """A folder whose journal cannot be used; `str()` names the folder, the fault and the next step."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """The outcome of one answer. Of several entries with one key the last counts."""

    key: AnswerKey
    drafts: tuple[DraftRecord, ...]
    """In order; one of them is kept, if there is any."""
    done: bool
    """False for a complete text without a score yet, and for a failure."""
    failure: FailureKind | None = None
    sentence: str | None = None
    """The sentence of the failure, or of a rewrite that broke."""


class Journal:
    """The journal in a folder, open for one process. A context manager; entering raises JournalError."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        """`identity` is `Plan.identity()`; a journal with another one is refused."""
        self.folder, self._identity = folder, dict(identity)
        self.path = folder / NAME
        self.done: set[AnswerKey] = set()
        """Answers that are complete and scored."""
        self.unscored: dict[AnswerKey, JournalEntry] = {}
        """Complete answers without a score yet."""
        self._lock = FileLock(folder / LOCK)

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            strangers = [path.name for path in self.folder.iterdir() if path.name not in (NAME, LOCK)]
            if strangers and not self.path.exists():
                raise JournalError(
                    f"{self.folder} is not empty and holds no comparison (there is {min(strangers)}). Give another "
                    "folder with --out."
                )
            self._lock.acquire(timeout=0)
        except Timeout:
            raise JournalError(
                f"Another run is writing to {self.folder}. Wait for it, or give another --out."
            ) from None
        except OSError as error:
            raise JournalError(
                f"{self.folder} cannot be written to ({error.strerror}). Give another folder with --out."
            ) from None
        try:
            self._read()
            self._file = self.path.open("ab")
            if self._file.tell() == 0:
                self._append({"heard": self._identity})
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()
        self._lock.release()

    def write(self, entry: JournalEntry) -> None:
        """Append an entry; when this returns, it is on the disk. Raises JournalError."""
        values = {
            "key": entry.key,
            "done": entry.done,
            "failure": entry.failure,
            "sentence": entry.sentence,
            "drafts": [draft_to_json(draft) for draft in entry.drafts],
        }
        try:
            self._append(values)
        except OSError as error:
            raise JournalError(
                f"{self.path} cannot be written to ({error.strerror}). Make room; the same command goes on."
            ) from None
        self._index(entry)

    def entries(self) -> Iterator[JournalEntry]:
        """Yield the last entry of each answer, in the order of their first ones. Reads the file again."""
        last: dict[AnswerKey, JournalEntry] = {}
        for values in self._lines():
            if "key" in values:
                entry = _entry_from_json(values)
                last[entry.key] = entry
        yield from last.values()

    def _index(self, entry: JournalEntry) -> None:
        self.unscored.pop(entry.key, None)
        if entry.done:
            self.done.add(entry.key)
        elif entry.failure is None:
            self.unscored[entry.key] = entry

    def _append(self, values: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> None:
        if not self.path.exists():
            return
        raw = self.path.read_bytes()
        if not raw.endswith(b"\n"):
            os.truncate(self.path, raw.rfind(b"\n") + 1)  # else the next line would be glued to the torn one
        first = True
        for values in self._lines():
            if first:
                self._check(values.get("heard"))
                first = False
            else:
                self._index(_entry_from_json(values))

    def _lines(self) -> Iterator[dict[str, Any]]:
        with self.path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    values = json.loads(line)
                    if not isinstance(values, dict) or not values.keys() & {"heard", "key"}:
                        raise ValueError
                except ValueError:
                    raise JournalError(
                        f"{self.path}, line {number}: no line of a journal. Restore the file, or give another --out."
                    ) from None
                yield values

    def _check(self, identity: Any) -> None:
        if not isinstance(identity, dict) or identity == self._identity:
            if identity is None:
                raise JournalError(f"{self.path} is no journal of heard. Give another folder with --out.")
            return
        for part, wanted in self._identity.items():
            stored = identity.get(part)
            if stored != wanted:
                raise JournalError(
                    f"{self.folder} holds another comparison: {_difference(part, stored, wanted)} Give another folder "
                    "with --out, or ask for the same again to go on."
                )


def _difference(part: str, stored: Any, wanted: Any) -> str:
    if not isinstance(stored, dict) or not isinstance(wanted, dict):
        return f"its {part} is {stored}." if part == "command" else f"its {part} are others."
    if list(stored) != list(wanted):
        return f"its {part} are {', '.join(stored)}."
    changed = next(name for name in wanted if wanted[name] != stored[name])
    return f"{changed} of its {part} has changed since."


def _entry_from_json(values: Mapping[str, Any]) -> JournalEntry:
    failure = values["failure"]
    return JournalEntry(
        key=tuple(values["key"]),
        drafts=tuple(draft_from_json(draft) for draft in values["drafts"]),
        done=values["done"],
        failure=FailureKind(failure) if failure else None,
        sentence=values["sentence"],
    )
