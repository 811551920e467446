"""Find the encoder that a name or a head stands for: a folder, the embedded one, or a model of the Hugging Face Hub."""

import os
from collections.abc import Callable
from pathlib import Path

from heard.scorer.encoder_files import EMBEDDED_NAME, EMBEDDED_SHA256
from heard.scorer.errors import ScorerError
from heard.scorer.head_file import read_head_file

FILES = ("config.json", "tokenizer.json", "model.safetensors")
"""All that an encoder needs; nothing else of a repository is fetched."""
FOLDER = "folder:"
"""Begins the name of an encoder that is known by its folder alone. No Hub name can have a colon."""


def encoder_folder(name: str) -> Path:
    """Folder of the encoder called `name`: a folder's path, or a Hub name such as "bert-base-uncased".

    A Hub name may end in "@" and a commit, tag or branch. What the Hub's cache holds (HF_HOME) is used without asking
    the network. Raises ScorerError if there is no such folder and no such model, or no network to fetch it by.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or name.startswith((".", "~")) or "\\" in name or name.count("/") > 1:
        raise ScorerError(f"{name} cannot be read: there is no such folder. Check the path given as encoder.")
    repository, _, revision = name.partition("@")
    return _cached(repository, revision or "main") or _fetched(repository, revision or "main")


def encoder_of(head: Path, embedded: Callable[[], Path]) -> Path:
    """Folder of the encoder that the head in the folder `head` was trained on, as its head.toml says.

    That is the embedded encoder (`embedded` gives its folder), a folder or link `encoder` beside head.toml, or a Hub
    model. `Scorer.load` checks its sha256. Raises ScorerError if the head cannot be read or its encoder be found.
    """
    file = read_head_file(head / "head.toml")
    if file.encoder_sha256 == EMBEDDED_SHA256:
        return embedded()
    if (head / "encoder").is_dir():
        return head / "encoder"
    if file.encoder.startswith(FOLDER):
        raise ScorerError(
            f"The head in {head} was trained on an encoder from a folder ({file.encoder.removeprefix(FOLDER)}). "
            f"Put that folder, or a link to it, at {head / 'encoder'}."
        )
    return encoder_folder(file.encoder)


def encoder_name(folder: Path, sha256: str) -> str:
    """What head.toml calls the encoder in `folder` with these weights, so that `encoder_of` finds it again.

    A Hub model is named with its commit: the branch may move on, and the head would no longer fit.
    """
    if sha256 == EMBEDDED_SHA256:
        return EMBEDDED_NAME
    folder = folder.absolute()  # not resolve(): a snapshot's own place in the cache tells its name
    snapshots, repository = folder.parent, folder.parent.parent.name
    if snapshots.name == "snapshots" and repository.startswith("models--"):
        return f"{repository.removeprefix('models--').replace('--', '/')}@{folder.name}"
    return FOLDER + folder.name


def _cached(repository: str, revision: str) -> Path | None:
    # Imported here: half a second that the embedded encoder never needs. It says nothing of this machine to the Hub.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(
            snapshot_download(repository, revision=revision, allow_patterns=list(FILES), local_files_only=True)
        )
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise ScorerError(
            f'"{repository}" is neither a folder nor a name of the Hugging Face Hub. '
            'Give a folder, or a name such as "bert-base-uncased".'
        ) from error
    return folder if all((folder / name).exists() for name in FILES) else None


def _fetched(repository: str, revision: str) -> Path:
    import httpx2
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    asked = repository if revision == "main" else f"{repository}@{revision}"
    try:
        folder = Path(snapshot_download(repository, revision=revision, allow_patterns=list(FILES)))
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ScorerError(
            f'There is no folder "{asked}", and the Hugging Face Hub has no public model of that name. Check the name.'
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, httpx2.HTTPError) as error:
        raise ScorerError(
            f'There is no folder "{asked}", and the Hugging Face Hub cannot be reached to fetch a model of that name. '
            "Connect to the network (and see that HF_HUB_OFFLINE is not set), or give the folder of an encoder."
        ) from error
    except OSError as error:
        raise ScorerError(
            f"{asked} cannot be stored ({error.strerror or type(error).__name__}). "
            "Make room, or name another cache folder by HF_HOME."
        ) from error
    missing = [name for name in FILES if not (folder / name).exists()]
    if missing:
        raise ScorerError(f"{asked} on the Hub has no {', '.join(missing)}. Give a BERT model that has.")
    return folder
