"""Figures on everyday talk: people's ratings with raters held out, the scale, the project's own everyday replies, and
the marks of faults.

A conversation's number is the mean of its listener's turns, because it has one rating. Conversations of one rater hang
together, so a bracket is a 95% interval over raters (Student's t on each rater's own figure). A share of replies of the
own sets has Wilson's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from heard.scorer.evaluation.bootstrap import over_raters, share
from heard.scorer.evaluation.metrics import spearman
from heard.scorer.everyday import FAULTS, HARM_BEGINS
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST, Level, level_of
from heard.scorer.tables import Line
from heard.scorer.training.data import Table
from heard.scorer.training.everyday_sources import BAD_EVERYDAY, GOOD_EVERYDAY
from heard.scorer.training.fit_perceived import (
    COUNSELLING,
    Fitted,
    by_conversation,
    column,
    noted_of,
    of_conversations,
    people,
    styles,
)

Floats = np.ndarray[Any, np.dtype[Any]]
Rows = np.ndarray[Any, np.dtype[Any]]

UNDER = 1.3
"""What hardly an ordinary reply should lie under, and a bad one should."""
GOOD_FROM = 2.2
"""What a good one should reach."""


def rater_rows(table: Table, facets: Floats, mixed: Floats, mixed_everyday: Floats, numbers: Floats) -> list[Line]:
    """How the numbers follow people's ratings within a rater who was held out. `mixed` are components, rows x 3,
    `mixed_everyday` those of the head "everyday", and `numbers` "perceived"."""
    raters, rated = of_conversations(table, table.groups), by_conversation(table, people(table))
    measured = {
        "perceived": numbers,
        "Empathy": mixed.mean(axis=1),
        **{name: mixed[:, index] for index, name in enumerate(COMPONENTS)},
        'Empathy of the head "everyday"': mixed_everyday.mean(axis=1),
        'the facet "perceived" alone': column(facets, "perceived"),
        "words of the reply": np.array([len(text.split()) for text in table.texts], float),
    }
    lines = []
    for name, values in measured.items():
        found = by_conversation(table, values)
        each = [spearman(found[raters == rater], rated[raters == rater]) for rater in np.unique(raters)]
        cells = {"mean over raters of Spearman's rho": over_raters(each)}
        lines.append(Line(name, cells | {"lowest and highest rater": f"{min(each):.2f}, {max(each):.2f}"}))
    return lines


def use_rows(table: Table, mixed: Floats, numbers: Floats) -> list[Line]:
    """How often people and the numbers use the scale."""
    everyday = table.sources == "everyday"
    empathy = LOWEST + (HIGHEST - LOWEST) * mixed.mean(axis=1)
    return [
        _use_line("people, by conversation", by_conversation(table, people(table))),
        _use_line("perceived, by conversation", by_conversation(table, numbers)),
        _use_line("perceived, by reply", numbers[everyday]),
        _use_line("Empathy, by reply", empathy[everyday]),
    ]


def distance_rows(table: Table, numbers: Floats, width: float) -> list[Line]:
    """How far "perceived" lies from people's ratings, beside the best constant: the mean of the other raters. `width`
    is the half width of its interval."""
    raters = of_conversations(table, table.groups)
    rated, found = by_conversation(table, people(table)), by_conversation(table, numbers)
    each: dict[str, list[float]] = {"RMSE": [], "RMSE of the constant": [], "less than it": [], "mean difference": []}
    each["within the interval, of 90% meant"] = []
    for rater in np.unique(raters):
        own = raters == rater
        apart, constant = found[own] - rated[own], rated[~own].mean() - rated[own]
        errors = [float(np.sqrt(np.mean(one**2))) for one in (apart, constant)]
        inside = float(np.mean(np.abs(apart) <= width))
        for name, value in zip(each, (*errors, errors[1] - errors[0], float(apart.mean()), inside), strict=True):
            each[name].append(value)
    return [Line(name, {"mean over raters": over_raters(values)}) for name, values in each.items()]


def register_rows(table: Table, numbers: Floats) -> list[Line]:
    """ "perceived" in the registers of the other sources, which nobody rated for it, and in the own set's styles; by
    folds."""
    project = table.sources == "project"
    kinds = {source: table.sources == source for source in ("everyday", *COUNSELLING)}
    kinds |= {f"own set, {style}": project & (styles(table) == style) for style in np.unique(styles(table)[project])}
    tests = np.array([example.test for example in table.examples])
    lines = []
    for name, rows in kinds.items():
        found = numbers[rows & ~tests]
        low, middle, high = np.quantile(found, [0.05, 0.5, 0.95])
        cells = {"replies": str(len(found)), "mean": f"{found.mean():.2f}", "median": f"{middle:.2f}"}
        lines.append(Line(name, cells | {"nine of ten lie within": f"{low:.2f} to {high:.2f}"}))
    return lines


def anchor_rows(table: Table, runs: Sequence[Floats]) -> list[Line]:
    """The own everyday test part, whose writer wrote nothing that was trained on: means by style, and pairs of a good
    and a bad reply to one message. `runs` are "perceived" of all rows, one array a seed."""
    rows = np.where([example.test and example.source == "own everyday" for example in table.examples])[0]
    found = np.mean(runs, axis=0)[rows]
    kinds, groups = styles(table)[rows], table.groups[rows]
    lines = []
    for style in (*GOOD_EVERYDAY, *BAD_EVERYDAY, *sorted({*kinds} - {*GOOD_EVERYDAY, *BAD_EVERYDAY})):
        own = found[kinds == style]
        cells = {
            "replies": str(len(own)),
            "perceived": f"{own.mean():.2f}",
            "at most 1.3": f"{np.mean(own <= UNDER):.2f}",
        }
        lines.append(Line(style, cells | {"at least 2.2": f"{np.mean(own >= 2.2):.2f}"}))
    good, bad = np.isin(kinds, GOOD_EVERYDAY), np.isin(kinds, BAD_EVERYDAY)
    pairs = [
        found[a] > found[b]
        for group in np.unique(groups)
        for a in np.where(good & (groups == group))[0]
        for b in np.where(bad & (groups == group))[0]
    ]
    none = np.array([])
    lines.append(_anchor_line("good above bad, of pairs", len(pairs), f"{np.mean(pairs):.3f}", none, none))
    return lines


def fault_rows(table: Table, runs: Sequence[Floats], facets: Floats, noted: Floats, fitted: Fitted) -> list[Line]:
    """Recall of each fault on the test part (two writers who wrote nothing that was trained on), false alarms on its
    good twins and, by folds, on people's replies (`noted`). `runs` are facets of all rows, one array a seed."""
    lines = []
    kinds, tests = styles(table), np.array([example.test for example in table.examples])
    of_runs = np.mean([noted_of(run, fitted) for run in runs], axis=0) > 0.5
    for index, fault in enumerate(FAULTS):
        test = tests & (table.sources == "marks")
        cells = {"found": share(of_runs[test & (kinds == fault), index])}
        cells["noted in good twins"] = share(of_runs[test & (kinds == "none"), index])
        for source in ("everyday", *COUNSELLING):
            cells[f"in {source}"] = share(noted[table.sources == source, index])
        lines.append(Line(fault, cells))
    harm = column(facets, "harm") > HARM_BEGINS
    cells = dict.fromkeys(lines[0].cells, "")
    lines.append(Line('the facet "harm" counts', cells | {"in everyday": share(harm[table.sources == "everyday"])}))
    return lines


def _anchor_line(name: str, count: int, value: str, low: Floats, high: Floats) -> Line:
    shares = [f"{np.mean(found):.2f}" if len(found) else "" for found in (low, high)]
    columns = ("replies", "perceived", f"at most {UNDER}", f"at least {GOOD_FROM}")
    return Line(name, dict(zip(columns, (str(count), value, *shares), strict=True)))


def _use_line(name: str, values: Floats) -> Line:
    cells: dict[str, str] = {"mean": f"{values.mean():.2f}", "spread": f"{values.std():.2f}"}
    cells |= {str(level): f"{np.mean([level_of(value) is level for value in values]):.1%}" for level in Level}
    return Line(name, cells | {f"under {UNDER}": f"{np.mean(values < UNDER):.1%}"})
