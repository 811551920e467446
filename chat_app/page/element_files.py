"""Files of page elements (a picture, say), kept on disk by conversation: `<folder>/<thread id>/<element id>`.

Both parts are UUIDs and nothing else, so no name that a browser sends can lead out of the folder.
"""

import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

MOST_BYTES = 1_000_000
"""Largest file. It travels to the page inside the conversation, so it must stay small."""


class ElementFileError(Exception):
    """A file that is not kept; `str()` is a plain sentence."""


class ElementFiles:
    """The folder; made at the first write, readable by its owner only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """Where the file with the key "thread id/element id" lies. Raises ElementFileError for any other key."""
        thread, _, element = key.partition("/")
        if not (is_uuid(thread) and is_uuid(element)):
            raise ElementFileError("A file of a conversation is named by two ids, and this name is not.")
        return self.folder / thread / element

    def write(self, key: str, data: bytes) -> None:
        """Write or replace a file. Raises ElementFileError when it is larger than MOST_BYTES, and OSError."""
        if len(data) > MOST_BYTES:
            raise ElementFileError(f"The file is larger than {MOST_BYTES:,} bytes and was not kept.")
        path = self.path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(data)

    def read(self, key: str) -> bytes | None:
        """The content, or None when there is no such file."""
        path = self.path(key)
        return path.read_bytes() if path.is_file() else None

    def delete(self, key: str) -> bool:
        """Remove one file; whether there was one."""
        path = self.path(key)
        there = path.is_file()
        path.unlink(missing_ok=True)
        return there

    def erase(self, thread_ids: Iterable[str]) -> int:
        """Remove all files of these conversations, and give their number. Ids that are no UUIDs have no files."""
        removed = 0
        for thread in filter(is_uuid, thread_ids):
            folder = self.folder / thread
            if folder.is_dir():
                removed += sum(1 for item in folder.iterdir())
                shutil.rmtree(folder)
        return removed


def is_uuid(text: object) -> bool:
    """Whether a value is a UUID as text, in the usual form: 36 characters, lower case."""
    try:
        return isinstance(text, str) and str(uuid.UUID(text)) == text
    except ValueError:
        return False
