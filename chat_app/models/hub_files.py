"""The folder of a model's weights: one that models.toml names, or one fetched from the Hub."""

from pathlib import Path

from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec

ALLOW_PATTERNS = ("*.json", "*.safetensors", "*.jinja", "*.model", "*.txt")
"""Weights as safetensors (older formats can run code), and the files of tokenizers."""
IGNORE_PATTERNS = ("*/*",)
"""Folders within a repository hold the same weights in other formats."""


def weights_folder(spec: ModelSpec, token: str | None) -> Path:
    """Return the folder of the entry's weights. Blocks; a first fetch can take minutes.

    A Hub name may end in "@" and a commit, tag or branch. Without a network the Hub's cache (HF_HOME) is used. Raises
    ModelFailure (REJECTED), whose sentence repeats nothing that the Hub said.
    """
    folder = Path(spec.model).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or spec.model.startswith((".", "~")) or spec.model.count("/") > 1:
        raise unloadable(spec, f'There is no folder "{spec.model}".')
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    repository, _, revision = spec.model.partition("@")
    try:
        return Path(
            snapshot_download(
                repository,
                revision=revision or "main",
                allow_patterns=list(ALLOW_PATTERNS),
                ignore_patterns=list(IGNORE_PATTERNS),
                token=token or False,  # None would be the one in HF_TOKEN, which the entry has not named
            )
        )
    except HFValidationError:
        raise unloadable(spec, f'"{spec.model}" is neither a folder nor a name of the Hugging Face Hub.') from None
    except GatedRepoError:
        raise unloadable(spec, _wants_token(spec)) from None
    except (RepositoryNotFoundError, RevisionNotFoundError):
        # The Hub says the same of a model that is not public.
        why = f'The Hugging Face Hub has no "{spec.model}", or hides it. {_wants_token(spec)}'
        raise unloadable(spec, why) from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError):
        raise unloadable(
            spec,
            f'There is no folder "{spec.model}", and the Hugging Face Hub cannot be reached to fetch weights of that '
            "name. Connect to the network, and see that HF_HUB_OFFLINE is not set.",
        ) from None
    except OSError as error:
        raise unloadable(
            spec,
            f"Its weights cannot be stored ({type(error).__name__}). Make room, or name another folder by HF_HOME.",
        ) from None


def unloadable(spec: ModelSpec, why: str) -> ModelFailure:
    """Return the failure for weights that cannot be loaded; `why` is a sentence or two."""
    return ModelFailure(
        FailureKind.REJECTED, f'"{spec.label}" cannot be loaded. {why} Check model in models.toml, or choose another.'
    )


def _wants_token(spec: ModelSpec) -> str:
    if spec.key_env:
        return f"See that the token in {spec.key_env} may read it."
    return "If it wants a token, put that into an environment variable, and name the variable as key_env."
