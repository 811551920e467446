"""Ballots as choices: the sufficient statistics of the model in `strengths.py`, and whether it has a finite fit.

Each ranked ballot is two choices (Plackett 1975, Luce 1959; worst after best: Marley & Louviere 2005): the most
empathetic out of all votable answers, then the least empathetic out of the rest. "About the same" is the mean of all
its possible rankings with the same weight, so that each answer wins half of every pair: for two answers the usual way
to count a tie in a Bradley-Terry model (Agresti 2013, 11.6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linprog  # type: ignore[import-untyped]
from scipy.sparse import csr_array  # type: ignore[import-untyped]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

from heard.db.study_records import Choice, asks_least
from heard.db.vote_reads import Cell

Floats = np.ndarray[Any, np.dtype[Any]]
Pattern = tuple[tuple[tuple[str, int], ...], Choice, int | None, int | None]
"""Votable (source, position) pairs, the choice, most and least."""

_SMALL = 1e-7


def pattern_of(cell: Cell) -> Pattern | None:
    """Return the part of a cell that the model uses; None for votes that compare nothing."""
    if cell.choice not in (Choice.RANKED, Choice.SAME) or len(cell.votable) < 2:
        return None
    slots = tuple((cell.sources[place - 1], place) for place in cell.votable)
    return slots, cell.choice, cell.most, cell.least


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of the parameter vector: sources, then positions for most, then positions for least.

    Each part has the mean 0, by an orthonormal basis of its contrasts.
    """

    sources: list[str]
    places: list[int]
    """Positions; empty for a model without position effects."""
    with_least: bool
    basis: Floats
    """Full vector = basis @ free parameters."""

    @classmethod
    def of(cls, sources: list[str], places: list[int], with_least: bool) -> "Layout":
        """Return the layout with no more parts than needed."""
        parts = [len(sources), *([len(places)] if places else []), *([len(places)] if places and with_least else [])]
        basis = np.zeros((sum(parts), sum(part - 1 for part in parts)))
        row = column = 0
        for part in parts:
            contrasts = np.linalg.qr(np.eye(part) - 1 / part)[0][:, : part - 1]
            basis[row : row + part, column : column + part - 1] = contrasts
            row, column = row + part, column + part - 1
        return cls(sources, places, with_least, basis)

    def most(self, slot: tuple[str, int]) -> Floats:
        """Return the features of marking this answer as most empathetic."""
        return self._features(slot, 1.0, 0)

    def least(self, slot: tuple[str, int]) -> Floats:
        """Return the features of marking it as least empathetic, where a strong source has a negative weight."""
        return self._features(slot, -1.0, len(self.places))

    def _features(self, slot: tuple[str, int], sign: float, skip: int) -> Floats:
        full = np.zeros(len(self.basis))
        full[self.sources.index(slot[0])] = sign
        if self.places:
            full[len(self.sources) + skip + self.places.index(slot[1])] = 1.0
        result: Floats = full @ self.basis
        return result


