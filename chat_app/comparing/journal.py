"""The journal of a run: one JSON line for each answer, written to disk before anything else is done with it.

After kill -9 the next run reads it and generates what is missing. A line that was cut off by the end of the process is
dropped; answers in complete lines are never paid for twice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from heard.chat_app.comparing.journal_file import JournalError, JournalFile
from heard.chat_app.comparing.plan import AnswerKey
from heard.chat_app.conversation.drafts import draft_from_json, draft_to_json
from heard.chat_app.models.records import FailureKind
from heard.db.records import DraftRecord

__all__ = ["Journal", "JournalEntry", "JournalError"]

NAME = "journal.jsonl"
LOCK = "journal.lock"


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
        self.folder = folder
        self.path = folder / NAME
        self.done: set[AnswerKey] = set()
        """Answers that are complete and scored."""
        self.unscored: dict[AnswerKey, JournalEntry] = {}
        """Complete answers without a score yet."""
        self._file = JournalFile(
            self.path,
            identity,
            line_key="key",
            lock=folder / LOCK,
            place=folder,
            holds="comparison",
            other="another folder",
        )

    def __enter__(self) -> Self:
        try:
            names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        except OSError as error:
            raise JournalError(
                f"{self.folder} cannot be written to ({error.strerror}). Give another folder with --out."
            ) from None
        strangers = [name for name in names if name not in (NAME, LOCK)]
        if strangers and NAME not in names:
            raise JournalError(
                f"{self.folder} is not empty and holds no comparison (there is {min(strangers)}). Give another folder "
                "with --out."
            )
        self._file.__enter__()
        try:
            for values in self._file.lines():
                self._index(_entry_from_json(values))
        except BaseException:
            self._file.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, traceback)

    def write(self, entry: JournalEntry) -> None:
        """Append an entry; when this returns, it is on the disk. Raises JournalError."""
        self._file.append(
            {
                "key": entry.key,
                "done": entry.done,
                "failure": entry.failure,
                "sentence": entry.sentence,
                "drafts": [draft_to_json(draft) for draft in entry.drafts],
            }
        )
        self._index(entry)

    def entries(self) -> Iterator[JournalEntry]:
        """Yield the last entry of each answer, in the order of their first ones. Reads the file again."""
        last: dict[AnswerKey, JournalEntry] = {}
        for values in self._file.lines():
            entry = _entry_from_json(values)
            last[entry.key] = entry
        yield from last.values()

    def _index(self, entry: JournalEntry) -> None:
        self.unscored.pop(entry.key, None)
        if entry.done:
            self.done.add(entry.key)
        elif entry.failure is None:
            self.unscored[entry.key] = entry


def _entry_from_json(values: Mapping[str, Any]) -> JournalEntry:
    failure = values["failure"]
    return JournalEntry(
        key=tuple(values["key"]),
        drafts=tuple(draft_from_json(draft) for draft in values["drafts"]),
        done=values["done"],
        failure=FailureKind(failure) if failure else None,
        sentence=values["sentence"],
    )
