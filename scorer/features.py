"""Token states of many texts, computed once and kept in a file: the encoder is frozen, so they never change."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scorer.encoder import Encoder

Progress = Callable[[int, int], None]
"""Called with (done, of all)."""


@dataclass(frozen=True, slots=True)
class Features:
    """States of many texts behind each other."""

    states: np.ndarray[Any, np.dtype[np.float16]]
    """All tokens x states. Half precision: the error is far below the labels' noise."""
    starts: np.ndarray[Any, np.dtype[np.int64]]
    """Text i owns the rows starts[i] to starts[i + 1]; one entry more than there are texts."""


def compute(
    encoder: Encoder, texts: Sequence[str], layers: Sequence[int], cache: Path | None, progress: Progress
) -> Features:
    """States of `texts` from `encoder` (opened with `layers`), read from the folder `cache` if they are there
    already."""
    key = hashlib.sha256(f"{encoder.sha256} {list(layers)}".encode())
    for text in texts:
        key.update(text.encode() + b"\0")
    path = cache / f"states-{key.hexdigest()[:24]}.npz" if cache else None
    if path and path.exists():
        with np.load(path) as file:
            return Features(file["states"], file["starts"])
    rows = []
    for done, text in enumerate(texts):
        rows.append(encoder.states(encoder.ids(text)).astype(np.float16))
        progress(done + 1, len(texts))
    features = Features(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, states=features.states, starts=features.starts)
        part.replace(path)
    return features
