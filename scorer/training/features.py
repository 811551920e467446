"""Token states of many texts, computed once and kept in a file: the encoder is frozen, so they never change."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heard.scorer.encoder import Encoder

Progress = Callable[[int, int], None]
"""Called with (done, of all)."""
OnProgress = Callable[[str, int, int], None]
"""Called with (what is being done, done, of all)."""


BLOCK = 100
"""Texts that are computed and kept together."""


@dataclass(frozen=True, slots=True)
class Features:
    """States of many texts behind each other."""

    states: np.ndarray[Any, np.dtype[np.float16]]
    """All tokens x states. Half precision: the error is far below the labels' noise."""
    starts: np.ndarray[Any, np.dtype[np.int64]]
    """Text i owns the rows starts[i] to starts[i + 1]; one entry more than there are texts."""


def compute(
    encoder: Encoder,
    texts: Sequence[str],
    layers: Sequence[float],
    cache: Path | None,
    progress: Progress,
    *,
    first_only: bool = False,
) -> Features:
    """States of `texts` from `encoder` (opened with `layers`), in blocks that the folder `cache` keeps.

    Blocks, so that a changed or interrupted list costs only what is new. `first_only` keeps each text's [CLS] and
    nothing else: a hundredth of the room.
    """
    blocks = []
    for at in range(0, len(texts), BLOCK):
        blocks.append(_block(encoder, texts[at : at + BLOCK], layers, cache, 1 if first_only else None))
        progress(min(at + BLOCK, len(texts)), len(texts))
    lengths = np.concatenate([lengths for _, lengths in blocks])
    return Features(np.concatenate([states for states, _ in blocks]), np.cumsum([0, *lengths]))


def _block(
    encoder: Encoder, texts: Sequence[str], layers: Sequence[float], cache: Path | None, most: int | None
) -> tuple[np.ndarray[Any, np.dtype[np.float16]], np.ndarray[Any, np.dtype[np.int64]]]:
    key = hashlib.sha256(f"{encoder.sha256} {list(layers)}".encode())
    if most is not None:
        key.update(f" first {most}".encode())
    for text in texts:
        key.update(text.encode() + b"\0")
    path = cache / f"states-{key.hexdigest()[:24]}.npz" if cache else None
    if path and path.exists():
        with np.load(path) as file:
            return file["states"], file["lengths"]
    rows = [encoder.states(encoder.ids(text))[:most].astype(np.float16) for text in texts]
    states, lengths = np.concatenate(rows), np.array([len(row) for row in rows])
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, states=states, lengths=lengths)
        part.replace(path)
    return states, lengths
