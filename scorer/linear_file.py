"""A linear classifier on a frozen encoder's states as stored: a TOML file, and beside it `weights.safetensors`."""

from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.toml_file import read_toml

Floats = np.ndarray[Any, np.dtype[np.float32]]


class _Described(Protocol):
    @property
    def weights_sha256(self) -> str: ...


Described = TypeVar("Described", bound=_Described)


def load_linear(path: Path, shape: type[Described], rows: int, again: str) -> tuple[Described, Floats, Floats]:
    """Return what the TOML file at `path` says, the weights (`rows` x features) and the bias (`rows`).

    `shape` is the record that the file fills; `again` is the sentence that says how to make it anew. Raises ScorerError
    for a file that is missing or faulty, and for weights that are damaged, of another file or of another shape.
    """
    about = read_toml(path, shape, f"There is no {path.name} in {path.parent}. {again}")
    weights_path = path.with_name("weights.safetensors")
    if file_sha256(weights_path, again) != about.weights_sha256:
        raise ScorerError(f"{weights_path} does not belong to the {path.name} beside it. {again}")
    try:
        tensors = load_file(weights_path)
        weights, bias = (tensors[name].astype(np.float32) for name in ("weights", "bias"))
    except (SafetensorError, KeyError) as error:
        raise ScorerError(f"{weights_path} cannot be read. {again}") from error
    if weights.ndim != 2 or weights.shape[:1] != bias.shape or bias.shape != (rows,):
        raise ScorerError(f"{weights_path} has weights of another shape. {again}")
    return about, weights, bias
