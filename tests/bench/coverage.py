"""How often intervals of 95% hold the truth, and tests find what is not there, over simulated studies.

Every interval that results show, by the product's own functions, in each of 32 kinds of study (`simulated.py`). Beside
them, and outside the bounds, what is not shown or only for comparison: Wilson's, the trial by showings, the two-way
bootstrap and the mixed model of statsmodels (`mixed_model.py`), both in the first COMPARED_STUDIES of each kind.
"""

import itertools
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import sqrt
from multiprocessing import get_context

import numpy as np
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from tests.bench.mixed_model import mixed_model_covers
from tests.bench.simulated import Population, Setting, covered, population

STUDIES, COMPARED_STUDIES, BOOTSTRAP_SAMPLES = 300, 10, 100
SEED = 18
FEW_PEOPLE = 60
"""People in the cells with the mixed model, which takes too long with more."""
LOW, HIGH, MOST_FALSE = 0.92, 0.98, 0.06
SETTINGS = [
    Setting(items, people, sources, with_effect)
    for items, people, sources, with_effect in itertools.product((20, 100), (60, 300), (2, 3, 4, 5), (False, True))
]
SHOWN = (
    "share", "most minus least", "difference of two sources", "strength", "chance", "position effect", "trial",
    "trial, one source", "trial, randomisation p",
)  # fmt: skip
"""What has to keep the bounds."""
BESIDE = ("share, Wilson", "trial, showings (old)", "share, bootstrap", "strength, bootstrap", "share, mixed model")
HEADINGS = {"difference of two sources": "difference", "trial, one source": "trial, 1 source",
            "trial, randomisation p": "trial, p", "trial, showings (old)": "showings"}  # fmt: skip


@dataclass(frozen=True)
class Coverage:
    """The share of intervals that hold the truth, over studies, with its Monte-Carlo standard error."""

    share: float
    error: float
    null: bool
    """Whether there is nothing to find, so that what does not hold the truth is an error of the first kind."""

    @property
    def bounds(self) -> tuple[float, float]:
        """What the share has to keep."""
        return (max(LOW, 1 - MOST_FALSE) if self.null else LOW), HIGH

    @property
    def out(self) -> bool:
        """Whether it is out of bounds."""
        return not self.bounds[0] <= self.share <= self.bounds[1]

    @property
    def surely_out(self) -> bool:
        """Whether it is out by more than two standard errors: more than as many studies as these let one tell."""
        low, high = self.bounds
        return not low - 2 * self.error <= self.share <= high + 2 * self.error

    def __str__(self) -> str:
        return self.text + ("!" if self.surely_out else "*" if self.out else "")

    @property
    def text(self) -> str:
        """Share and standard error."""
        return f"{self.share:.3f} ±{self.error:.3f}"


def coverage(console: Console, studies: int = STUDIES) -> bool:
    """Print the table; return whether every interval that is shown keeps its bounds."""
    console.print(
        f"{studies} studies of each kind, seed {SEED}; bootstrap and mixed model in the first {COMPARED_STUDIES}"
    )
    found: dict[Setting, dict[str, Coverage]] = {}
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar, ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        task = bar.add_task("truths", total=len(SETTINGS))
        truths = {}
        for setting, truth in zip(SETTINGS, pool.map(_truth, SETTINGS), strict=True):
            truths[setting] = truth
            bar.advance(task)
        task = bar.add_task("simulated studies", total=studies * len(SETTINGS))
        for setting in SETTINGS:
            hits = []
            for one in pool.map(partial(_study, setting, truths[setting]), range(studies), chunksize=5):
                hits.append(one)
                bar.advance(task)
            found[setting] = summary(setting, hits)
            bar.console.print("  " + "  ".join([*_sizes(setting), *_cells(found[setting], SHOWN)]))
    for kinds, title in ((SHOWN, "What is shown"), (BESIDE, "Beside it")):
        table = Table(
            "items", "people", "sources", "effect", *(HEADINGS.get(kind, kind) for kind in kinds), title=title
        )
        for setting in SETTINGS:
            table.add_row(*_sizes(setting), *_cells(found[setting], kinds))
        console.print(table)
    console.print(
        f"! out of bounds by more than two standard errors, * by less. What is shown must hold the truth in {LOW} to "
        f"{HIGH}, and in {1 - MOST_FALSE:.2f} or more where there is nothing to find: errors of the first kind."
    )
    null = [one for setting, one in found.items() if not setting.with_effect]
    console.print("Errors of the first kind, over all kinds of study without an effect:")
    for kind in SHOWN:
        errors = [1 - one[kind].share for one in null if kind in one]
        console.print(f"  {kind}: {np.mean(errors):.3f}")
    return not any(one[kind].surely_out for one in found.values() for kind in SHOWN if kind in one)


def _truth(setting: Setting) -> Population:
    return population(setting.betas, setting.with_effect)


def _study(setting: Setting, truth: Population, number: int) -> dict[str, float]:
    seed = SEED + 1000 * number
    found = covered(setting, truth, seed, BOOTSTRAP_SAMPLES if number < COMPARED_STUDIES else 0)
    if number < COMPARED_STUDIES and setting.people == FEW_PEOPLE:
        found["share, mixed model"] = mixed_model_covers(setting, truth, seed)
    return found


def summary(setting: Setting, hits: Sequence[dict[str, float]]) -> dict[str, Coverage]:
    """Return the coverage of each kind of interval over some studies. Intervals of one study hang together, so the
    standard error is over studies."""
    found = {}
    for kind in (*SHOWN, *BESIDE):
        values = np.array([one[kind] for one in hits if kind in one])
        if len(values):
            share = float(values.mean())
            # With no miss at all the error would be 0; it is that of one miss.
            error = max(float(values.std()), sqrt(1 / len(values) * (1 - 1 / len(values)))) / sqrt(len(values))
            found[kind] = Coverage(share, error, not setting.with_effect or kind == "position effect")
    return found


def _sizes(setting: Setting) -> list[str]:
    sizes = [str(setting.items), str(setting.people), str(setting.sources)]
    return [*sizes, "yes" if setting.with_effect else "no"]


def _cells(found: dict[str, Coverage], kinds: Sequence[str]) -> list[str]:
    return [(str(found[kind]) if kind in SHOWN else found[kind].text) if kind in found else "" for kind in kinds]
