"""Measures of agreement between predictions and labels, each against a reference a person can recompute."""

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[Any]]


def mse(predicted: Floats, labels: Floats) -> float:
    """Mean squared error."""
    return float(np.mean((predicted - labels) ** 2))


def spearman(predicted: Floats, labels: Floats) -> float:
    """Rank correlation, -1..1, ties by their mean rank; 0 where one side is constant."""
    middle = (len(labels) + 1) / 2  # the mean of the ranks, whatever ties there are
    a, b = ranks(predicted) - middle, ranks(labels) - middle
    spread = float((a * a).sum()) * float((b * b).sum())
    return float((a * b).sum()) / spread**0.5 if spread else 0.0


def auc(predicted: Floats, positive: Floats) -> float:
    """Chance that a positive is rated above a negative, 0..1, ties as half (Mann & Whitney 1947); NaN with one kind
    only."""
    positive = positive.astype(bool)
    ups, downs = int(positive.sum()), int((~positive).sum())
    if not ups or not downs:
        return float("nan")
    return float((ranks(predicted)[positive].sum() - ups * (ups + 1) / 2) / (ups * downs))


def ranks(values: Floats) -> Floats:
    """Ranks from 1, ties by their mean."""
    order = np.argsort(values)  # not np.unique: it takes three times as long, and bootstraps ask very often
    ordered = values[order]
    ends = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True])))
    result: Floats = np.empty(len(values))
    result[order] = np.repeat((ends[:-1] + ends[1:] + 1) / 2, ends[1:] - ends[:-1])
    return result
