"""Records of results. Shares are 0..1, intervals of 95%, positions count from 1 (shown as A to E).

A figure that cannot be estimated is None, and a plain sentence beside it says why.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of` with Wilson's interval. `share`, `low` and `high` are None if `of` is 0."""

    count: int
    of: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class VoteFilter:
    """Which votes are included."""

    condition: str | None = None
    """Only people in this condition; None includes all."""
    with_leaks: bool = False
    """Include ballots on which an answer gave its source away."""
    passed_attention: bool = False
    """Only people who failed no attention item."""


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


@dataclass(frozen=True, slots=True)
class SourceShares:
    """The shares of marks of a source, over the ballots that were not skipped and where it was votable."""

    source: str
    most: Share
    least: Share
    """Over ballots with three votable answers or more, where the least empathetic one is marked."""


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength of one source in log-odds; the mean of all sources is 0."""

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
    resamples: int
    """Number of bootstrap samples of people with a finite fit."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's alpha: 1 is full agreement, 0 is agreement by chance, below 0 is less than chance."""

    alpha: float | None
    reason: str | None
    items: int
    """Number of items that two people or more judged."""
    judgements: int
    """Number of judgements of those items."""


@dataclass(frozen=True, slots=True)
class PositionShare:
    """The share of "most empathetic" marks at one position, over the ranked ballots where it was votable."""

    position: int
    most: Share
    expected: float
    """Expected number of marks without any effect of position or source."""


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


@dataclass(frozen=True, slots=True)
class TrialArm:
    """The effect of the assignment to auto-improve, by intention to treat."""

    source: str | None
    """None for all sources together."""
    assigned: Share
    """Share of "most empathetic" among the showings of answers assigned to the treatment."""
    control: Share
    difference: float | None
    """Assigned minus control, -1..1, with Newcombe's interval."""
    low: float | None
    high: float | None


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
