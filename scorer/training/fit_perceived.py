"""From facets to how empathic people would call a reply, and to its faults: the few numbers of `head.toml`, fitted on
facets that were predicted for replies outside their training folds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heard.scorer.everyday import FAULTS, NEEDED, called, perceived
from heard.scorer.records import HIGHEST, LOWEST
from heard.scorer.training.data import FACETS, Table
from heard.scorer.training.intervals import half_width

Floats = np.ndarray[Any, np.dtype[Any]]
Rows = np.ndarray[Any, np.dtype[np.int64]]

STRETCH = 0.6
"""Spread of the numbers of ordinary conversations beside that of people's ratings within a rater. At 1 they would use
the scale as people do and miss each rating by more than its mean does; at their correlation with the ratings (about .4)
they would miss least and call nearly everything moderate."""
COUNSELLING = ("epitome", "esconv", "annomi")
FALSE_ALARMS = 0.01
"""Of a source's replies, the most that a fault may be noted in. All sources keep to it."""
COLD_BEGINS, COLD_WHOLE = 0.96, 0.99
"""Shares of everyday turns whose "cold" lies below where it begins to count, and where nothing is left."""
LEAST_THRESHOLDS = {"refusal": 0.25, "incoherent": 0.5, "insult": 0.25}
"""Of a fault, where the sources would allow a lower one. Badly misspelt replies, of which those have few, look
incoherent from .25 on."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """As `HeadFile` has them."""

    perceived: list[float]
    cold: list[float]
    faults: list[float]


def column(facets: Floats, name: str) -> Floats:
    """One facet of all rows."""
    found: Floats = facets[:, FACETS.index(name)]
    return found


def people(table: Table) -> Floats:
    """People's rating of each row's conversation, 1..3; NaN where there is none."""
    shares = np.array([example.labels.get("people", np.nan) for example in table.examples])
    found: Floats = LOWEST + (HIGHEST - LOWEST) * shares
    return found


def fit_perceived(facets: Floats, mixed: Floats, table: Table) -> Fitted:
    """From the out-of-fold `facets`, rows x facets, of everyday talk and of counselling, and the components that are
    `mixed` of them, rows x 3 on 0..1, before harm."""
    everyday = table.sources == "everyday"
    rated, raters = by_conversation(table, people(table)), of_conversations(table, table.groups)
    within = np.mean([np.std(rated[raters == rater]) for rater in np.unique(raters)])
    means = by_conversation(table, called(_named(facets)))
    slope = STRETCH * float(within) / max(1e-6, float(np.std(means)))
    offset = float(np.mean(rated)) - slope * float(np.mean(means))
    cold = np.quantile(column(facets, "cold")[everyday], [COLD_BEGINS, COLD_WHOLE])
    thresholds = []
    for fault in FAULTS:
        found = [
            np.quantile(column(facets, fault)[table.sources == source], 1 - FALSE_ALARMS)
            for source in ("everyday", *COUNSELLING)
            if (table.sources == source).any()
        ]
        thresholds.append(max(LEAST_THRESHOLDS[fault], *map(float, found)))
    line, gate = [offset, slope], list(map(float, cold))
    # What the gates and the rubric take away on the mean is given back.
    line[0] += float(np.mean(rated - by_conversation(table, perceived(_named(facets), mixed, line, gate))))
    residuals = rated - by_conversation(table, perceived(_named(facets), mixed, line, gate))
    return Fitted([*line, half_width(residuals)], gate, thresholds)


def held_out(facets: Floats, mixed: Floats, table: Table, parts: Sequence[Rows]) -> tuple[Floats, Floats]:
    """What `perceived_of` gives for each row, 1..3, and which faults are noted, rows x FAULTS: each fold by numbers
    that were fitted on the others. The test part is in no fold; its rows stay as for nothing."""
    numbers, noted = np.ones(len(facets)), np.zeros((len(facets), len(FAULTS)), bool)
    for test in parts:
        others = np.setdiff1d(table.trained, test)
        fitted = fit_perceived(facets[others], mixed[others], table.of(others))
        numbers[test] = perceived_of(facets[test], mixed[test], fitted)
        noted[test] = noted_of(facets[test], fitted)
    return numbers, noted


def noted_of(facets: Floats, fitted: Fitted) -> Floats:
    """Which faults are noted, rows x FAULTS."""
    found: Floats = np.stack([column(facets, fault) for fault in FAULTS], axis=1) >= np.array(fitted.faults)
    return found


def perceived_of(facets: Floats, mixed: Floats, fitted: Fitted) -> Floats:
    """As the product gives it without a message, 1..3, of each row."""
    return perceived(_named(facets), mixed, fitted.perceived, fitted.cold)


def by_conversation(table: Table, values: Floats) -> Floats:
    """Means of each everyday conversation's turns, in the order of the conversations' names."""
    everyday = table.sources == "everyday"
    _, place = np.unique(styles(table)[everyday], return_inverse=True)
    found: Floats = np.bincount(place, weights=values[everyday]) / np.bincount(place)
    return found


def of_conversations(table: Table, values: Floats) -> Floats:
    """What all turns of an everyday conversation have alike, in the order of `by_conversation`."""
    everyday = table.sources == "everyday"
    _, first = np.unique(styles(table)[everyday], return_index=True)
    found: Floats = values[everyday][first]
    return found


def styles(table: Table) -> Floats:
    """Of each row; of everyday talk the conversation."""
    return np.array([example.style for example in table.examples])


def _named(facets: Floats) -> dict[str, Floats]:
    return {name: column(facets, name) for name in NEEDED}
