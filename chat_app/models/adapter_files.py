"""Adapters: a few trained weights that the engine adds to those of a model of the catalogue (LoRA; Hu et al. 2022,
"LoRA: Low-Rank Adaptation of Large Language Models"). One folder each in `adapters/`, with its card.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from heard.chat_app.models.weights_folder import WeightsError
from heard.toml_values import TomlFault, read_values

ADAPTERS = Path(__file__).parent / "adapters"
WEIGHTS, ABOUT = "adapter.gguf", "adapter.toml"


@dataclass(frozen=True, slots=True)
class Adapter:
    """What an adapter's `adapter.toml` says."""

    title: str
    model_sha256: str
    """Of the file of the model that it was trained on; on another one it would be noise."""
    sha256: str
    """Of its own weights."""


def adapter_path(name: str) -> Path:
    """Return where the weights of an adapter of heard's are."""
    return ADAPTERS / name / WEIGHTS


def write_about(path: Path, title: str, model_sha256: str) -> None:
    """Write the `adapter.toml` of the weights at `path`, which were trained on the model's file with this sha256."""
    values = {"title": title, "model_sha256": model_sha256, "sha256": _sha256(path)}
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items()]  # JSON's strings are TOML's
    (path.parent / ABOUT).write_text("".join(lines), encoding="utf-8")


def check_adapter(path: Path) -> Adapter:
    """Read what belongs to the weights at `path`, and verify them: 20 ms. Raises WeightsError for weights that are
    missing, or not those that `adapter.toml` names."""
    folder = path.parent
    try:
        adapter = Adapter(**read_values(folder / ABOUT))
        found = _sha256(path)
    except (OSError, TomlFault, TypeError) as error:
        raise WeightsError(
            f'The adapter "{folder.name}" is incomplete: it needs {ABOUT} and {WEIGHTS}. Install heard again, or train '
            "it anew with `heard train-voice`."
        ) from error
    if found != adapter.sha256:
        raise WeightsError(
            f'{WEIGHTS} of the adapter "{folder.name}" is damaged (its sha256 is not the one in {ABOUT}). Install '
            "heard again, or train it anew with `heard train-voice`."
        )
    return adapter


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
