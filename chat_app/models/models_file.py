"""Whether `models.toml` has been edited since the server read it: the models of a running server stay as they are."""

import logging
from pathlib import Path

log = logging.getLogger(__name__)


class ModelsFile:
    """The file as it was at the start. A look costs one stat; the first that finds an edit says so in the log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = self._stamp()
        self._told = False

    @property
    def edited(self) -> bool:
        """Whether the file is another than the one that was read: edited, written for the first time, or gone."""
        edited = self._stamp() != self._read
        if edited and not self._told:
            log.warning("%s has been edited; its models are taken in when heard is started again", self.path.name)
        self._told = edited
        return edited

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
