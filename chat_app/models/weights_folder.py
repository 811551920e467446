"""The folder of downloaded weights: one process at a time writes to it, and what goes wrong there has a sentence."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console

from heard.errors import UserError

MB = 1_000_000
SPARE_BYTES = 50 * MB
"""Left free on the disk beside what is fetched, for pip's own bookkeeping and the database."""
LOCK_SECONDS = 3600.0
"""Longest wait for another process that is fetching the same files."""


class WeightsError(UserError):
    """A model that cannot be used; `str()` names the file or folder, the fault and the next step."""


def first_sentence(error: WeightsError) -> str:
    """Return what went wrong, without the next step: for a line before another source is tried."""
    return str(error).partition(". ")[0].removesuffix(".") + "."


@contextlib.contextmanager
def fetching(cache_dir: Path, console: Console) -> Iterator[Path]:
    """Hold the folder of weights, which is made if need be, and yield it; what killed processes left is removed first.

    Parts of models (`*.part`) stay: they are gone on with. Raises WeightsError where the folder cannot be written, the
    disk is full, or another process has held it for an hour.
    """
    root = cache_dir / "weights"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _only_one_process(root, console):
            for leftover in root.glob("**/fetch-*"):  # from a process that was killed; the lock says none is alive
                shutil.rmtree(leftover, ignore_errors=True)
            yield root
    except OSError as error:
        raise WeightsError(disk_sentence(error, cache_dir)) from error


@contextlib.contextmanager
def _only_one_process(root: Path, console: Console) -> Iterator[None]:
    lock = FileLock(root / ".lock")
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            console.print("Another process is fetching the models; waiting for it ...")
            lock.acquire(timeout=LOCK_SECONDS)
    except Timeout as error:
        raise WeightsError(
            f"Another process has been fetching the models into {root} for an hour. End it, then try again."
        ) from error
    try:
        yield
    finally:
        lock.release()


def check_space(label: str, need: int, cache_dir: Path) -> None:
    """Raise WeightsError if fewer than `need` bytes are free in the cache; `label` is what would be fetched."""
    free = shutil.disk_usage(cache_dir).free
    if free < need:
        raise WeightsError(
            f"The {label} needs {need // MB} MB free in {cache_dir}, and {free // MB} MB are free. Free some "
            "space, or set HEARD_CACHE_DIR to a folder on another disk."
        )


def disk_sentence(error: OSError, cache_dir: Path) -> str:
    """Return what a failed write means, as a sentence or two."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk of {cache_dir} filled up while fetching the models. Free some space, or set HEARD_CACHE_DIR."
    return (
        f"The models cannot be kept in {cache_dir} ({error.strerror or 'it cannot be written'}). Make that folder "
        "writable, or set HEARD_CACHE_DIR to one that is."
    )
