"""Figures of the default head: held-out error beside baselines, and what the components follow outside their own
labels.

Every figure is over five folds grouped by seeker post or conversation, fold k trained with seed k; "x ± y" is mean and
standard deviation over the folds, a bracket a 95% bootstrap interval of that mean over replies
(`scorer/evaluation/bootstrap.py`). Nothing here is measured on rows that the same network was trained on.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heard.scorer.evaluation.bootstrap import interval_text
from heard.scorer.evaluation.evaluate_everyday import (
    anchor_rows,
    distance_rows,
    fault_rows,
    rater_rows,
    register_rows,
    use_rows,
)
from heard.scorer.evaluation.evaluate_project_set import interval_rows, pair_rows, part_rows, rating_rows
from heard.scorer.evaluation.evaluate_relevance import plain_news_rows, public_source_rows, relevance_rows
from heard.scorer.evaluation.evaluate_shipped import disguise_rows, evidence_rows
from heard.scorer.evaluation.fold_errors import component_rows, error_line
from heard.scorer.evaluation.metrics import auc
from heard.scorer.records import COMPONENTS
from heard.scorer.tables import Line, markdown, spread
from heard.scorer.training.data import FACETS, Table, pairs, shared_examples, source_folder, tabulate
from heard.scorer.training.example import Example
from heard.scorer.training.features import Features, OnProgress
from heard.scorer.training.fit_perceived import fit_perceived, held_out, perceived_of
from heard.scorer.training.intervals import half_widths
from heard.scorer.training.linear_probe import probe_levels
from heard.scorer.training.mixing import EPITOME_FACET, fit_mixing
from heard.scorer.training.network import Recipe, fit, one_thread, predict, prepare
from heard.scorer.training.train_head import (
    component_labels,
    cross_fit,
    default_layers,
    features_of,
    product_of,
    row_weights,
)
from heard.scorer.training.train_relevance import Judge

Floats = np.ndarray[Any, np.dtype[Any]]
Rows = np.ndarray[Any, np.dtype[np.int64]]

SEEDS = 5
"""Networks that the test part and the pairs are measured with."""


@one_thread()
def evaluate(shared: Path, encoder_folder: Path, cache: Path | None, on_progress: OnProgress) -> str:
    """All tables, as Markdown."""
    table = tabulate([*shared_examples(shared), *pair_examples()])
    layers, recipe = default_layers(encoder_folder), Recipe()
    features, _ = features_of(table, encoder_folder, layers, cache, on_progress)
    data, weights = prepare(features, recipe), row_weights(table)
    facets, parts = cross_fit(data, table, recipe, weights, on_progress)
    mixed = np.zeros((len(facets), len(COMPONENTS)), np.float32)
    mixed_everyday = np.zeros_like(mixed)
    for test in parts:  # the mixing of a fold sees neither its replies nor its facets
        for found, kind in ((mixed, "both"), (mixed_everyday, "everyday")):
            mixing, offset = fit_mixing(facets, table, np.setdiff1d(table.trained, test), kind)
            found[test] = np.clip(facets[test] @ mixing.T + offset, 0, 1)
    numbers, noted = held_out(facets, mixed, table, parts)
    judge = Judge.train(encoder_folder, layers, on_progress)
    mixed, mixed_everyday = (product_of(table, facets, found, judge) for found in (mixed, mixed_everyday))
    labels = component_labels(table)
    own = np.intersect1d(table.trained, np.where(table.sources == "project")[0])
    widths = half_widths(1 + 2 * mixed[own], 1 + 2 * labels[own])
    mixing, offset = fit_mixing(facets, table, table.trained)
    everyday = fit_perceived(facets, np.clip(facets @ mixing.T + offset, 0, 1), table)
    runs, seen, called = [], [], []
    for seed in range(SEEDS):
        network = fit(data, table.targets, weights, table.trained, recipe, seed)
        found = predict(network, data, np.arange(len(table.texts)))
        heights = np.clip(found @ mixing.T + offset, 0, 1)
        seen.append(found)
        called.append(perceived_of(found, heights, everyday))
        runs.append(product_of(table, found, heights, judge))
        on_progress("training for the test part", seed + 1, SEEDS)
    sides = {key: np.where(table.sources == f"pairs, {key}")[0] for key in ("better", "worse")}
    sections = [
        (
            "EPITOME, by its own definitions (level 0, 1, 2 read as 1, 2, 3)",
            epitome_rows(table, features, facets, parts, layers),
        ),
        (
            "EPITOME, the product's components against those labels",
            _against(table, mixed, parts, "epitome", [EPITOME_FACET[name] for name in COMPONENTS]),
        ),
        (
            "What each component follows elsewhere (AUC; 0.5 is chance)",
            elsewhere_rows(table, facets, mixed, parts),
        ),
        ("Everyday talk, raters held out", rater_rows(table, facets, mixed, mixed_everyday, numbers)),
        ("Everyday talk: use of the scale 1..3", use_rows(table, mixed, numbers)),
        ("Everyday talk: perceived and people's ratings", distance_rows(table, numbers, everyday.perceived[-1])),
        (
            "The own everyday test part, of a writer of its own: perceived",
            anchor_rows(table, called),
        ),
        ("perceived in other registers, by folds", register_rows(table, numbers)),
        ("Faults: share noted", fault_rows(table, seen, facets, noted, everyday)),
        ("The own set's test part: messages in no training and no choice, five seeds", part_rows(table, runs, labels)),
        (
            "Pairs of replies to one message: the better one gets the higher Empathy",
            pair_rows(judge, *([run[rows] for run in runs] for rows in sides.values())),
        ),
        ("Replies that miss their message: share noted, five seeds", relevance_rows(judge)),
        ("Plain news of a few words, and plain replies: share noted, five seeds", plain_news_rows(judge)),
        (
            "Replies of the public sources to their own and to other messages: share noted",
            public_source_rows(judge, table.examples),
        ),
        ("Two ratings of the own set", rating_rows()),
        (
            "Disguises of the test part's replies: mean size of Empathy's change, shipped head",
            disguise_rows(encoder_folder),
        ),
        (
            "Evidence against EPITOME's rationales, by mechanism",
            evidence_rows(source_folder(shared) / "epitome", encoder_folder),
        ),
        ("Intervals, on the test part", interval_rows(table, runs, labels, widths)),
        ("The own set's training part, by folds", component_rows(table, mixed, "project", parts)),
        ("The own set's training part by style: rated / predicted (1..3)", style_rows(table, mixed, own)),
    ]
    return "\n".join(f"### {title}\n\n{markdown(lines)}\n" for title, lines in sections)


def pair_examples() -> Iterator[Example]:
    """Both replies of every pair, kept out of training."""
    for number, row in enumerate(pairs()):
        for key in ("better", "worse"):
            yield Example(f"pairs, {key}", f"pair-{number}", row["seeker"], row[key], test=True)


def epitome_rows(
    table: Table, features: Features, facets: Floats, parts: Sequence[Rows], layers: list[float]
) -> list[Line]:
    """Baselines and the head's facets on EPITOME's three mechanisms."""
    names = [EPITOME_FACET[name] for name in COMPONENTS]
    labels = 2 * table.targets[:, [FACETS.index(name) for name in names]]
    usable = table.sources == "epitome"
    tests = [test[usable[test]] for test in parts]
    lengths = np.log1p([len(text) for text in table.texts])
    first = features.states[features.starts[:-1]].astype(np.float32)
    first = first[:, first.shape[1] // len(layers) * (len(layers) - 1) :]
    top = layers[-1]
    predictions: dict[str, Callable[[Rows, Rows, int], Floats]] = {
        "predict the mean": lambda train, test, _: np.tile(labels[train].mean(0), (len(test), 1)),
        "length only": lambda train, test, _: _line(lengths[train], labels[train], lengths[test]),
        f"a linear head on layer {top:g}'s [CLS]": lambda train, test, seed: probe_levels(
            first[train], labels[train], first[test], seed
        ),
        "this head's facets": lambda _, test, __: 2 * facets[test][:, [FACETS.index(name) for name in names]],
    }
    lines = []
    for title, predicted in predictions.items():
        outcomes = []
        for seed, test in enumerate(tests):
            train = np.setdiff1d(np.where(usable)[0], test)
            outcomes.append((predicted(train, test, seed), labels[test], labels[train].mean(0)))
        lines.append(
            error_line(
                title, [f"{name} ({component})" for name, component in zip(names, COMPONENTS, strict=True)], outcomes
            )
        )
    return lines


def elsewhere_rows(table: Table, facets: Floats, mixed: Floats, parts: Sequence[Rows]) -> list[Line]:
    """Whether a facet and a component find what another source labels, by AUC."""
    lines = []
    for name in ("esconv", "annomi"):
        # Any act of support at all: a question or a suggestion.
        either = [FACETS.index("question"), FACETS.index("advice")]
        found = []
        for test in parts:
            test = test[table.sources[test] == name]
            positive = (np.nan_to_num(table.targets[test][:, either]) > 0.5).any(axis=1)
            found.append((mixed[test, COMPONENTS.index("behavioral")], positive))
        lines.append(
            Line(f"question or advice in {name}", {"its facet": "", "the component": f"behavioral {_auc(found)}"})
        )
    checks = [
        ("reflection", "esconv", "cognitive"),
        ("reflection", "annomi", "cognitive"),
        ("self_talk", "esconv", "cognitive"),
        ("affirmation", "esconv", "emotional"),
        ("advice", "esconv", "behavioral"),
        ("advice", "annomi", "behavioral"),
        ("question", "esconv", "behavioral"),
        ("question", "annomi", "behavioral"),
        ("exploration", "epitome", "behavioral"),
        ("harm", "project", "emotional"),
    ]
    for facet, source, component in checks:
        column = FACETS.index(facet)
        cells: dict[str, list[tuple[Floats, Floats]]] = {"its facet": [], component: []}
        for test in parts:
            test = test[(table.sources[test] == source) & ~np.isnan(table.targets[test, column])]
            positive = table.targets[test, column] > 0.5
            cells["its facet"].append((facets[test, column], positive))
            cells[component].append((mixed[test, COMPONENTS.index(component)], positive))
        both = {"its facet": _auc(cells["its facet"]), "the component": f"{component} {_auc(cells[component])}"}
        lines.append(Line(f"{facet} in {source}", both))
    return lines


def _auc(parts: Sequence[tuple[Floats, Floats]]) -> str:
    return spread([auc(predicted, positive) for predicted, positive in parts]) + interval_text(parts, auc)


def style_rows(table: Table, mixed: Floats, own: Rows) -> list[Line]:
    """Mean rating and mean prediction of each style in these rows of the project's own set."""
    styles = np.array([table.examples[row].style for row in own])
    lines = []
    for style in sorted(set(styles)):
        rows = own[styles == style]
        cells = {"replies": str(len(rows))}
        for index, name in enumerate(COMPONENTS):
            rated = 1 + 2 * float(table.targets[rows, FACETS.index(name)].mean())
            cells[name] = f"{rated:.2f} / {1 + 2 * float(mixed[rows, index].mean()):.2f}"
        lines.append(Line(style, cells))
    return lines


def _against(table: Table, mixed: Floats, parts: Sequence[Rows], source: str, names: Sequence[str]) -> list[Line]:
    labels = 2 * table.targets[:, [FACETS.index(name) for name in names]]
    outcomes = []
    for test in parts:
        usable = table.sources == source
        test = test[usable[test]]
        outcomes.append((2 * mixed[test], labels[test], labels[np.setdiff1d(np.where(usable)[0], test)].mean(0)))
    columns = [f"{component} on {name}" for component, name in zip(COMPONENTS, names, strict=True)]
    return [error_line("this head's components", columns, outcomes)]


def _line(x: Floats, y: Floats, new: Floats) -> Floats:
    design = np.column_stack([x, np.ones(len(x))])
    slope, *_ = np.linalg.lstsq(design, y, rcond=None)
    result: Floats = np.column_stack([new, np.ones(len(new))]) @ slope
    return result
