"""The phrasing that a clause is nearest to, by the frozen encoder's sentence vectors, and by how much it leads."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from heard.chat_app.conversation.question_text import Clause
from heard.scorer.phrase_index import LazyPhraseIndex, PhraseIndex


class Nearest(NamedTuple):
    """What a clause is nearest to."""

    intent: str
    likeness: float
    """Cosine, -1..1, to the nearest phrasing."""
    ahead: float
    """By how much it is nearer to that than to any message that only looks alike."""


class NearestPhrasing:
    """Phrasings by intent, beside messages that only look alike. Blocking; threads may share it."""

    def __init__(
        self,
        phrasings: Mapping[Clause, str],
        others: Iterable[Clause],
        make_index: Callable[[list[str]], LazyPhraseIndex],
    ) -> None:
        """`phrasings` maps each to its intent. The index is made for the first clause, or by `index`."""
        self._intents = list(phrasings.values())
        self._index = make_index([" ".join(clause) for clause in (*phrasings, *sorted({*others} - phrasings.keys()))])

    def index(self) -> PhraseIndex:
        """Return the index, made at the first call. Raises ScorerError if the encoder cannot be opened."""
        return self._index.get()

    def nearest(self, clause: Clause) -> Nearest:
        """Return what a clause is nearest to. Raises ScorerError."""
        likeness = self.index().likeness(" ".join(clause))
        of_phrasings, of_others = likeness[: len(self._intents)], likeness[len(self._intents) :]
        nearest = max(of_phrasings)
        return Nearest(self._intents[of_phrasings.index(nearest)], nearest, nearest - max(of_others, default=-1.0))
