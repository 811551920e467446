"""Rows of a card's tables: a head's error over folds, beside predicting the mean."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from heard.scorer.evaluation.bootstrap import interval_text
from heard.scorer.evaluation.metrics import mse, spearman
from heard.scorer.records import COMPONENTS
from heard.scorer.tables import Line, spread
from heard.scorer.training.data import Table
from heard.scorer.training.train_head import component_labels, parts_of

Floats = np.ndarray[Any, np.dtype[Any]]
Rows = np.ndarray[Any, np.dtype[np.int64]]


def component_rows(
    table: Table, held_out: Floats, source: str | None = None, parts: Sequence[Rows] | None = None
) -> list[Line]:
    """Error on labelled components (of one source), with predicting the mean beside it. `held_out` is rows x 3, 0..1;
    `parts` are the rows of each fold."""
    labels = 2 * component_labels(table)
    usable = np.ones(len(labels), bool) if source is None else table.sources == source
    outcomes, means = [], []
    for test in parts_of(table) if parts is None else parts:
        test = test[usable[test]]
        train = np.setdiff1d(np.intersect1d(table.trained, np.where(usable)[0]), test)
        mean = np.nanmean(labels[train], axis=0)
        outcomes.append((2 * np.clip(held_out[test], 0, 1), labels[test], mean))
        means.append((np.tile(mean, (len(test), 1)), labels[test], mean))
    return [
        error_line("predict the mean", list(COMPONENTS), means),
        error_line("this head", list(COMPONENTS), outcomes),
    ]


def error_line(title: str, columns: Sequence[str], outcomes: Sequence[tuple[Floats, Floats, Floats]]) -> Line:
    """MSE, Spearman and skill (1 - MSE / MSE of the training mean) for each column and for Empathy, the mean of the
    columns.

    `outcomes` holds (predictions, labels, training means) of each fold, on any scale of width 2.
    """
    cells = {}
    for index, column in enumerate(columns):
        errors, orders, skills, pairs_of = [], [], [], []
        for predicted, labels, mean in outcomes:
            known = ~np.isnan(labels[:, index])
            if not known.any():
                continue
            pairs_of.append((predicted[known, index], labels[known, index]))
            errors.append(mse(predicted[known, index], labels[known, index]))
            orders.append(spearman(predicted[known, index], labels[known, index]))
            constant = mse(np.full(int(known.sum()), mean[index]), labels[known, index])
            skills.append(1 - errors[-1] / constant if constant else 0.0)
        cells[column] = _cell(errors, orders, pairs_of) + f", skill {np.mean(skills):.2f}"
    empathy, whole_of = [], []
    for predicted, labels, _ in outcomes:
        whole = ~np.isnan(labels).any(axis=1)
        if not whole.any():  # in small sets a fold may have no wholly labelled reply
            continue
        whole_of.append((predicted[whole].mean(1), labels[whole].mean(1)))
        empathy.append((mse(*whole_of[-1]), spearman(*whole_of[-1])))
    cells["Empathy"] = _cell([error for error, _ in empathy], [order for _, order in empathy], whole_of)
    return Line(title, cells)


def _cell(errors: Sequence[float], orders: Sequence[float], parts: Sequence[tuple[Floats, Floats]]) -> str:
    return f"{spread(errors)}{interval_text(parts, mse)}, rho {np.mean(orders):.2f}{interval_text(parts, spearman)}"
