"""Errors of the store, with sentences for people. `db/translate.py` makes them from errors of the drivers.

None of them holds SQL, parameters or the driver's text, which can contain a person's words.
"""

from heard.errors import UserError


class StoreError(UserError):
    """The database failed; `str()` is a plain sentence with the next step.

    `rule` is the name of the constraint that refused a record, for debugging, or None. `kind` is the fault's name in
    `/health`; "" of what is no fault of the database.
    """

    kind = "failed"

    sentence = "The database could not do this just now. Please try again; if it stays so, tell whoever runs this page."

    def __init__(self, sentence: str | None = None, *, rule: str | None = None) -> None:
        super().__init__(sentence or self.sentence)
        self.rule = rule


class StoreBusy(StoreError):
    """Another process held the database for longer than the wait that the settings allow, or it has too much to do."""

    kind = "locked"
    sentence = "The database is busy with another program. Please wait a moment and try again."


class StoreUnavailable(StoreError):
    """The file cannot be opened, or the server cannot be reached."""

    kind = "unreachable"
    sentence = (
        "The database cannot be opened. Whoever runs this page needs to check the database's address (`database_url`, "
        "`data_dir`)."
    )


class StoreSilent(StoreUnavailable):
    """The server did not answer within its limit: it is frozen, or the network carries nothing any more. Whether a
    write reached it is not known."""

    kind = "silent"
    sentence = (
        "The database does not answer, so what was sent last may not be saved. Please wait a moment and try again; if "
        "it stays so, whoever runs this page needs to look at the database's server."
    )


class StoreReadOnly(StoreError):
    """The file, its folder or the session may not be written."""

    kind = "read-only"
    sentence = "The database is read-only, so nothing can be saved. Whoever runs this page must make its file writable."


class StoreFull(StoreError):
    """No room on the disk, or the database has reached its size limit."""

    kind = "full"
    sentence = "There is no room left to save anything. Whoever runs this page needs to free disk space."


class StoreBroken(StoreError):
    """The disk reports errors when the file is read or written."""

    kind = "disk"
    sentence = (
        "The disk that holds the database reports an error, so nothing can be saved. Whoever runs this page needs to "
        "check that disk and what it may hold."
    )


class StoreDamaged(StoreUnavailable):
    """The file is no database, or what is in it does not fit together."""

    kind = "damaged"
    sentence = (
        "The database's file is damaged, or it is not a database. Whoever runs this page needs to stop heard, keep the "
        "file, and put a whole copy of it in its place."
    )


class StoreMoved(StoreUnavailable):
    """The file that is open is not the one at the database's address any more."""

    kind = "moved"
    sentence = (
        "The database's file was moved, deleted or replaced while heard runs, so nothing more is saved. Whoever runs "
        "this page needs to stop heard, put the file with its -wal file back, and start it again."
    )


class StoreOutdated(StoreUnavailable):
    """The tables are not those of this version of heard: older, newer, or not there."""

    kind = "tables"
    sentence = (
        "The database's tables are not those that this version of heard needs. Whoever runs this page needs to stop "
        "heard and run `heard db upgrade`."
    )


class StoreGone(StoreError):
    """What the write refers to has been erased; nothing was written."""

    kind = ""
    sentence = "This conversation has been erased, so nothing more of it was saved. Start a new chat to go on."


class StoreDenied(StoreError):
    """The conversation belongs to another participant."""

    kind = ""
    sentence = "This conversation belongs to another visitor. Start a new chat to go on."


class StoreDuplicate(StoreError):
    """The message has been stored before, or has another reply already."""

    kind = ""
    sentence = "This message has been received already. Reload the page to see its reply."


class VoteRefused(StoreError):
    """The vote breaks a rule of its ballot; `str()` says which. Nothing was written."""

    kind = ""
    sentence = "This vote cannot be taken. Reload the page and choose again."


class StudyRefused(StoreError):
    """The study does not take this person, or this change; `str()` says why. Nothing was written."""

    kind = ""
    sentence = "This study is not open to you. Check the link that brought you here."
