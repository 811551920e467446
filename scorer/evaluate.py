"""Figures of the default head: held-out error beside baselines, and what the components follow outside their own
labels.

Every figure is over five folds grouped by seeker post or conversation, fold k trained with seed k; "x ± y" is mean and
standard deviation over the folds. Nothing here is measured on rows that the same network was trained on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scorer.data import FACETS, FOLDS, Table, shared_examples, tabulate
from scorer.features import Features
from scorer.make import Tell, cross_fit, default_layers, features_of, row_weights
from scorer.measures import auc, mse, spearman
from scorer.mixing import EPITOME_FACET, fit_mixing
from scorer.paper import paper_head
from scorer.records import COMPONENTS
from scorer.train import Recipe, folds, one_thread, prepare

Floats = np.ndarray[Any, np.dtype[Any]]
Rows = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table: a name and its cells."""

    name: str
    cells: dict[str, str]


@one_thread()
def evaluate(shared: Path, encoder_folder: Path, cache: Path | None, tell: Tell) -> str:
    """All tables, as Markdown."""
    table = tabulate(shared_examples(shared))
    layers, recipe = default_layers(encoder_folder), Recipe()
    features, _ = features_of(table, encoder_folder, layers, cache, tell)
    data = prepare(features, recipe)
    facets, parts = cross_fit(data, table, recipe, row_weights(table), tell)
    mixed = np.zeros((len(facets), len(COMPONENTS)))
    for test in parts:  # the mixing of a fold sees neither its replies nor its facets
        mixing, offset = fit_mixing(facets, table, np.setdiff1d(np.arange(len(facets)), test))
        mixed[test] = np.clip(facets[test] @ mixing.T + offset, 0, 1)
    sections = [
        (
            "EPITOME, by its own definitions (level 0, 1, 2 read as 1, 2, 3)",
            epitome_rows(table, features, facets, parts, len(layers)),
        ),
        (
            "EPITOME, the product's components against those labels",
            _against(table, mixed, "epitome", [EPITOME_FACET[name] for name in COMPONENTS]),
        ),
        ("The project's own set, rated on the rubric", component_rows(table, mixed, "project")),
        ("What each component follows elsewhere (AUC; 0.5 is chance)", elsewhere_rows(table, facets, mixed)),
        ("The project's own set by style: rated / predicted (1..3)", style_rows(table, mixed)),
    ]
    return "\n".join(f"### {title}\n\n{markdown(lines)}\n" for title, lines in sections)


