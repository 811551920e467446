"""From errors of the drivers to a StoreError: each fault of SQLite and PostgreSQL has its own sentence."""

import re
import sqlite3
import ssl

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from heard.db.errors import (
    StoreBroken,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreMoved,
    StoreOutdated,
    StoreReadOnly,
    StoreSilent,
    StoreUnavailable,
)

MOVED = 1032
"""SQLITE_READONLY_DBMOVED, which `db.sqlite_file` gives too."""
_SQLITE = {
    3: StoreReadOnly,
    5: StoreBusy,
    6: StoreBusy,
    8: StoreReadOnly,
    10: StoreBroken,
    11: StoreDamaged,
    13: StoreFull,
    14: StoreUnavailable,
    15: StoreBusy,
    26: StoreDamaged,
    MOVED: StoreMoved,
    522: StoreDamaged,  # IOERR_SHORT_READ: the file is shorter than it was
    4874: StoreFull,  # IOERR_SHMSIZE: no room for the file that goes with the write-ahead file
}
"""Result codes of SQLite (https://sqlite.org/rescode.html): an extended one before its primary one."""

_SERVER_DISK = (
    "The disk of the database's server has no room left to save anything. Whoever runs it needs to free some."
)
_TOO_MANY = (
    "The database's server takes no more connections just now. Please wait a moment and try again; if it stays so, "
    "whoever runs this page needs to allow more (`max_connections`), or to end what holds them."
)
_TOO_LONG = (
    "The database needed too long for this, so it was broken off and nothing of it is saved. Please try again; if it "
    "stays so, whoever runs this page needs to see what keeps the database's server busy."
)
_STARTING = (
    "The database's server is starting or stopping. Please wait a moment and try again; if it stays so, whoever runs "
    "this page needs to look at it."
)
_PASSWORD = (
    "The database's server does not let heard in. Whoever runs this page needs to check user and password in "
    "`database_url`, and what the server allows (`pg_hba.conf`)."
)
_NO_DATABASE = (
    "The database's server has no database of that name. Whoever runs this page needs to make it (`createdb`) or to "
    "mend `database_url`."
)
_NO_RIGHT = (
    "The database does not allow this to heard's user, so nothing is saved. Whoever runs this page needs to give that "
    "user the rights to its schema and tables."
)
_SERVER_READ_ONLY = (
    "The database is read-only, so nothing can be saved. Whoever runs this page must let heard's user write, or point "
    "`database_url` at the server that takes writes."
)
_SERVER_DAMAGED = (
    "The database's server reports that its files are damaged. Whoever runs it needs to stop it, keep its files, and "
    "put a whole copy back."
)
_NO_MEMORY = "The database's server has no memory left for this. Whoever runs it needs to give it more."
_NO_SERVER = (
    "The database's server cannot be reached. Whoever runs this page needs to see that it runs, and that host and port "
    "in `database_url` are right."
)
_PARAMETER = (
    "The database's server does not know a parameter of `database_url`, or its value. Whoever runs this page needs to "
    "mend it."
)
_NO_TLS = (
    "The database's server and heard do not agree on TLS. Whoever runs this page needs to check `sslmode` in "
    "`database_url`, and the certificates that it names."
)
_IN_THE_WAY = (
    "The database has tables that are in the way of heard's own: another program's, or a part of an older database. "
    "Nothing was changed. Give heard a database of its own by `database_url` or `data_dir`."
)
_POSTGRES: dict[str, tuple[type[StoreError], str | None]] = {
    "22023": (StoreUnavailable, _PARAMETER),
    "25006": (StoreReadOnly, _SERVER_READ_ONLY),
    "28": (StoreUnavailable, _PASSWORD),
    "3D": (StoreUnavailable, _NO_DATABASE),
    "3F": (StoreOutdated, None),
    "40001": (StoreBusy, None),
    "40P01": (StoreBusy, None),
    "42501": (StoreReadOnly, _NO_RIGHT),
    "42701": (StoreOutdated, _IN_THE_WAY),
    "42703": (StoreOutdated, None),
    "42704": (StoreUnavailable, _PARAMETER),
    "42P01": (StoreOutdated, None),
    "42P07": (StoreOutdated, _IN_THE_WAY),
    "53100": (StoreFull, _SERVER_DISK),
    "53200": (StoreFull, _NO_MEMORY),
    "53300": (StoreBusy, _TOO_MANY),
    "53400": (StoreFull, None),
    "54000": (StoreFull, None),
    "55P03": (StoreBusy, None),
    "57014": (StoreBusy, _TOO_LONG),
    "57P": (StoreUnavailable, _STARTING),
    "58030": (StoreBroken, None),
    "58P01": (StoreDamaged, _SERVER_DAMAGED),
    "08": (StoreUnavailable, _NO_SERVER),
    "25P03": (StoreSilent, None),
    "XX001": (StoreDamaged, _SERVER_DAMAGED),
    "XX002": (StoreDamaged, _SERVER_DAMAGED),
}
"""By SQLSTATE (PostgreSQL manual, appendix A), or by its first letters."""


def translate(error: SQLAlchemyError | OSError) -> StoreError:
    """Return the StoreError for an error of SQLAlchemy or of the network.

    Raise it outside the `except` block, so that the original is not kept as its context.
    """
    if isinstance(error, PoolTimeout):
        return StoreBusy(
            "More is asked of the database than it can answer just now. Please wait a moment and try again."
        )
    if isinstance(error, IntegrityError):
        return StoreError(rule=_rule(error))
    if isinstance(error, DBAPIError):
        return _of_driver(error)
    if isinstance(error, StatementError):
        return translate(error.orig) if isinstance(error.orig, OSError) else StoreError(rule=type(error.orig).__name__)
    if isinstance(error, TimeoutError):  # of the driver or of the network
        return StoreSilent()
    if isinstance(error, OSError):
        return StoreUnavailable(_NO_TLS if isinstance(error, ssl.SSLError) or "SSL" in str(error) else _NO_SERVER)
    return StoreError()


def _of_driver(error: DBAPIError) -> StoreError:
    told: StoreError | None = getattr(error.orig, "told", None)
    if told is not None:  # by what knows more than the code
        return type(told)(str(told))
    code = getattr(error.orig, "sqlite_errorcode", None)
    if isinstance(code, int):
        if code & 0xFF == sqlite3.SQLITE_ERROR:
            return _of_tables(str(error.orig))
        return (_SQLITE.get(code) or _SQLITE.get(code & 0xFF, StoreError))()
    state = str(getattr(error.orig, "sqlstate", None) or "")
    for known in (state, state[:3], state[:2]):
        if known and known in _POSTGRES:
            kind, sentence = _POSTGRES[known]
            return kind(sentence)
    return StoreUnavailable(_NO_SERVER) if error.connection_invalidated else StoreError()


def _of_tables(message: str) -> StoreError:
    """SQLite has one code for everything that is wrong with a statement; only its message says what."""
    if re.match(r"no such (table|column)|table \S+ has no column|no such index", message):
        return StoreOutdated()
    in_the_way = message.endswith("already exists") or message.startswith("duplicate column name")
    return StoreOutdated(_IN_THE_WAY) if in_the_way else StoreError()


def _rule(error: IntegrityError) -> str:
    named = getattr(getattr(error.orig, "__cause__", None), "constraint_name", None)
    if named:
        return str(named)
    # SQLite names a CHECK, or the columns of a UNIQUE, and never a value.
    match = re.search(r"(\w+(?: \w+)?) constraint failed(?:: ([\w., ]+))?", str(error.orig))
    return (match.group(2) or match.group(1)) if match else "unknown"
