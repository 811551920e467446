"""A file of JSON lines that survives kill -9: each line is on the disk before anything else is done.

The first line says what the file is of. A last line that the end of a process has torn is dropped when the file is
opened again; a complete line is never lost.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from heard.errors import UserError

HEAD = "heard"
"""The first line's only key."""


class JournalError(UserError):
    """A journal that cannot be used; `str()` names it, the fault and the next step."""


class JournalFile:
    """One journal, open for one process. A context manager; entering raises JournalError."""

    def __init__(
        self, path: Path, identity: Mapping[str, Any], *, line_key: str, lock: Path, place: Path, holds: str, other: str
    ) -> None:
        """`identity` holds, by name, all that the lines depend on; a file with another one is refused.

        Every line but the first has the key `line_key`. The rest is for the sentences: `place` is what the person named
        with --out, `holds` what such a place holds, and `other` what to name instead.
        """
        self.path = path
        self._identity, self._line_key = dict(identity), line_key
        self._place, self._holds, self._other = place, holds, other
        self._lock = FileLock(lock)

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise JournalError(
                f"Another run is writing to {self._place}. Wait for it, or give another --out."
            ) from None
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            self._check_lines()
            self._file = self.path.open("ab")
            if self._file.tell() == 0:
                self.append({HEAD: self._identity})
        except OSError as error:
            self._lock.release()
            raise self._unwritable(error) from None
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()
        self._lock.release()

    def append(self, values: Mapping[str, Any]) -> None:
        """Append a line; when this returns, it is on the disk. Raises JournalError."""
        try:
            self._file.write(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalError(
                f"{self.path} cannot be written to ({error.strerror}). Make room; the same command goes on."
            ) from None

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the lines below the head, in order. Raises JournalError for one that is none."""
        for values in self._all_lines():
            if self._line_key in values:
                yield values

    def _check_lines(self) -> None:
        if not self.path.exists():
            return
        raw = self.path.read_bytes()
        if not raw.endswith(b"\n"):
            os.truncate(self.path, raw.rfind(b"\n") + 1)  # else the next line would be glued to the torn one
        for number, values in enumerate(self._all_lines()):
            if number == 0:
                self._check_identity(values.get(HEAD))

    def _all_lines(self) -> Iterator[dict[str, Any]]:
        with self.path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    values = json.loads(line)
                    if not isinstance(values, dict) or not values.keys() & {HEAD, self._line_key}:
                        raise ValueError
                except ValueError:
                    raise JournalError(
                        f"{self.path}, line {number}: no line of a journal. Restore the file, or give another --out."
                    ) from None
                yield values

    def _check_identity(self, identity: Any) -> None:
        if not isinstance(identity, dict):
            raise JournalError(f"{self.path} is no journal of heard. Give {self._other} with --out.")
        for part, wanted in self._identity.items():
            stored = identity.get(part, {})  # a part that is younger than the file was empty then
            if stored != wanted:
                raise JournalError(
                    f"{self._place} holds another {self._holds}: {_difference(part, stored, wanted)} Give "
                    f"{self._other} with --out, or ask for the same again to go on."
                )

    def _unwritable(self, error: OSError) -> JournalError:
        return JournalError(f"{self._place} cannot be written to ({error.strerror}). Give {self._other} with --out.")


def _difference(part: str, stored: Any, wanted: Any) -> str:
    if not isinstance(stored, dict) or not isinstance(wanted, dict):
        return f"its {part} is {stored}." if part == "command" else f"its {part} are others."
    if list(stored) != list(wanted):
        return f"its {part} are {', '.join(stored) or 'none'}."
    changed = next(name for name in wanted if wanted[name] != stored[name])
    return f"{changed} of its {part} has changed since."
