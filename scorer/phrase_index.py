"""The likeness of a text to each of many phrases."""

import threading
from collections.abc import Callable, Sequence
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


class LazyPhraseIndex:
    """An index that is made when it is first asked for. Threads may share it."""

    def __init__(self, vectors: Callable[[], Vectors], phrases: Sequence[str], path: Path) -> None:
        """`vectors` gives those of the encoder; the rest is as of PhraseIndex."""
        self._open, self._phrases, self._path = vectors, phrases, path
        self._making = threading.Lock()
        self._index: PhraseIndex | None = None

    def get(self) -> PhraseIndex:
        """Return the index; the first call blocks while it is made. Raises ScorerError if the encoder cannot be
        opened."""
        with self._making:  # whoever comes meanwhile waits for it, and does not read the phrases again
            if self._index is None:
                self._index = PhraseIndex(self._open(), self._phrases, self._path)
            return self._index
