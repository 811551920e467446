"""Measures of agreement between predictions and labels, each against a reference a person can recompute."""

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[Any]]


def mse(predicted: Floats, labels: Floats) -> float:
    """Mean squared error."""
    return float(np.mean((predicted - labels) ** 2))


def spearman(predicted: Floats, labels: Floats) -> float:
    """Rank correlation, -1..1, ties by their mean rank; 0 where one side is constant."""
    a, b = ranks(predicted), ranks(labels)
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


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
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    result: Floats = (last - (counts - 1) / 2)[inverse]
    return result
