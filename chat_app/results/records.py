"""Records of results. Shares are 0..1, intervals of 95%, positions count from 1 (shown as A to E).

A figure that cannot be estimated is None, and a plain sentence beside it says why.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of` with Wilson's interval, as if all observations were independent. `share`, `low` and `high` are
    None if `of` is 0."""

    count: int
    of: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval for other people and other items of the same kind (`two_way.py`)."""

    low: float | None = None
    high: float | None = None
    reason: str | None = None
    """Why there is none; None if there is."""


@dataclass(frozen=True, slots=True)
class VoteFilter:
    """Which votes are included."""

    condition: str | None = None
    """Only people in this condition; None includes all."""
    with_leaks: bool = False
    """Include ballots on which an answer gave its source away."""
    passed_attention: bool = False
    """Only people who failed no attention item."""
    min_seconds: float | None = None
    """Only votes that took at least this long, seconds."""
    pooled: bool = False
    """Compute one result of all conditions even if their people judged different sources."""


@dataclass(frozen=True, slots=True)
class InclusionCounts:
    """The numbers of included and excluded votes; `kept` and the excluded ones add up to `rows`."""

    rows: int
    kept: int
    ranked: int
    """Included: a most empathetic answer was marked. `ranked`, `same`, `none` and `skipped` add up to `kept`."""
    same: int
    none: int
    skipped: int
    no_consent: int
    """Excluded: the person's newest answer does not allow chat and research. Each row is excluded once, for the first
    reason in the order of these fields."""
    excluded_people: int
    """Excluded: votes of people whom whoever leads the study has excluded, by a rule or by hand."""
    attention_items: int
    """Excluded: votes on attention items, which test the person and not the answers."""
    other_conditions: int
    """Excluded: another condition than the requested one."""
    failed_attention: int
    """Excluded on request: votes of people who failed an attention item."""
    leaks: int
    """Excluded unless requested: an answer on the ballot gave its source away."""
    too_fast: int = 0
    """Excluded on request, before all others: the vote took less than `min_seconds`, whoever cast it."""


@dataclass(frozen=True, slots=True)
class SourceShares:
    """The shares of marks of a source, over the ballots that were not skipped and where it was votable."""

    source: str
    most: Share
    least: Share
    """Over ballots with three votable answers or more, where the least empathetic one is marked."""
    most_interval: Interval = Interval()
    least_interval: Interval = Interval()
    net: float | None = None
    """Share of most minus share of least, -1..1; None without least."""
    net_interval: Interval = Interval()


@dataclass(frozen=True, slots=True)
class ShareDifference:
    """The shares of one source minus those of another, -1..1."""

    first: str
    second: str
    most: float | None
    most_interval: Interval
    least: float | None
    least_interval: Interval


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength of one source in log-odds; the mean of all sources is 0. Its intervals are for other people and
    items."""

    source: str
    strength: float
    low: float | None
    high: float | None
    chance: float
    """Probability of being marked as most empathetic on a ballot with all sources, without position effects, 0..1."""
    chance_low: float | None
    chance_high: float | None
    ballots: int
    """Number of ballots in the model on which the source could be marked."""


@dataclass(frozen=True, slots=True)
class PositionEffect:
    """The effect of a position on the log-odds of being marked; the mean of all positions is 0."""

    position: int
    most: float
    most_low: float | None
    most_high: float | None
    least: float | None
    """None if no ballot asked for the least empathetic answer."""
    least_low: float | None
    least_high: float | None


@dataclass(frozen=True, slots=True)
class Strengths:
    """The fitted model, or the reason why none could be fitted."""

    reason: str | None
    """Why the strengths are not estimable; None if they are."""
    sources: list[Strength]
    """Strongest first; empty if not estimable."""
    positions: list[PositionEffect]
    position_reason: str | None
    """Why there are no position effects; the strengths are then without them."""
    interval_reason: str | None
    """Why there are no intervals."""
    ballots: int
    """Number of ranked and tied ballots in the model."""
    people: int
    items: int
    """Number of items of a survey in the model; 0 in a live study, where everybody writes their own."""


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """A percentile interval of the two-way bootstrap (`bootstrap.py`)."""

    figure: str
    """"most", "least" (shares) or "strength" (log-odds)."""
    source: str
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The two-way bootstrap over people and items, beside the intervals that are shown."""

    reason: str | None
    """Why there is none; None if there is."""
    resamples: int
    intervals: list[BootstrapInterval]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's alpha: 1 is full agreement, 0 is agreement by chance, below 0 is less than chance."""

    alpha: float | None
    reason: str | None
    items: int
    """Number of items that two people or more judged."""
    judgements: int
    """Number of judgements of those items."""
    low: float | None = None
    high: float | None = None
    interval_reason: str | None = None
    """Why there are no intervals, of alpha or of the pairs; None if there are, or no alpha."""
    pairs: int = 0
    """Number of pairs of judgements of one item by two people."""
    equal: float | None = None
    """Share of these pairs that say the same, 0..1."""
    equal_low: float | None = None
    equal_high: float | None = None
    by_chance: float | None = None
    """Share of all pairs of judgements, of whatever items, that say the same: what alpha is measured from."""


@dataclass(frozen=True, slots=True)
class PositionShare:
    """The share of "most empathetic" marks at one position, over the ranked ballots where it was votable."""

    position: int
    most: Share
    expected: float
    """Expected number of marks without any effect of position or source."""
    interval: Interval = Interval()


@dataclass(frozen=True, slots=True)
class PositionBias:
    """Marks by position, and a chi-square test against `expected`."""

    positions: list[PositionShare]
    statistic: float | None
    degrees: int
    p: float | None
    """p value; votes of one person are treated as independent."""


@dataclass(frozen=True, slots=True)
class Leak:
    """The share of a source's showings whose answer gave the source away."""

    source: str
    rate: Share
    interval: Interval = Interval()


@dataclass(frozen=True, slots=True)
class TrialArm:
    """The effect of the assignment to auto-improve, by intention to treat."""

    source: str | None
    """None for all sources together."""
    assigned: Share
    """Share of "most empathetic" among the showings of answers assigned to the treatment."""
    control: Share
    assigned_answers: int
    control_answers: int
    """Number of answers: chance assigns each of them once, however often it is shown."""
    difference: float | None
    """Assigned minus control, -1..1; for all sources together the mean of those within each source."""
    low: float | None
    high: float | None
    """Over answers and people (`trial.py`)."""
    p: float | None
    """Randomisation p value: how often assigning the same answers anew gives a difference at least as large."""
    reason: str | None
    """Why there is no interval; None if there is."""


@dataclass(frozen=True, slots=True)
class StudyResults:
    """All results of one study."""

    study: str
    wanted: VoteFilter
    counted: InclusionCounts
    people: int
    """Number of people who cast the included votes."""
    conditions: list[str]
    """All conditions among the votes."""
    shares: list[SourceShares]
    """Most often marked as most empathetic first."""
    strengths: Strengths
    agreement_most: Agreement
    agreement_least: Agreement
    position: PositionBias
    leaks: list[Leak]
    trial: list[TrialArm]
    """Empty without a trial; the first is of all sources together."""
    hidden: list[str] = field(default_factory=list)
    """Sources that are in every figure and not in the lists (`hide.py`)."""
    differences: list[ShareDifference] = field(default_factory=list)
    """Of each pair of sources, in the order of `shares`."""
    bootstrap: Bootstrap | None = None
    """None unless asked for."""
    not_pooled: str | None = None
    """Why there are no figures of all conditions together; None if there are."""
    parts: list["StudyResults"] = field(default_factory=list)
    """Then the results of each condition."""
