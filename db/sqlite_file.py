"""The file of an SQLite database: whether what is open is still what is at its address, and why it does not open.

SQLite goes on writing into a file that was moved or deleted, and makes a new one where there is none. Both would
acknowledge what nobody finds again.
"""

import errno
import os
import sqlite3
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from sqlalchemy.engine import URL

from heard.db.errors import StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from heard.db.translate import MOVED

PARAMETERS = {"uri", "mode", "cache", "immutable", "nolock", "psow", "vfs"}
"""Of an address of SQLite (https://sqlite.org/uri.html); all but `uri` are SQLite's own."""
WAL_MAGIC = (0x377F0682, 0x377F0683)
"""How a write-ahead file begins (https://sqlite.org/fileformat2.html#walformat)."""
WAL_HEADER = 32
"""Bytes; a longer file holds something."""
LEAST_ROOM = 128 * 1024
"""Bytes that must be free on the disk; with less the next turn may not fit."""

Identity = tuple[int, int]
"""Device and number of a file."""


class FileFault(sqlite3.OperationalError):
    """A fault of the file, as the driver's error that SQLAlchemy expects; `told` is the sentence, if there is one."""

    def __init__(self, code: int, told: StoreError | None = None) -> None:
        super().__init__("the database's file")
        self.sqlite_errorcode, self.told = code, told


def path_of(url: URL) -> Path | None:
    """Return the path of an SQLite database; None for one in memory."""
    name = str(url.database or "")
    if name.startswith("file:"):
        name = "" if url.query.get("mode") == "memory" else unquote(name[5:])
        if name.startswith("//"):  # an authority, which is empty or localhost
            name = "/" + name[2:].partition("/")[2]
    return None if name in ("", ":memory:") else Path(name)


def sqlite_url(path: Path) -> str:
    """Return the address of a file. In it a question mark would begin parameters, and a per cent sign a character."""
    return "sqlite+aiosqlite:///" + str(path).replace("%", "%25").replace("?", "%3F")


def beside(path: Path, end: str) -> Path:
    """Return the path of the file that holds, with this end of its name, what has not yet reached the database. Where
    `path` is a link, it stands beside what the link leads to."""
    return Path(os.path.realpath(path) + end)


def identity(path: Path) -> Identity | None:
    """Return what tells a file from all others; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class OpenFiles:
    """What one connection has open, told by it. Not for the event loop: each look asks the disk.

    The files are looked at and never opened: to close one again would take this process's locks off it.
    """

    def __init__(self, path: Path | None) -> None:
        self._paths = [] if path is None else [path, *(beside(path, end) for end in ("-wal", "-shm"))]
        self._known: list[Identity | None] = [None] * len(self._paths)
        self._all_known = path is None

    def opened(self) -> Identity | None:
        """Note the database itself, which has just been opened, and return what tells it from others."""
        self._known[:1] = [identity(path) for path in self._paths[:1]]
        return self._known[0] if self._known else None

    def read(self) -> None:
        """Note the files beside it, which SQLite opens with the first read, and holds until the connection closes."""
        if not self._all_known:
            self._known = [known or identity(path) for path, known in zip(self._paths, self._known, strict=True)]
            self._all_known = None not in self._known

    def check(self) -> None:
        """Raise FileFault if a file that is open is not at its place any more."""
        for path, known in zip(self._paths, self._known, strict=True):
            if known is not None and identity(path) != known:
                raise FileFault(MOVED)


def check_url(url: URL, written: str) -> None:
    """Raise StoreUnavailable for an address of SQLite that names no file, or has a parameter that SQLite does not "
    "know."""
    if url.host or url.username or url.port:
        raise StoreUnavailable(
            "The address of an SQLite database names no host: it reads sqlite+aiosqlite:///path, or with a fourth "
            "slash sqlite+aiosqlite:////path from the root. Mend `database_url`."
        )
    names = {name for name, _ in parse_qsl(written.partition("?")[2], keep_blank_values=True)}
    unknown = sorted(names - PARAMETERS)
    if unknown or (names and url.query.get("uri") not in ("true", "1")):
        what = f'the parameter "{unknown[0]}", which heard does not know' if unknown else "parameters without uri=true"
        raise StoreUnavailable(
            f"The database's address has {what}. Mend what stands after the question mark in `database_url`; a "
            f"question mark in a file's name is written %3F, as in sqlite+aiosqlite:///what%3F.db."
        )
    path = path_of(url)
    if path is None:
        raise StoreUnavailable(
            "A database in memory is lost when heard ends, so heard takes none. Name a file by `database_url`, or "
            "leave it empty and name a folder by `data_dir`."
        )
    if "\0" in str(path):
        raise StoreUnavailable("The database's address holds a character that no file's name can have. Mend it.")


def make_file(url: URL) -> None:
    """Make the file and its folder before SQLite does, so that only its owner can read what people wrote.

    Raises StoreError if something else stands in its place, or it cannot be made.
    """
    path = path_of(url)
    assert path is not None
    failure: StoreError | None = None
    try:
        check_wal(path)
        if path.exists():
            failure = None if path.is_file() else why_closed(path)
        elif url.query.get("mode") not in ("ro", "rw"):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        failure = why_closed(path) or (StoreFull() if error.errno == errno.ENOSPC else StoreUnavailable())
    if failure is not None:
        raise failure


def why_closed(path: Path | None) -> StoreError | None:
    """Return why a file that SQLite cannot open does not open; None if nothing is to be seen."""
    if path is None:
        return None
    folder = path.parent
    try:
        if path.is_dir():
            return StoreUnavailable(
                "There is a folder in the place of the database's file. Whoever runs this page needs to move it away, "
                "or to name another place by `database_url` or `data_dir`."
            )
        if not folder.is_dir():
            return StoreUnavailable(
                "The folder of the database's file is not there. Whoever runs this page needs to make it, or to mend "
                "`database_url` or `data_dir`."
            )
        if path.exists() and not path.is_file():
            return StoreUnavailable(
                "What stands in the place of the database is no file. Whoever runs this page needs to mend "
                "`database_url` or `data_dir`."
            )
        if not os.access(path if path.exists() else folder, os.R_OK | os.W_OK):
            return StoreReadOnly(
                "The database's file may not be opened. Whoever runs this page must let heard read and write it and "
                "its folder."
            )
    except (OSError, ValueError):
        return StoreUnavailable()
    return None


def check_wal(path: Path | None) -> None:
    """Raise StoreDamaged for a write-ahead file that SQLite would pass over, and lose what it holds: it does not begin
    as one, or the database that it belongs to is gone or empty."""
    if path is None:
        return
    try:
        with beside(path, "-wal").open("rb") as file:
            start = file.read(4)
            long = os.fstat(file.fileno()).st_size > WAL_HEADER
        size = path.stat().st_size if path.exists() else 0
    except OSError:
        return
    if long and size == 0:
        raise StoreDamaged(
            "The database's file is gone or empty, and what was saved last still stands in the file ending in -wal "
            "beside it. Whoever runs this page needs to stop heard and put the database's file back beside that one."
        )
    if long and int.from_bytes(start) not in WAL_MAGIC:
        raise StoreDamaged(
            "The database's file ending in -wal, which holds what was saved last, is damaged. Whoever runs this page "
            "needs to stop heard, keep both files, and put whole copies back; without that file the last messages are "
            "lost."
        )


def check_room(path: Path | None) -> None:
    """Raise StoreFull if the disk has next to no room for the next write."""
    if path is None or not hasattr(os, "statvfs"):
        return
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < LEAST_ROOM:
        raise StoreFull