def epitome_rows(table: Table, features: Features, facets: Floats, parts: Sequence[Rows], layers: int) -> list[Line]:
    """Baselines and the head's facets on EPITOME's three mechanisms."""
    names = [EPITOME_FACET[name] for name in COMPONENTS]
    labels = 2 * table.targets[:, [FACETS.index(name) for name in names]]
    usable = table.sources == "epitome"
    tests = [test[usable[test]] for test in parts]
    lengths = np.log1p([len(text) for text in table.texts])
    first = features.states[features.starts[:-1]].astype(np.float32)
    first = first[:, first.shape[1] // layers * (layers - 1) :]  # [CLS] of the last layer
    predictions: dict[str, Callable[[Rows, Rows, int], Floats]] = {
        "predict the mean": lambda train, test, _: np.tile(labels[train].mean(0), (len(test), 1)),
        "length only": lambda train, test, _: _line(lengths[train], labels[train], lengths[test]),
        "the paper's head on [CLS]": lambda train, test, seed: paper_head(
            first[train], labels[train], first[test], seed
        ),
        "this head's facets": lambda _, test, __: 2 * facets[test][:, [FACETS.index(name) for name in names]],
    }
    lines = []
    for title, predict in predictions.items():
        outcomes = []
        for seed, test in enumerate(tests):
            train = np.setdiff1d(np.where(usable)[0], test)
            outcomes.append((predict(train, test, seed), labels[test], labels[train].mean(0)))
        lines.append(
            _line_of(
                title, [f"{name} ({component})" for name, component in zip(names, COMPONENTS, strict=True)], outcomes
            )
        )
    return lines


def component_rows(table: Table, held_out: Floats, source: str | None = None) -> list[Line]:
    """Error on labelled components (of one source), with predicting the mean beside it. `held_out` is rows x 3,
    0..1."""
    facet_names = FACETS if table.targets.shape[1] == len(FACETS) else COMPONENTS
    labels = 2 * table.targets[:, [facet_names.index(name) for name in COMPONENTS]]
    usable = np.ones(len(labels), bool) if source is None else table.sources == source
    outcomes, means = [], []
    for test in folds(list(table.groups), FOLDS):
        test = test[usable[test]]
        train = np.setdiff1d(np.where(usable)[0], test)
        mean = np.nanmean(labels[train], axis=0)
        outcomes.append((2 * np.clip(held_out[test], 0, 1), labels[test], mean))
        means.append((np.tile(mean, (len(test), 1)), labels[test], mean))
    return [_line_of("predict the mean", list(COMPONENTS), means), _line_of("this head", list(COMPONENTS), outcomes)]


def elsewhere_rows(table: Table, facets: Floats, mixed: Floats) -> list[Line]:
    """Whether a facet and a component find what another source labels, by AUC."""
    checks = [
        ("reflection", "esconv", "cognitive"),
        ("reflection", "annomi", "cognitive"),
        ("self_talk", "esconv", "cognitive"),
        ("affirmation", "esconv", "emotional"),
        ("advice", "esconv", "behavioral"),
        ("advice", "annomi", "behavioral"),
        ("exploration", "epitome", "behavioral"),
        ("harm", "project", "emotional"),
    ]
    lines = []
    for facet, source, component in checks:
        column = FACETS.index(facet)
        cells: dict[str, list[float]] = {"its facet": [], component: []}
        for test in folds(list(table.groups), FOLDS):
            test = test[(table.sources[test] == source) & ~np.isnan(table.targets[test, column])]
            positive = table.targets[test, column] > 0.5
            cells["its facet"].append(auc(facets[test, column], positive))
            cells[component].append(auc(mixed[test, COMPONENTS.index(component)], positive))
        shown = {"its facet": _spread(cells["its facet"]), "the component": f"{component} {_spread(cells[component])}"}
        lines.append(Line(f"{facet} in {source}", shown))
    return lines


def style_rows(table: Table, mixed: Floats) -> list[Line]:
    """Mean rating and mean prediction of each style in the project's own set."""
    styles = np.array([example.style for example in table.examples])
    lines = []
    for style in sorted(set(styles) - {""}):
        rows = styles == style
        cells = {"replies": str(int(rows.sum()))}
        for index, name in enumerate(COMPONENTS):
            rated = 1 + 2 * float(table.targets[rows, FACETS.index(name)].mean())
            cells[name] = f"{rated:.2f} / {1 + 2 * float(mixed[rows, index].mean()):.2f}"
        lines.append(Line(style, cells))
    return lines


def markdown(lines: Sequence[Line]) -> str:
    """A Markdown table of lines that share their columns."""
    columns = list(lines[0].cells)
    head = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join([*head, *(f"| {line.name} | " + " | ".join(line.cells.values()) + " |" for line in lines)])


def _against(table: Table, mixed: Floats, source: str, names: Sequence[str]) -> list[Line]:
    labels = 2 * table.targets[:, [FACETS.index(name) for name in names]]
    outcomes = []
    for test in folds(list(table.groups), FOLDS):
        usable = table.sources == source
        test = test[usable[test]]
        outcomes.append((2 * mixed[test], labels[test], labels[np.setdiff1d(np.where(usable)[0], test)].mean(0)))
    columns = [f"{component} on {name}" for component, name in zip(COMPONENTS, names, strict=True)]
    return [_line_of("this head's components", columns, outcomes)]


def _line_of(title: str, columns: Sequence[str], outcomes: Sequence[tuple[Floats, Floats, Floats]]) -> Line:
    """MSE, Spearman and skill (1 - MSE / MSE of the training mean) for each column and for Empathy, the mean of the
    columns.

    `outcomes` holds (predictions, labels, training means) of each fold, on any scale of width 2.
    """
    cells = {}
    for index, column in enumerate(columns):
        errors, orders, skills = [], [], []
        for predicted, labels, mean in outcomes:
            known = ~np.isnan(labels[:, index])
            if not known.any():
                continue
            errors.append(mse(predicted[known, index], labels[known, index]))
            orders.append(spearman(predicted[known, index], labels[known, index]))
            constant = mse(np.full(int(known.sum()), mean[index]), labels[known, index])
            skills.append(1 - errors[-1] / constant if constant else 0.0)
        cells[column] = f"{_spread(errors)}, rho {np.mean(orders):.2f}, skill {np.mean(skills):.2f}"
    empathy = []
    for predicted, labels, _ in outcomes:
        whole = ~np.isnan(labels).any(axis=1)
        if not whole.any():  # in small sets a fold may have no wholly labelled reply
            continue
        empathy.append(
            (
                mse(predicted[whole].mean(1), labels[whole].mean(1)),
                spearman(predicted[whole].mean(1), labels[whole].mean(1)),
            )
        )
    errors = [error for error, _ in empathy]
    cells["Empathy"] = f"{_spread(errors)}, rho {np.mean([order for _, order in empathy]):.2f}"
    return Line(title, cells)


def _line(x: Floats, y: Floats, new: Floats) -> Floats:
    design = np.column_stack([x, np.ones(len(x))])
    slope, *_ = np.linalg.lstsq(design, y, rcond=None)
    result: Floats = np.column_stack([new, np.ones(len(new))]) @ slope
    return result


def _spread(values: Sequence[float]) -> str:
    known = [value for value in values if not np.isnan(value)]  # a small fold may lack one kind
    return f"{np.mean(known):.3f} ± {np.std(known):.3f}" if known else "too few"
