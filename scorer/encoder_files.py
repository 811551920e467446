"""The files of an encoder: their names, checksum and configuration."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heard.scorer.errors import ScorerError

EMBEDDED_NAME = "all-minilm-l6-v2"
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the embedded encoder's `model.safetensors` (all-MiniLM-L6-v2 as published)."""


GRAPH = 3
"""Raised with every change of `scorer/onnx_export.py` that changes its graphs."""
PROJECTION = ("projection", "projection_bias")
"""The two tensors that a graph with a projection leaves to whoever opens it."""


def graph_path(
    folder: Path, sha256: str, layers: Sequence[float], after: float | None = None, projected: int = 0
) -> Path:
    """Where the graph of these weights and layers lies. Other weights, layers or operators give another name, so none
    is ever stale."""
    begins = "" if after is None else f"{after:g}to"
    ends = f"-{projected}" if projected else ""
    names = "-".join(f"{layer:g}" for layer in layers)
    return folder / f"encoder-{GRAPH}-{sha256[:16]}-{begins}{names}{ends}.onnx"


def old_graphs(folder: Path) -> list[Path]:
    """Graphs that an earlier GRAPH has left in `folder`, 70 MB each."""
    numbered = [(path, path.name.split("-")[1]) for path in folder.glob("encoder-*-*.onnx")]
    return [path for path, number in numbered if number.isdecimal() and int(number) < GRAPH]


def read_config(folder: Path) -> dict[str, Any]:
    """The encoder's `config.json`. Raises ScorerError where it is missing, unreadable, or of something else than a
    BERT."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScorerError(
            f"The encoder in {folder} has no readable config.json. Give a folder with a BERT model."
        ) from error
    if not isinstance(config, dict) or config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
        raise ScorerError(f'{path}: only BERT encoders with "gelu" can be used (model_type "bert").')
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ScorerError(f"{path}: only absolute position embeddings can be used.")
    for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings"):
        if type(config.get(key)) is not int or config[key] < 1:
            raise ScorerError(f'{path}: "{key}" must be a whole number above 0. Give the config.json of the model.')
    return config


AT_ONCE = 1 << 24
"""Bytes of a file that are hashed at a time: in small parts, another thread's Python would hold up every one."""
FETCH = "Run `heard chat` once to fetch the encoder, or give its folder."


def file_sha256(path: Path, next_step: str = FETCH) -> str:
    """sha256 of a file, 64 hex digits. Raises ScorerError if it cannot be read, ending in `next_step`."""
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as file:
            while part := file.read(AT_ONCE):
                digest.update(part)
            return digest.hexdigest()
    except OSError as error:
        raise ScorerError(f"{path} cannot be read. {next_step}") from error
