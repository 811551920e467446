"""Ballots as rows of a conditional logit (McFadden 1974), for covariates that differ from ballot to ballot.

The choices are those of `choices.py`: the most empathetic out of all votable answers, then the least out of the rest;
"about the same" is the mean of all its rankings. There ballots are added up by pattern, which needs features that are
the same wherever a pattern is; here each vote has rows of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heard.db.study_records import Choice, asks_least
from heard.db.vote_reads import Cell

Array = np.ndarray[Any, np.dtype[Any]]
CHUNK = 20_000
"""Rows whose features are in memory at a time."""
ITERATIONS = 50
FARTHEST = 15.0
"""An estimate beyond this many log-odds, or per doubling, is one that grows without end."""


@dataclass(frozen=True, slots=True)
class Rows:
    """R choices of N votes out of K places."""

    vote: Array
    """R numbers of votes."""
    worst: Array
    """R marks: whether it is the least empathetic that is chosen."""
    among: Array
    """R x K marks: the answers to choose from."""
    chosen: Array
    """R x K weights that sum to 1: of the chosen answer, or for a tie of each."""
    weight: Array
    """R weights; those of the least of a tie sum to 1."""


Features = Callable[[Array, Array], Array]
"""Maps R numbers of votes, and whether the least is chosen, to their answers' features: R x K x P."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fit with P parameters on N votes."""

    parameters: Array
    influence: Array
    """N x P: what each vote adds to the error of each parameter, by the inverse of the information."""


def rows_of(cells: Sequence[Cell], cell: Array, places: int) -> Rows:
    """Return the choices of N votes, each with an index into `cells`; only ranked votes and ties have any."""
    order = np.argsort(cell, kind="stable")
    numbers, starts = np.unique(cell[order], return_index=True)
    parts: list[tuple[Array, bool, Array, Array, float]] = []
    for number, votes in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        one = cells[number]
        votable = np.isin(np.arange(1, places + 1), one.votable)
        if one.choice is Choice.RANKED and one.most is not None:
            most = _at(one.most, places)
            parts.append((votes, False, votable, most, 1.0))
            if one.least is not None:
                parts.append((votes, True, votable & ~most, _at(one.least, places), 1.0))
        elif one.choice is Choice.SAME:
            parts.append((votes, False, votable, votable / votable.sum(), 1.0))
            for first in one.votable if asks_least(len(one.votable)) else ():
                rest = votable & ~_at(first, places)
                parts.append((votes, True, rest, rest / rest.sum(), 1 / len(one.votable)))
    sizes = [len(votes) for votes, *_ in parts]

    def spread(values: list[Any]) -> Array:
        return np.repeat(np.array(values), sizes, axis=0)

    return Rows(
        np.concatenate([votes for votes, *_ in parts]),
        spread([part[1] for part in parts]),
        spread([part[2] for part in parts]),
        spread([part[3].astype(float) for part in parts]),
        spread([part[4] for part in parts]),
    )


def _at(position: int, places: int) -> Array:
    result: Array = np.arange(1, places + 1) == position
    return result


def fit(rows: Rows, features: Features, size: int, votes: int) -> Fit | str:
    """Return the fit of maximum likelihood of `size` parameters, by Newton's method; the likelihood is concave.

    If the features leave a parameter open, or its estimate grows without end, the result says which of the two.
    """
    now = np.zeros(size)
    value, gradient, information, _ = _likelihood(rows, features, now, None)
    if np.linalg.matrix_rank(information, hermitian=True) < size:
        return COLLINEAR
    for _ in range(ITERATIONS):
        step = np.linalg.solve(information, gradient)
        length = 1.0
        while True:
            new = _likelihood(rows, features, now + length * step, None)
            if new[0] >= value - 1e-9 * abs(value) or length < 1e-6:
                break
            length /= 2
        now, (value, gradient, information, _) = now + length * step, new
        if np.abs(now).max() > FARTHEST or np.linalg.matrix_rank(information, hermitian=True) < size:
            return ENDLESS
        if np.abs(length * step).max() < 1e-8:
            break
    scores = _likelihood(rows, features, now, votes)[3]
    return Fit(now, scores @ np.linalg.inv(information))


COLLINEAR = "collinear"
"""The votes do not tell the effect of one feature from that of others."""
ENDLESS = "endless"
"""The likelihood has no finite maximum."""


def _likelihood(rows: Rows, features: Features, now: Array, votes: int | None) -> tuple[float, Array, Array, Array]:
    """Return log-likelihood, gradient and information at `now`; with the number of votes also each one's gradient."""
    value, size = 0.0, len(now)
    gradient, information = np.zeros(size), np.zeros((size, size))
    scores = np.zeros((votes or 0, size))
    for start in range(0, len(rows.vote), CHUNK):
        part = slice(start, start + CHUNK)
        x = features(rows.vote[part], rows.worst[part])
        weight, chosen = rows.weight[part], rows.chosen[part]
        utility = np.where(rows.among[part], x @ now, -np.inf)
        top = utility.max(axis=1, keepdims=True)
        power = np.exp(utility - top)
        total = power.sum(axis=1, keepdims=True)
        share = power / total
        value += float(weight @ ((chosen * np.where(rows.among[part], utility, 0.0)).sum(axis=1)
                                 - (top + np.log(total))[:, 0]))  # fmt: skip
        one = np.einsum("rk,rkp->rp", chosen - share, x) * weight[:, None]
        gradient += one.sum(axis=0)
        flat = x.reshape(-1, size)
        means = np.einsum("rk,rkp->rp", share, x)
        information += (flat * (share * weight[:, None]).reshape(-1, 1)).T @ flat - (means * weight[:, None]).T @ means
        if votes is not None:
            np.add.at(scores, rows.vote[part], one)
    return value, gradient, information, scores
