"""The power of a study by simulation: how often the two-way interval of a difference of shares leaves out 0.

Each simulated study (`simulate.py`) draws new people and items, and its difference gets the interval that `heard
results` shows (`share_intervals.py`). One source is better than all others by the effect; those are alike. The smaller
studies of a simulated one are its first people, so that the power rises smoothly along them. With an effect of 0 the
same gives the error of the first kind. Errors are Monte-Carlo standard errors: standard deviation over the simulated
studies / sqrt(their number).
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from math import ceil, sqrt
from multiprocessing import get_context
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from heard.chat_app.results.share_intervals import Marks, ShareIntervals
from heard.chat_app.results.simulate import ITEM_SD, PER_PERSON, PERSON_SD, Design, draw_sample, luce_choice

Array = np.ndarray[Any, np.dtype[Any]]
STEP = 5
"""Step in people in which the fewest are sought between two sizes of the grid; wider where they are far apart."""
FINE = 12
"""Most sizes that are tried between two of the grid."""
CHUNK = 10
"""Simulated studies of one piece of work."""
FEW = 100
"""Below as many simulated studies other processes would take longer to start than they save."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is simulated."""

    sources: int
    """Answers on a ballot, 2 to 5."""
    items: tuple[int, ...]
    """Numbers of items, at least 2 each."""
    people: tuple[int, ...]
    """Numbers of people, at least 2 each, rising."""
    effect: float
    """Log-odds between the best source and each other one."""
    per_person: int = PER_PERSON
    item_sd: float = ITEM_SD
    person_sd: float = PERSON_SD
    every: bool = True
    """Whether the best must be told from every other source at once; else from one named one."""
    goal: float = 0.8
    """The power that is wanted, within 0..1."""
    studies: int = 400
    seed: int = 1

    def betas(self, effect: float) -> tuple[float, ...]:
        """Return the strengths of the sources in log-odds, the best first."""
        return (effect, *[0.0] * (self.sources - 1))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share of the simulated studies, on 0..1, and its Monte-Carlo standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Array) -> "Estimate":
        """Of one value within 0..1 for each study."""
        number = len(values)
        # With no exception at all the error would be 0; it is that of one exception.
        spread = max(float(values.std()), sqrt(1 / number * (1 - 1 / number)))
        return cls(float(values.mean()), spread / sqrt(number))


@dataclass(frozen=True, slots=True)
class Size:
    """One size of study."""

    items: int
    people: int
    power: Estimate
    """Studies that find what `Plan.every` says; the best source must be the better one."""
    first_kind: Estimate
    """With an effect of 0: pairs of sources whose interval leaves out 0, on either side."""


@dataclass(frozen=True, slots=True)
class Power:
    """The outcome."""

    plan: Plan
    sizes: tuple[Size, ...]
    """Of the grid: by items, then by people."""
    fewest: dict[int, Size | None]
    """By number of items: the smallest study that reaches the goal, or None if the largest of the grid does not."""
    first_kind: Estimate
    """Over all sizes of the grid."""


Progress = Callable[[str, int, int], None]


def power(plan: Plan, progress: Progress = lambda what, done, of: None) -> Power:
    """Simulate the grid, and then around the goal. `progress` takes the task, and the done and all simulated studies.

    Raises ValueError for a plan with fewer than 2 sources, items, people or studies.
    """
    if plan.sources < 2 or min(plan.items) < 2 or min(plan.people) < 2 or plan.studies < 2:
        raise ValueError("a plan needs 2 sources, items, people and simulated studies")
    grid = _simulate(plan, {items: plan.people for items in plan.items}, partial(progress, "The grid"))
    sizes = tuple(_size(plan, items, people, grid[items][:, at])
                  for items in plan.items for at, people in enumerate(plan.people))  # fmt: skip
    rows = {items: [one for one in sizes if one.items == items] for items in plan.items}
    between = {items: tried for items, row in rows.items() if (tried := _between(row, plan.goal))}
    finer = _simulate(plan, between, partial(progress, "The fewest people")) if between else {}
    for items, tried in between.items():
        rows[items] += [_size(plan, items, people, finer[items][:, at]) for at, people in enumerate(tried)]
    fewest = {
        items: min((one for one in row if one.power.value >= plan.goal), key=lambda one: one.people, default=None)
        for items, row in rows.items()
    }
    # Sizes of one simulated study hang together, so that their mean is the one value of the study.
    false = np.concatenate([found[:, :, 1].mean(axis=1) for found in grid.values()])
    return Power(plan, sizes, fewest, Estimate.of(false))


