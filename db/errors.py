"""Errors of the store, with sentences for people, and their translation from errors of the drivers.

None of them holds SQL, parameters or the driver's text, which can contain a person's words.
"""

import re

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from heard.errors import UserError


class StoreError(UserError):
    """The database failed; `str()` is a plain sentence with the next step.

    `rule` is the name of the constraint that refused a record, for debugging, or None.
    """

    sentence = "The database could not do this just now. Please try again; if it stays so, tell whoever runs this page."

    def __init__(self, sentence: str | None = None, *, rule: str | None = None) -> None:
        super().__init__(sentence or self.sentence)
        self.rule = rule


class StoreBusy(StoreError):
    """Another process held the database for longer than the wait that the settings allow."""

    sentence = "The database is busy with another program. Please wait a moment and try again."


class StoreReadOnly(StoreError):
    """The file, its folder or the session may not be written."""

    sentence = "The database is read-only, so nothing can be saved. Whoever runs this page must make its file writable."


class StoreFull(StoreError):
    """No room on the disk, or the database has reached its size limit."""

    sentence = "There is no room left to save anything. Whoever runs this page needs to free disk space."


class StoreUnavailable(StoreError):
    """The file cannot be opened or is not a database, or the server cannot be reached."""

    sentence = (
        "The database cannot be opened. Whoever runs this page needs to check the database's address (`database_url`, "
        "`data_dir`) and run `heard db upgrade`."
    )


class StoreGone(StoreError):
    """What the write refers to has been erased; nothing was written."""

    sentence = "This conversation has been erased, so nothing more of it was saved. Start a new chat to go on."


class StoreDenied(StoreError):
    """The conversation belongs to another participant."""

    sentence = "This conversation belongs to another visitor. Start a new chat to go on."


class StoreDuplicate(StoreError):
    """The message has been stored before, or has another reply already."""

    sentence = "This message has been received already. Reload the page to see its reply."


class VoteRefused(StoreError):
    """The vote breaks a rule of its ballot; `str()` says which. Nothing was written."""

    sentence = "This vote cannot be taken. Reload the page and choose again."


class StudyRefused(StoreError):
    """The study does not take this person, or this change; `str()` says why. Nothing was written."""

    sentence = "This study is not open to you. Check the link that brought you here."


_SQLITE = {
    5: StoreBusy,
    6: StoreBusy,
    8: StoreReadOnly,
    11: StoreUnavailable,
    13: StoreFull,
    14: StoreUnavailable,
    26: StoreUnavailable,
}
"""Primary result codes of SQLite (https://sqlite.org/rescode.html)."""

_POSTGRES = {
    "55P03": StoreBusy,
    "40001": StoreBusy,
    "40P01": StoreBusy,
    "57014": StoreBusy,
    "53300": StoreBusy,
    "25006": StoreReadOnly,
    "42501": StoreReadOnly,
    "53100": StoreFull,
}
"""SQLSTATE codes (PostgreSQL manual, appendix A). Classes 08, 28, 3D and 57P: no server to talk to."""


def translate(error: SQLAlchemyError | OSError) -> StoreError:
    """Return the StoreError for an error of SQLAlchemy or of the network.

    Raise it outside the `except` block, so that the original is not kept as its context.
    """
    if isinstance(error, PoolTimeout):
        return StoreBusy()
    if isinstance(error, IntegrityError):
        return StoreError(rule=_rule(error))
    if isinstance(error, DBAPIError):
        return _kind(error)()
    if isinstance(error, StatementError):
        return StoreError(rule=type(error.orig).__name__)
    return StoreUnavailable() if isinstance(error, OSError) else StoreError()


def _kind(error: DBAPIError) -> type[StoreError]:
    code = getattr(error.orig, "sqlite_errorcode", None)
    if isinstance(code, int):
        return _SQLITE.get(code & 0xFF, StoreError)
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if state[:2] in ("08", "28", "3D") or state.startswith("57P") or error.connection_invalidated:
        return StoreUnavailable
    return _POSTGRES.get(state, StoreError)


def _rule(error: IntegrityError) -> str:
    named = getattr(getattr(error.orig, "__cause__", None), "constraint_name", None)
    if named:
        return str(named)
    # SQLite names a CHECK, or the columns of a UNIQUE, and never a value.
    match = re.search(r"(\w+(?: \w+)?) constraint failed(?:: ([\w., ]+))?", str(error.orig))
    return (match.group(2) or match.group(1)) if match else "unknown"