class Choices:
    """The choices of some patterns, for any weights of them. P free parameters, S choice sets.

    The likelihood depends on the weights only through two statistics: the number of each choice set, and the sum of the
    features of the chosen answers.
    """

    def __init__(self, patterns: Sequence[Pattern], layout: Layout) -> None:
        self.layout, self.patterns = layout, patterns
        index = {name: number for number, name in enumerate(layout.sources)}
        vectors: tuple[dict[tuple[str, int], Floats], ...] = ({}, {})
        sets: dict[tuple[bool, tuple[tuple[str, int], ...]], int] = {}
        differences: dict[tuple[Any, ...], int] = {}
        self.chosen = np.zeros((len(patterns), layout.basis.shape[1]))
        uses: list[tuple[int, int, float]] = []
        marks: set[tuple[int, int]] = set()
        rows: list[Floats] = []
        beaten: list[tuple[int, int]] = []

        def vector(worst: bool, slot: tuple[str, int]) -> Floats:
            known = vectors[worst]
            if slot not in known:
                known[slot] = layout.least(slot) if worst else layout.most(slot)
            return known[slot]

        for number, pattern in enumerate(patterns):
            for worst, among, slot, weight in _choices_of(pattern):
                uses.append((number, sets.setdefault((worst, among), len(sets)), weight))
                self.chosen[number] += weight * vector(worst, slot)
                for other in among:
                    if other == slot:
                        continue
                    pair = (other[0], slot[0]) if worst else (slot[0], other[0])
                    # Without positions a difference is that of the two sources alone.
                    key = (worst, slot, other) if layout.places else pair
                    if key not in differences:
                        differences[key] = len(rows)
                        rows.append(vector(worst, slot) - vector(worst, other))
                        beaten.append((index[pair[0]], index[pair[1]]))
                    marks.add((number, differences[key]))
        self.differences = np.array(rows).reshape(-1, layout.basis.shape[1])
        self._beaten = np.array(beaten, dtype=int).reshape(-1, 2)
        self._uses = _sparse(uses, len(patterns), len(sets))
        self._marks = _sparse([(a, b, 1.0) for a, b in marks], len(patterns), len(rows))
        widest = max((len(among) for _, among in sets), default=0)
        self.features = np.zeros((len(sets), widest, layout.basis.shape[1]))
        self.present = np.zeros((len(sets), widest), dtype=bool)
        for (worst, among), place in sets.items():
            for column, slot in enumerate(among):
                self.features[place, column] = vector(worst, slot)
                self.present[place, column] = True

    def totals(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the number of each choice set (S), and the sum of the features of the chosen answers (P)."""
        return self._uses.T @ weights, weights @ self.chosen

    def scores(self, means: Floats) -> Floats:
        """Return the gradient of one vote of each pattern (R x P), given the mean features of each choice set (S x
        P)."""
        result: Floats = self.chosen - self._uses @ means
        return result

    def wins(self, weights: Floats) -> Floats:
        """Return an n x n matrix: whether source i was ever preferred to source j."""
        found = np.zeros((len(self.layout.sources),) * 2, dtype=bool)
        winner, loser = self._beaten[self.seen(weights)].T
        found[winner, loser] = True
        return found

    def seen(self, weights: Floats) -> Floats:
        """Return which of the differences occur."""
        found: Floats = (self._marks.T @ (weights > 0).astype(float)) > 0
        return found

    def has_finite_fit(self, seen: Floats) -> bool:
        """Return whether the likelihood has one finite maximum (Albert & Anderson 1984).

        That is so if there is no direction in which every choice stays as likely or becomes more so, which linear
        programming finds (Konis 2007).
        """
        rows = self.differences[seen]
        size = rows.shape[1]
        if len(rows) == 0 or np.linalg.matrix_rank(rows) < size:
            return False
        found = linprog(
            -rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * size, method="highs"
        )
        return bool(found.success and -found.fun < _SMALL)


def _choices_of(
    pattern: Pattern,
) -> list[tuple[bool, tuple[tuple[str, int], ...], tuple[str, int], float]]:
    """Return (is it a least, choice set, chosen answer, weight) for each choice of a pattern."""
    slots, choice, most, least = pattern
    by_place = {slot[1]: slot for slot in slots}
    if choice is Choice.RANKED and most is not None:
        rankings: list[tuple[int, int | None]] = [(most, least)]
    elif asks_least(len(slots)):
        rankings = list(permutations(by_place, 2))
    else:
        rankings = [(place, None) for place in by_place]
    found = []
    weight = 1 / len(rankings)
    for first, last in rankings:
        found.append((False, slots, by_place[first], weight))
        if last is not None:
            rest = tuple(slot for slot in slots if slot[1] != first)
            found.append((True, rest, by_place[last], weight))
    return found


def _sparse(entries: list[tuple[int, int, float]], rows: int, columns: int) -> Any:
    at = np.array([(a, b) for a, b, _ in entries], dtype=int).reshape(-1, 2)
    values = np.array([value for *_, value in entries], dtype=float)
    return csr_array((values, (at[:, 0], at[:, 1])), shape=(rows, columns))


def why_not_connected(wins: Floats, sources: Sequence[str]) -> str | None:
    """Return why no finite strengths exist (Ford 1957): some sources never lost to the rest, or never met them.

    None if there is a chain of wins from each source to each other one.
    """
    number, group = connected_components(wins.astype(int), directed=True, connection="strong")
    if number <= 1:
        return None
    apart, label = connected_components(wins.astype(int), directed=True, connection="weak")
    if apart > 1:
        first, second = ([name for name, one in zip(sources, label == 0, strict=True) if one is kind]
                         for kind in (np.True_, np.False_))  # fmt: skip
        return f"{_names(first)} and {_names(second)} were never compared, so there is no common scale."
    for one in range(number):
        inside = group == one
        if not wins[np.ix_(~inside, inside)].any():
            winners = [name for name, is_in in zip(sources, inside, strict=True) if is_in]
            return (
                f"{_names(winners)} won every comparison with the other sources, so the difference has no finite "
                "estimate (Ford 1957). More votes may settle it; the shares above hold as they are."
            )
    raise AssertionError("a graph of several strong parts has one that nothing leads into")


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
