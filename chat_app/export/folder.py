"""Write a folder atomically: it is filled under a hidden name next to its place, then renamed."""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heard.errors import UserError

MANIFEST = "manifest.json"
FORMAT = "heard export"
"""Value of "format" in a manifest, which identifies an earlier export."""


class ExportError(UserError):
    """An export that cannot be made; `str()` says why and names the next step."""


@contextmanager
def atomic_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder to fill, which replaces `out` if the block succeeds and is deleted if it raises.

    `out` may be missing, empty or, with `force`, an earlier export with nothing else in it. Raises ExportError.
    """
    out = Path(os.path.realpath(out))
    check_target(out, force=force)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(out)
        partial = Path(tempfile.mkdtemp(prefix=_prefix(out), dir=out.parent))
    except OSError as error:
        raise ExportError(f"Cannot write beside {out} ({error.strerror}). Choose another folder with --out.") from None
    lock = os.open(partial, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield partial
            check_target(out, force=force)  # somebody may have put something there meanwhile
            _replace(out, partial)
        except OSError as error:
            raise ExportError(
                f"The export could not be written ({error.strerror}). What was at {out} before is still there."
            ) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    finally:
        os.close(lock)


def check_target(out: Path, *, force: bool) -> None:
    """Raise ExportError if `out` holds anything that an export must not replace."""
    try:
        names = {path.name for path in out.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise ExportError(f"{out} is a file. Choose a folder with --out.") from None
    except OSError as error:
        raise ExportError(f"{out} cannot be read ({error.strerror}). Choose another folder with --out.") from None
    if not names:
        return
    written = _exported_files(out)
    if written is None:
        raise ExportError(f"{out} is not empty and is no earlier export. Choose another folder with --out.")
    if others := sorted(names - written):
        raise ExportError(
            f"{out} is an earlier export, but {others[0]} in it is not part of that. Move it away, or choose another "
            "folder with --out."
        )
    if not force:
        raise ExportError(f"{out} holds an earlier export. Add --force to replace it, or choose another folder.")


def _exported_files(out: Path) -> set[str] | None:
    """Return the file names of an earlier export, its manifest included; None if `out` is not an export."""
    try:
        manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            return None
        return {MANIFEST, *(file["name"] for file in manifest["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _replace(out: Path, partial: Path) -> None:
    old = partial.with_name(partial.name + ".old")
    if out.exists():
        out.rename(old)
    try:
        partial.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _prefix(out: Path) -> str:
    return f".{out.name}.partial-"


def _remove_leftovers(out: Path) -> None:
    """Delete what killed exports to the same place have left; one that is still running holds its lock."""
    for left in out.parent.glob(f"{_glob_safe(_prefix(out))}*"):
        if left.name.endswith(".old"):  # killed between two renames: this is the export that was there before
            if not out.exists():
                left.rename(out)
            else:
                shutil.rmtree(left, ignore_errors=True)
            continue
        handle = os.open(left, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)
        shutil.rmtree(left, ignore_errors=True)


def _glob_safe(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
