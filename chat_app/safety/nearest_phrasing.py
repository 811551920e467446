"""The phrasing that some words are nearest to, by the frozen encoder's sentence vectors, and by how much it leads."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from heard.scorer.phrase_index import LazyPhraseIndex


class Nearest(NamedTuple):
    """What some words are nearest to."""

    name: str
    """What the phrasing stands for."""
    likeness: float
    """Cosine, -1..1, to the nearest phrasing."""
    ahead: float
    """By how much they are nearer to that than to any message that only looks alike."""


class NearestPhrasing:
    """Phrasings by what they stand for, beside messages that only look alike. Blocking; threads may share it."""

    def __init__(
        self,
        phrasings: Mapping[str, str],
        others: Iterable[str],
        make_index: Callable[[list[str]], LazyPhraseIndex],
    ) -> None:
        """`phrasings` maps each to what it stands for. The index is made for the first words, or by `prepare`."""
        self._names = list(phrasings.values())
        self._index = make_index([*phrasings, *sorted({*others} - phrasings.keys())])

    def prepare(self) -> None:
        """Make the index. Raises ScorerError if the encoder cannot be opened."""
        self._index.get()

    def nearest(self, words: str) -> Nearest:
        """Return what some words are nearest to. Raises ScorerError."""
        likeness = self._index.get().likeness(words)
        of_phrasings, of_others = likeness[: len(self._names)], likeness[len(self._names) :]
        nearest = max(of_phrasings)
        return Nearest(self._names[of_phrasings.index(nearest)], nearest, nearest - max(of_others, default=-1.0))
