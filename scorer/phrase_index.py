"""The likeness of a text to each of many phrases."""

from collections.abc import Sequence
from pathlib import Path

from heard.scorer.text_index import kept_rows
from heard.scorer.vectors import Vectors, readable


class PhraseIndex:
    """Phrases with their vectors in the encoder's top layer. Immutable, so threads may share it."""

    def __init__(self, vectors: Vectors, phrases: Sequence[str], path: Path) -> None:
        """Read the phrases, or take their vectors from the file `path`, where they are kept for the next process.

        Blocks: 700 phrases take about two seconds to read, and some milliseconds from the file.
        """
        self._vectors = vectors
        self._rows = kept_rows(vectors, phrases, path)[:, -vectors.width :]

    def likeness(self, text: str) -> list[float]:
        """Return the cosine, -1..1, of a text and each phrase, in their order."""
        vector = self._vectors.of_text(readable(text))[-self._vectors.width :]
        return [float(value) for value in self._rows @ vector]
