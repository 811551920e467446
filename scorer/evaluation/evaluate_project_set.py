"""Figures on the project's own set: the test part, the pairs, the two ratings, the intervals.

The test part's messages were in no training and no choice. Its figures are of five networks, one a seed, each trained
on everything else; "x ± y" is mean and standard deviation over them, a bracket a 95% bootstrap interval over replies
(scores averaged over the networks; `scorer/evaluation/bootstrap.py`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from heard.scorer.evaluation.bootstrap import interval_text
from heard.scorer.evaluation.metrics import mse, spearman
from heard.scorer.head import CONFIDENCE
from heard.scorer.records import COMPONENTS
from heard.scorer.tables import Line, spread
from heard.scorer.training.data import Table, pairs, project_ratings
from heard.scorer.training.intervals import coverage
from heard.scorer.training.train_relevance import Judge

Floats = np.ndarray[Any, np.dtype[Any]]


def part_rows(table: Table, runs: Sequence[Floats], labels: Floats) -> list[Line]:
    """Error and rank correlation on the test part. `runs` holds components of all rows, 0..1, one array a seed."""
    test = table.tested
    rated = 2 * labels[test]
    mean = 2 * labels[table.trained][table.sources[table.trained] == "project"].mean(axis=0)
    cells, constant = {}, {}
    for index, name in enumerate((*COMPONENTS, "Empathy")):
        truth = _column(rated, index)
        found = [_column(2 * run[test], index) for run in runs]
        orders = [spearman(run, truth) for run in found]
        mean_run = [(np.mean(found, axis=0), truth)]
        error = spread([mse(run, truth) for run in found]) + interval_text(mean_run, mse)
        cells[name] = f"{error}, rho {spread(orders)}{interval_text(mean_run, spearman)}"
        constant[name] = f"{mse(np.full(len(truth), _column(mean[None], index)[0]), truth):.3f}"
    return [Line("predict the mean", constant), Line("this head", cells)]


def interval_rows(table: Table, runs: Sequence[Floats], labels: Floats, widths: list[float]) -> list[Line]:
    """Half widths on 1..3, and the share of the test part's ratings that lie within."""
    test = table.tested
    shares = np.array([coverage(1 + 2 * run[test], 1 + 2 * labels[test], widths) for run in runs])
    names = (*COMPONENTS, "Empathy")
    return [
        Line("half width", {name: f"{width:.2f}" for name, width in zip(names, widths, strict=True)}),
        Line(f"within, of {CONFIDENCE:.0%} meant", {n: spread(list(shares[:, i])) for i, n in enumerate(names)}),
    ]


def rating_rows() -> list[Line]:
    """How far the two ratings agree: quadratically weighted kappa, and mean squared difference."""
    ratings = project_ratings()
    kappa, apart = {}, {}
    for name in COMPONENTS:
        first, second = (ratings[name] * 2).astype(int).T
        kappa[name] = f"{cohen_kappa_score(first, second, weights='quadratic'):.3f}"
        apart[name] = f"{mse(*ratings[name].T):.3f}"
    return [Line("weighted kappa", kappa), Line("mean squared difference", apart)]


def pair_rows(judge: Judge, better: Sequence[Floats], worse: Sequence[Floats]) -> list[Line]:
    """Share of the pairs in which the better reply gets the higher Empathy; an array of components a seed each."""
    rows = pairs()
    factor = {key: [judge.kept(row["seeker"], row[key]) for row in rows] for key in ("better", "worse")}
    right = np.array(
        [a.mean(1) * factor["better"] > b.mean(1) * factor["worse"] for a, b in zip(better, worse, strict=True)]
    )
    kinds = np.array([row["kind"] for row in rows])
    lines = [Line("all", _share(right, np.ones(len(kinds), bool)))]
    return lines + [Line(kind, _share(right, kinds == kind)) for kind in sorted(set(kinds))]


def _share(right: Floats, rows: Floats) -> dict[str, str]:
    mean_run = right[:, rows].mean(axis=0)
    share = spread(list(right[:, rows].mean(axis=1))) + interval_text(
        [(mean_run, mean_run)], lambda run, _: float(run.mean())
    )
    return {"pairs": str(int(rows.sum())), "right": share}


def _column(values: Floats, column: int) -> Floats:
    result: Floats = values.mean(axis=1) if column == len(COMPONENTS) else values[:, column]
    return result
