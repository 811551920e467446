"""Sentence vectors: a whole text as one direction in each of several layers of the encoder.

The mean of a layer's token states, with the length one; the top layer's is how sentence encoders are trained to be read
(Reimers & Gurevych 2019, section 3). The head reads lower layers; the graph here goes on from the highest of them, so a
reply that has been read for its score costs only the layers above.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from heard.scorer.encoder import Encoder, Session, States, open_graph
from heard.scorer.encoder_files import read_config
from heard.scorer.text import read

LONGEST = 2_000
"""Characters of a message that are read. What it is about has been said by then, and the rest would hold up the score.
"""
FEWEST_WORDS = 3
"""Of a message that a reply can miss: nothing is off the topic of "thanks"."""
KEPT = 64
"""Messages whose vectors are kept: all drafts of a turn answer the same one, and the next turn looks back at it."""

Vector = np.ndarray[Any, np.dtype[np.float32]]
"""float32: the directions in the layers that the head reads, then the one in the top layer, each of the encoder's width
and of length 1."""


class Vectors:
    """Sentence vectors by an encoder that gives lower layers. Threads may share it."""

    def __init__(self, encoder: Encoder, upper: Session | None, place: slice) -> None:
        """`upper` goes on from the layer whose states lie at `place` in the encoder's; None if that is the top."""
        self._encoder, self._upper, self._place = encoder, upper, place
        self.width = place.stop - place.start
        """Of one layer's direction."""
        self._kept = lru_cache(maxsize=KEPT)(self._read)

    @classmethod
    def load(cls, encoder: Encoder, folder: Path, layers: Sequence[float], *, threads: int = 1) -> "Vectors":
        """For an encoder that was opened from `folder` with `layers`. Raises ScorerError for a damaged folder."""
        config = read_config(folder)
        top, width, highest = int(config["num_hidden_layers"]), int(config["hidden_size"]), max(layers)
        at = list(layers).index(highest)
        upper = None if highest == top else open_graph(folder, encoder.sha256, [top], highest, threads=threads)
        return cls(encoder, upper, slice(at * width, (at + 1) * width))

    def of_message(self, message: str) -> Vector | None:
        """Of a message as a person wrote it; None for one of too few words, or that cannot be read (not English)."""
        return self._kept(message[:LONGEST])

    def _read(self, message: str) -> Vector | None:
        text = read(message).text if len(message.split()) >= FEWEST_WORDS else ""
        return self.of_text(text) if text else None

    def of_text(self, text: str) -> Vector:
        """Of a text as `heard.scorer.text.read` gives it."""
        ids = self._encoder.ids(text)
        return self.of_states(self._encoder.states(ids), len(ids))

    @property
    def sha256(self) -> str:
        """Of the encoder's weights, 64 hex digits."""
        return self._encoder.sha256

    def top_of_text(self, text: str) -> Vector:
        """The direction in the top layer alone, of length 1, of any text."""
        return self.of_text(text)[-self.width :]

    def of_states(self, states: States, count: int) -> Vector:
        """Of a text of `count` tokens whose states the encoder has given."""
        below = states[:, self._place]
        if self._upper is None:
            top = below.sum(axis=0)
        else:
            top = np.zeros(below.shape[1], np.float32)
            for rows in self._encoder.windows(count):
                top += self._upper.run(["states"], {"below": below[None, rows]})[0][0].sum(axis=0)
        by_layer = np.concatenate([states.sum(axis=0), top]).reshape(-1, len(top))
        vector: Vector = (by_layer / np.maximum(np.linalg.norm(by_layer, axis=1, keepdims=True), 1e-6)).ravel()
        return vector
