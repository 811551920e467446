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

BATCH = 32
"""Texts that are read together."""

Vector = np.ndarray[Any, np.dtype[np.float32]]
"""float32: the directions in the layers that the head reads, then the one in the top layer, each of the encoder's width
and of length 1."""


class Vectors:
    """Sentence vectors by an encoder that gives lower layers. Threads may share it."""

    def __init__(self, encoder: Encoder, upper: Session | None, layers: Sequence[float]) -> None:
        """`layers` are those that the encoder gives; `upper` goes on from the highest, None if that is the top."""
        width, at = encoder.width // len(layers), list(layers).index(max(layers))
        self._encoder, self._upper, self._place = encoder, upper, slice(at * width, (at + 1) * width)
        self.source = (encoder.sha256, *map(float, layers))
        """The encoder's sha256 and the layers: vectors of one source can be compared."""
        self.width = width
        """Of one layer's direction."""
        self._kept = lru_cache(maxsize=KEPT)(self._read)

    @classmethod
    def load(cls, encoder: Encoder, folder: Path, layers: Sequence[float], *, threads: int = 1) -> "Vectors":
        """For an encoder that was opened from `folder` with `layers`. Raises ScorerError for a damaged folder."""
        config = read_config(folder)
        top, highest = int(config["num_hidden_layers"]), max(layers)
        upper = None if highest == top else open_graph(folder, encoder.sha256, [top], highest, threads=threads)
        return cls(encoder, upper, layers)

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

    def of_any(self, message: str) -> Vector:
        """Of a message as a person wrote it, also of one that says little or cannot be read: then of its bare words."""
        known = self.of_message(message)
        return self.of_text(readable(message)) if known is None else known

    def of_many(self, messages: Sequence[str]) -> Vector:
        """`of_any` of each, messages x numbers. Texts of one length are read together, so the last digits differ."""
        ids = [self._encoder.ids(readable(message)) for message in messages]
        by_length: dict[int, list[int]] = {}
        for place, one in enumerate(ids):
            by_length.setdefault(len(one), []).append(place)
        rows: dict[int, Vector] = {}
        for count, places in by_length.items():
            if not self._encoder.fits_window(count):
                rows |= {place: self.of_states(self._encoder.states(ids[place]), count) for place in places}
                continue
            for begin in range(0, len(places), BATCH):
                batch = places[begin : begin + BATCH]
                rows |= zip(
                    batch, self._pooled(self._encoder.states_of_many([ids[place] for place in batch])), strict=True
                )
        found: Vector = np.stack([rows[place] for place in range(len(messages))])
        return found

    def of_states(self, states: States, count: int) -> Vector:
        """Of a text of `count` tokens whose states the encoder has given."""
        below = states[:, self._place]
        if self._upper is None:
            top = below.sum(axis=0)
        else:
            top = np.zeros(below.shape[1], np.float32)
            for rows in self._encoder.windows(count):
                top += self._upper.run(["states"], {"below": below[None, rows]})[0][0].sum(axis=0)
        vector: Vector = self._directions(states.sum(axis=0)[None], top[None])[0]
        return vector

    def _pooled(self, states: States) -> Vector:
        """Of texts of one length whose states were read together."""
        below = states[:, :, self._place]
        top = below if self._upper is None else self._upper.run(["states"], {"below": below})[0]
        return self._directions(states.sum(axis=1), top.sum(axis=1))

    def _directions(self, sums: States, top: States) -> Vector:
        """Sums over tokens, texts x numbers, as directions."""
        by_layer = np.concatenate([sums, top], axis=1).reshape(len(sums), -1, top.shape[1])
        lengths = np.maximum(np.linalg.norm(by_layer, axis=2, keepdims=True), 1e-6)
        vectors: Vector = (by_layer / lengths).reshape(len(sums), -1)
        return vectors


def readable(message: str) -> str:
    """What `heard.scorer.text.read` makes of a message, or where that is nothing its own words."""
    return read(message[:LONGEST]).text or message[:LONGEST].strip()
