"""Studies with known truth, in which votes of one person and on one item hang together, and what results say of them.

The model is that of `heard study power` (`chat_app/results/simulate.py`), plus, in a trial, the effect of having been
assigned. Each study draws new people and new items: the truth is that of their population.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from heard.chat_app.results.bootstrap import bootstrap
from heard.chat_app.results.choices import Choices, Layout
from heard.chat_app.results.records import Interval, SourceShares
from heard.chat_app.results.share_intervals import with_intervals
from heard.chat_app.results.shares import shares
from heard.chat_app.results.simulate import ITEM_SD, PERSON_SD, Design, draw_sample, luce_choice, most_and_least
from heard.chat_app.results.strengths import fit, strengths
from heard.chat_app.results.trial import Showings, effect
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell

EFFECT, TRIAL_EFFECT = 1.0, 0.5
"""Log-odds between the weakest and the strongest source, and of an assigned answer, in cells with an effect."""
TRUTH_DRAWS = 1_200_000
Floats = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Setting:
    """One cell of the table."""

    items: int
    people: int
    sources: int
    with_effect: bool

    @property
    def betas(self) -> Floats:
        """Strengths of the sources."""
        return np.linspace(-0.5, 0.5, self.sources) * (EFFECT if self.with_effect else 0.0)

    @property
    def names(self) -> list[str]:
        """Names of the sources, in the order of their strengths."""
        return [f"s{number}" for number in range(self.sources)]


@dataclass(frozen=True)
class Drawn:
    """One study: N ballots as the results take them, and the showings of the same ballots with a trial."""

    cells: list[Cell]
    cell: Floats
    person: Floats
    item: Floats
    showings: Showings


def draw(setting: Setting, generator: np.random.Generator) -> Drawn:
    """Draw people, items and votes."""
    sample = draw_sample(Design(tuple(setting.betas.tolist()), setting.items, setting.people), generator)
    person, item, utility = sample.person, sample.item, sample.utility
    order = generator.permuted(np.tile(np.arange(setting.sources), (len(item), 1)), axis=1)
    shown_utility = np.take_along_axis(utility, order, axis=1)
    most, least = most_and_least(generator, shown_utility, -shown_utility)
    known: dict[tuple[Any, ...], int] = {}
    cell = [
        known.setdefault(key, len(known))
        for key in zip(map(tuple, order.tolist()), most.tolist(), least.tolist(), strict=True)
    ]
    names = setting.names
    cells = [
        Cell(tuple(names[one] for one in row), (), (), Choice.RANKED, first + 1,
             last + 1 if setting.sources > 2 else None, None, None)
        for row, first, last in known
    ]  # fmt: skip
    # The trial: the same people and items, where chance assigns each answer of each item.
    assigned = generator.random((setting.items, setting.sources)) < 0.5
    treated = utility + (TRIAL_EFFECT if setting.with_effect else 0.0) * assigned[item]
    chosen = luce_choice(generator, treated)
    source = np.tile(np.arange(setting.sources), len(item))
    shown = np.repeat(item, setting.sources)
    showings = Showings(
        source, shown * setting.sources + source, np.repeat(person, setting.sources),
        assigned[shown, source].astype(int), (np.repeat(chosen, setting.sources) == source).astype(int),
    )  # fmt: skip
    return Drawn(cells, np.array(cell), person, item, showings)


def generator_of(setting: Setting, seed: int) -> np.random.Generator:
    """The random numbers of one study of a cell."""
    return np.random.default_rng([seed, setting.items, setting.people, setting.sources, int(setting.with_effect)])


@dataclass(frozen=True)
class Population:
    """The truth of a cell: of each source the shares and the strength, and the effect of the trial."""

    most: Floats
    least: Floats
    strength: Floats
    trial: float


def population(betas: Floats, with_effect: bool) -> Population:
    """Return the truth over people and items, by drawing one ballot each of TRUTH_DRAWS people on as many items.

    The strengths are those that the model comes to with endless votes: with preferences that vary, a little nearer to
    each other than the means (the value that is nearest in Kullback and Leibler's sense).
    """
    generator = np.random.default_rng(20_26)
    size, part = len(betas), 400_000
    first, pairs, gap = np.zeros(size), np.zeros((size, size)), 0.0
    for _ in range(TRUTH_DRAWS // part):
        utility = betas + generator.normal(0, np.hypot(ITEM_SD, PERSON_SD), (part, size))
        chance = _softmax(utility)
        first += chance.mean(axis=0)
        # The chance of (most, least): least is chosen among the rest by the negative of utility.
        against = np.exp(-utility)
        rest = against.sum(axis=1, keepdims=True) - against
        pairs += np.einsum("nf,nl->fl", chance / rest, against) / part
        assigned = generator.random((part, size)) < 0.5
        treated = _softmax(utility + (TRIAL_EFFECT if with_effect else 0.0) * assigned)
        gap += float(np.mean([treated[assigned[:, s], s].mean() - treated[~assigned[:, s], s].mean()
                              for s in range(size)]))  # fmt: skip
    parts = TRUTH_DRAWS // part
    first, pairs, gap = first / parts, pairs / parts, gap / parts
    np.fill_diagonal(pairs, 0.0)
    if np.ptp(betas) == 0:  # known without drawing
        first, pairs = np.full(size, 1 / size), (1 - np.eye(size)) / (size * (size - 1))
    least = pairs.sum(axis=0) if size > 2 else np.full(size, np.nan)
    return Population(first, least, _nearest_strengths(first, pairs), gap if with_effect else 0.0)


def _softmax(utility: Floats) -> Floats:
    power = np.exp(utility)
    result: Floats = power / power.sum(axis=1, keepdims=True)
    return result


def _nearest_strengths(first: Floats, pairs: Floats) -> Floats:
    size = len(first)
    names = [f"s{number}" for number in range(size)]
    slots = tuple((name, place) for place, name in enumerate(names, 1))
    if size == 2:
        patterns: Any = [(slots, Choice.RANKED, one + 1, None) for one in range(2)]
        weights = first
    else:
        both = [(a, b) for a in range(size) for b in range(size) if a != b]
        patterns = [(slots, Choice.RANKED, a + 1, b + 1) for a, b in both]
        weights = np.array([pairs[one] for one in both])
    choices = Choices(patterns, Layout.of(names, [], False))
    return (choices.layout.basis @ fit(choices, weights * 1e6))[:size]


def covered(setting: Setting, truth: Population, seed: int, resamples: int = 0) -> dict[str, float]:
    """Draw one study, compute its results by the product's own functions, and return of each kind of interval the
    share that holds the truth. With `resamples` also those of the bootstrap."""
    drawn = draw(
        setting, np.random.default_rng([seed, setting.items, setting.people, setting.sources, setting.with_effect])
    )
    at = {name: number for number, name in enumerate(setting.names)}
    counts = np.bincount(drawn.cell, minlength=len(drawn.cells)).tolist()
    votes = drawn.cells, drawn.cell, drawn.person, drawn.item
    found, pairs = with_intervals(shares(dict(zip(drawn.cells, counts, strict=True))), *votes)
    hits: dict[str, list[bool]] = {}

    def add(kind: str, low: float | None, high: float | None, value: float) -> None:
        if low is None or high is None:
            raise RuntimeError(f"a study of this size has no interval: {kind}")
        hits.setdefault(kind, []).append(low <= value <= high)

    for one in found:
        _add_shares(add, one, truth, at[one.source])
    for pair in pairs:
        a, b = at[pair.first], at[pair.second]
        _add(add, "difference of two sources", pair.most_interval, truth.most[a] - truth.most[b])
        if setting.sources > 2:
            _add(add, "difference of two sources", pair.least_interval, truth.least[a] - truth.least[b])
    fitted = strengths(*votes)
    power = np.exp(truth.strength)
    for strength in fitted.sources:
        add("strength", strength.low, strength.high, truth.strength[at[strength.source]])
        add("chance", strength.chance_low, strength.chance_high, (power / power.sum())[at[strength.source]])
    for position in fitted.positions:
        add("position effect", position.most_low, position.most_high, 0.0)
        if position.least is not None:
            add("position effect", position.least_low, position.least_high, 0.0)
    arm = effect(None, drawn.showings)
    add("trial", arm.low, arm.high, truth.trial)
    single = effect("s0", drawn.showings.take(drawn.showings.source == 0))
    if single.low is not None and not setting.with_effect:  # the effect on one source has no simple truth but this
        add("trial, one source", single.low, single.high, 0.0)
        assert arm.p is not None
        hits["trial, randomisation p"] = [arm.p > 0.05]
    hits["trial, showings (old)"] = [_naive_trial(drawn, truth)]
    if resamples:
        sampled = bootstrap(*votes, resamples=resamples)
        values = {"most": truth.most, "least": truth.least, "strength": truth.strength}
        for interval in sampled.intervals:
            if interval.low is not None and not np.isnan(values[interval.figure][at[interval.source]]):
                kind = "strength" if interval.figure == "strength" else "share"
                add(f"{kind}, bootstrap", interval.low, interval.high, values[interval.figure][at[interval.source]])
    return {kind: float(np.mean(one)) for kind, one in hits.items()}


def _add_shares(add: Any, one: SourceShares, truth: Population, number: int) -> None:
    _add(add, "share", one.most_interval, truth.most[number])
    add("share, Wilson", one.most.low, one.most.high, truth.most[number])
    if one.least.of:
        _add(add, "share", one.least_interval, truth.least[number])
        add("share, Wilson", one.least.low, one.least.high, truth.least[number])
        _add(add, "most minus least", one.net_interval, truth.most[number] - truth.least[number])


def _add(add: Any, kind: str, found: Interval, value: float) -> None:
    add(kind, found.low, found.high, value)


def _naive_trial(drawn: Drawn, truth: Population) -> bool:
    """Whether the interval that counts showings as independent holds the truth."""
    most, assigned = drawn.showings.most, drawn.showings.assigned == 1
    a, b = most[assigned], most[~assigned]
    error = np.sqrt(a.mean() * (1 - a.mean()) / len(a) + b.mean() * (1 - b.mean()) / len(b))
    return bool(abs(a.mean() - b.mean() - truth.trial) <= norm.ppf(0.975) * error)
