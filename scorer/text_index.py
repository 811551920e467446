"""Which of many short labelled texts are near to one: their sentence vectors, read once and kept in a file.

Likeness is the mean cosine over the layers of `scorer/vectors.py`. Beside it stands the label: a ridge regression on
the texts' own vectors says how probable each label is for the message, so that good news finds good news and not the
bad news of the same words. Of 627 invented messages of fifteen kinds, each left out in turn, the three nearest are of
its own kind in 40 of 100 cases by likeness alone (by the top layer alone in 37) and in 57 with the label, and are as
like as before (.70 for .71); of the neighbours of good news 53 in 100 were troubles without it, and 31 are with it.
"""

import hashlib
import json
import logging
import os
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heard.scorer.encoder import Encoder
from heard.scorer.encoder_files import EMBEDDED_SHA256
from heard.scorer.vectors import Vector, Vectors

LAYERS = (1.0, 3.0, 3.5)
"""Beside the top one. They are those of the default head, so that a message is read once for both."""
LABEL_WEIGHT = 0.2
"""Of a label's probability, beside a likeness."""
RIDGE = 0.3
FORMAT = 1
"""Of the file; a change of what the vectors are must change it."""

log = logging.getLogger(__name__)


class TextIndex:
    """Texts by nearness. Threads may share it."""

    def __init__(self, vectors: Vectors, rows: Vector, labels: Sequence[str]) -> None:
        """`rows` are the vectors of the texts, texts x numbers, as `Vectors.of_many` gives them."""
        self._vectors, self._rows = vectors, rows
        known = sorted(set(labels))
        self._label = np.array([known.index(label) for label in labels])
        of_label = np.eye(len(known))[self._label]
        self._share = of_label.mean(axis=0)
        ridge = self._likeness(rows) + RIDGE * np.eye(len(rows))
        self._weights = np.linalg.solve(ridge, of_label - self._share)

    @classmethod
    def open(cls, vectors: Vectors, texts: Sequence[str], labels: Sequence[str], path: Path) -> "TextIndex":
        """Read the vectors from `path` if it holds those of just these texts and this encoder; else make and keep them.

        Blocks: 600 messages take about a second and a half to make on two cores, and some milliseconds to read. A file
        that cannot be kept is made again by the next process.
        """
        return cls(vectors, kept_rows(vectors, texts, path), labels)

    def nearness(self, message: str) -> Vector:
        """Of a message to each text, in their order: likeness, -1..1, and the label's part, 0..LABEL_WEIGHT."""
        likeness = self._likeness(self._vectors.of_any(message))
        labels = np.clip(likeness @ self._weights + self._share, 0, 1)
        found: Vector = likeness + LABEL_WEIGHT * labels[self._label]
        return found

    def _likeness(self, other: Vector) -> Vector:
        """Mean cosine over layers: each layer's part of a vector has the length 1."""
        found: Vector = other @ self._rows.T * (self._vectors.width / self._rows.shape[1])
        return found


def kept_rows(vectors: Vectors, texts: Sequence[str], path: Path) -> Vector:
    """Return `Vectors.of_many`, from `path` if that holds those of these texts and this encoder; else kept there."""
    key = _key(vectors, texts)
    rows = _kept(path, key)
    if rows is None:
        rows = vectors.of_many(texts)
        _keep(path, key, rows)
    return rows


def embedded_vectors(embedded: Path, scorer: Vectors | None = None) -> Vectors:
    """The vectors for an index: of the embedded encoder in the folder `embedded` whatever head is in use, so that one
    message has the same neighbours everywhere. Those of a scorer will do if they are the same. Raises ScorerError."""
    if scorer is not None and scorer.source == (EMBEDDED_SHA256, *LAYERS):
        return scorer
    return Vectors.load(Encoder.load(embedded, LAYERS, sha256=EMBEDDED_SHA256), embedded, LAYERS)


def _key(vectors: Vectors, texts: Sequence[str]) -> str:
    """64 hex digits over all that the rows depend on."""
    return hashlib.sha256(json.dumps([FORMAT, vectors.source, list(texts)]).encode("ascii")).hexdigest()


def _kept(path: Path, key: str) -> Vector | None:
    """The rows in a file; None if there is none, or it is of other texts, or damaged."""
    try:
        # Opened here: of a damaged file numpy would leave its own handle open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return held["rows"].astype(np.float32) if str(held["key"]) == key else None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _keep(path: Path, key: str, rows: Vector) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, key=np.array(key), rows=rows.astype(np.float16))
            os.replace(part, path)  # at once: another process may be reading
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        log.warning("vectors of texts cannot be kept in %s: %s", path.parent, error.strerror)