def _between(row: Sequence[Size], goal: float) -> tuple[int, ...]:
    """Return the numbers of people to try between the last size below the goal and the first that reaches it."""
    reached = next((at for at, one in enumerate(row) if one.power.value >= goal), None)
    if reached is None:
        return ()
    low = row[reached - 1].people if reached else 1
    high = row[reached].people
    step = max(STEP, STEP * ceil((high - low) / FINE / STEP))
    return tuple(people for people in range(step * (low // step + 1), high, step) if people >= 2)


def _size(plan: Plan, items: int, people: int, found: Array) -> Size:
    return Size(items, people, Estimate.of(found[:, 0]), Estimate.of(found[:, 1]))


def _simulate(plan: Plan, wanted: dict[int, tuple[int, ...]], progress: Callable[[int, int], None]) -> dict[int, Array]:
    """Return by number of items an array of (studies, numbers of people, power and error of the first kind)."""
    work = [(items, range(start, min(start + CHUNK, plan.studies)))
            for start in range(0, plan.studies, CHUNK) for items in wanted]  # fmt: skip
    found: dict[int, dict[int, Array]] = {items: {} for items in wanted}
    done, of = 0, plan.studies * len(wanted)
    for items, numbers, values in _each(plan, wanted, work):
        found[items] |= dict(zip(numbers, values, strict=True))
        done += len(numbers)
        progress(done, of)
    return {items: np.stack([rows[number] for number in range(plan.studies)]) for items, rows in found.items()}


def _each(
    plan: Plan, wanted: dict[int, tuple[int, ...]], work: Sequence[tuple[int, range]]
) -> Iterator[tuple[int, range, list[Array]]]:
    if plan.studies < FEW:
        with threadpool_limits(limits=1):
            for items, numbers in work:
                yield items, numbers, _studies(plan, items, wanted[items], numbers)
        return
    pool = ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), _prepare)
    try:
        waiting = {pool.submit(_studies, plan, items, wanted[items], numbers): (items, numbers)
                   for items, numbers in work}  # fmt: skip
        for one in as_completed(waiting):
            yield *waiting[one], one.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _prepare() -> None:
    """Leave Ctrl-C to the process that waits, and take one thread: the matrices are small."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(limits=1)


def _studies(plan: Plan, items: int, people: tuple[int, ...], numbers: range) -> list[Array]:
    return [simulated_study(plan, items, people, number) for number in numbers]


def simulated_study(plan: Plan, items: int, people: tuple[int, ...], number: int) -> Array:
    """Return of one simulated study, for its first `people` each, whether the difference was found and the share of
    pairs that would be found without an effect: (numbers of people) x 2, within 0..1."""
    generator = np.random.default_rng([plan.seed, items, number])
    # As many people as the grid has, whatever is asked for: the same number is the same study.
    design = Design(plan.betas(0), items, plan.people[-1], plan.per_person, plan.item_sd, plan.person_sd)
    sample = draw_sample(design, generator)
    rows = len(sample.item) // design.people
    result = np.zeros((len(people), 2))
    for column, effect in enumerate((plan.effect, 0.0)):
        most = luce_choice(generator, sample.utility + np.array(plan.betas(effect)))
        for at, of in enumerate(people):
            first = slice(0, of * rows)
            pairs = _differences(most[first], sample.person[first], sample.item[first], plan.sources)
            if column == 0:
                better = [low > 0 for low, _ in pairs]
                result[at, 0] = all(better) if plan.every else np.mean(better)
            else:
                result[at, 1] = np.mean([low > 0 or high < 0 for low, high in pairs])
    return result


def _differences(most: Array, person: Array, item: Array, sources: int) -> list[tuple[float, float]]:
    """Return the intervals of the first source's share as most minus that of each other one.

    Every source stands on every ballot, so that the order of a ballot does not count and its mark is its cell.
    """
    marks = Marks(np.ones((sources, sources)), np.eye(sources))
    intervals = ShareIntervals(marks, most, person, item)
    ends = []
    for other in range(1, sources):
        _, found = intervals.difference(0, other)
        ends.append((0.0 if found.low is None else found.low, 0.0 if found.high is None else found.high))
    return ends
