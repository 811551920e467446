"""The covariates of a ballot as features of its answers, for the conditional logit of `choice_rows.py`."""

from collections.abc import Collection

import numpy as np

from heard.chat_app.results.choice_rows import Array, Features, Fit, fit, rows_of
from heard.chat_app.results.kept_rows import KeptRows
from heard.db.answer_words import AnswerWords
from heard.db.vote_reads import VoteRows

COVARIATES = ("position", "length", "time")
SHORTEST_SECONDS = 0.5
"""Less time than this counts as this, so that its logarithm is no outlier."""


class Design:
    """N votes on ballots of up to K answers of S sources, with features of their answers."""

    def __init__(self, kept: KeptRows, words: Array) -> None:
        """`words` are those of the answers, N x K. Every vote compares two sources or more."""
        self.kept, self._words = kept, words
        used = [kept.cells[number] for number in np.unique(kept.cell)]
        self.sources = sorted({one.sources[place - 1] for one in used for place in one.votable})
        places = words.shape[1]
        self._rows = rows_of(kept.cells, kept.cell, places)
        index = {name: number for number, name in enumerate(self.sources)}
        # A place without a votable answer has the last row of `_of_source`, which is 0.
        self._source = np.full((len(kept.cells), places), len(index))
        for number in np.unique(kept.cell).tolist():
            for place in kept.cells[number].votable:
                self._source[number, place - 1] = index[kept.cells[number].sources[place - 1]]
        self._of_source = np.vstack([contrasts(len(index)), np.zeros(len(index) - 1)])
        votable = self._source[kept.cell] < len(index)
        seen = np.flatnonzero(votable.any(axis=0))
        self._of_place = np.zeros((places, max(len(seen) - 1, 0)))
        self._of_place[seen] = contrasts(len(seen))
        logs = np.log2(np.maximum(words, 1.0))
        self._length = np.where(votable, logs - logs[votable].mean(), 0.0)
        time = np.log2(np.maximum(kept.seconds, SHORTEST_SECONDS))
        self._time = time - time.mean()

    def fit(self, names: Collection[str]) -> Fit | str:
        """Return the fit with some of COVARIATES, or why there is none (`choice_rows.fit`)."""
        features = self._features(names)
        size = features(np.zeros(1, dtype=int), np.zeros(1, dtype=bool)).shape[2]
        return fit(self._rows, features, size, len(self.kept.cell))

    def _features(self, names: Collection[str]) -> Features:
        with_least = bool(self._rows.worst.any())

        def features(vote: Array, worst: Array) -> Array:
            sign = np.where(worst, -1.0, 1.0)[:, None, None]
            source = sign * self._of_source[self._source[self.kept.cell[vote]]]
            parts = [source]
            if "time" in names:
                parts.append(source * self._time[vote][:, None, None])
            if "length" in names:
                parts.append(sign * self._length[vote][:, :, None])
            if "position" in names:
                parts.append(self._of_place[None] * ~worst[:, None, None])
                if with_least:
                    parts.append(self._of_place[None] * worst[:, None, None])
            return np.concatenate(parts, axis=2)

        return features

    def strengths(self, found: Fit) -> tuple[Array, Array]:
        """Return the S strengths, and the influence of each vote on them, N x S."""
        return self._by_source(found, 0)

    def by_time(self, found: Fit) -> tuple[Array, Array]:
        """Return the same of what a doubling of the time adds to each strength, of a fit with time."""
        return self._by_source(found, len(self.sources) - 1)

    def length(self, found: Fit, *, with_time: bool) -> tuple[Array, Array]:
        """Return the effect of a doubling of the words, of a fit with length."""
        at = (len(self.sources) - 1) * (2 if with_time else 1)
        return found.parameters[at : at + 1], found.influence[:, at : at + 1]

    def mean_words(self, source: str) -> float | None:
        """Return the mean words of a source's votable answers over the ballots; None if none has any."""
        words = self._words[self._source[self.kept.cell] == self.sources.index(source)]
        return float(words.mean()) if words.any() else None

    def _by_source(self, found: Fit, start: int) -> tuple[Array, Array]:
        part = slice(start, start + len(self.sources) - 1)
        basis = self._of_source[:-1]
        return basis @ found.parameters[part], found.influence[:, part] @ basis.T


def contrasts(size: int) -> Array:
    """Return an orthonormal basis of what has the mean 0, `size` x (`size` - 1)."""
    result: Array = np.linalg.qr(np.eye(size) - 1 / size)[0][:, : size - 1]
    return result


def words_of(kept: KeptRows, rows: VoteRows, words: AnswerWords) -> tuple[Array, Array]:
    """Return the words of each vote's answers, N x K (0 for none), and whether those of all votable ones are known."""
    places = max((len(kept.cells[number].sources) for number in np.unique(kept.cell)), default=0)
    length, known = np.zeros((len(kept.cell), places)), np.ones(len(kept.cell), dtype=bool)
    seen: dict[tuple[int, int], tuple[list[float], bool]] = {}
    columns = (kept.cell.tolist(), kept.item.tolist(), kept.row.tolist())
    for number, (cell, item, row) in enumerate(zip(*columns, strict=True)):
        key = (cell, item if item >= 0 else -1 - row)
        if key not in seen:
            one = kept.cells[cell]
            of, known_words = (rows.items[item], words.of_items) if item >= 0 else (rows.ballots[row], words.of_ballots)
            found = [known_words.get((of, source)) for source in one.sources]
            whole = all(found[place - 1] is not None for place in one.votable)
            seen[key] = [float(value or 0) for value in found], whole
        values, known[number] = seen[key]
        length[number, : len(values)] = values
    return length, known
