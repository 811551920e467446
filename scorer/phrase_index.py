"""The likeness of a text to each of many phrases, by their sentence vectors."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heard.scorer.vectors import Vectors

Floats = np.ndarray[Any, np.dtype[np.float32]]


class PhraseIndex:
    """Phrases with their vectors in the encoder's top layer. Immutable, so threads may share it."""

    def __init__(self, vectors: Vectors, phrases: Sequence[str], cache: Path | None = None) -> None:
        """Read the phrases: 4 ms each, once. In the folder `cache` their vectors are kept for the next process."""
        self._vectors = vectors
        self._matrix = _matrix(vectors, list(phrases), cache)

    def likeness(self, text: str) -> list[float]:
        """Return the cosine, -1..1, of a text and each phrase, in their order."""
        return [float(value) for value in self._matrix @ self._vectors.top_of_text(text)]


def _matrix(vectors: Vectors, phrases: list[str], cache: Path | None) -> Floats:
    """Return phrases x width, each of length 1."""
    key = hashlib.sha256("\n".join([vectors.sha256, *phrases]).encode()).hexdigest()[:16]
    path = cache / f"{key}.npy" if cache else None
    shape = (len(phrases), vectors.width)
    if path is not None and path.exists():
        with contextlib.suppress(OSError, ValueError, EOFError):  # a damaged one is made again
            kept = np.load(path, allow_pickle=False)
            if kept.shape == shape and kept.dtype == np.float32:
                return np.asarray(kept, np.float32)
    matrix = np.array([vectors.top_of_text(phrase) for phrase in phrases], np.float32).reshape(shape)
    if path is not None:
        with contextlib.suppress(OSError):  # it is only slower without
            _write(path, matrix)
    return matrix


def _write(path: Path, matrix: Floats) -> None:
    """Write the file whole or not at all: two processes may do so at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        np.save(file, matrix, allow_pickle=False)
    os.replace(file.name, path)
