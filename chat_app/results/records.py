"""Records of results. Shares lie on 0..1, intervals are of 95%, positions count from 1 (shown as A to E).

A figure that cannot be had is None, and a plain sentence beside it says why.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of`; the interval is Wilson's. All three figures are None where `of` is 0."""

    count: int
    of: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which votes count."""

    condition: str | None = None
    """Only those of people in this condition; None is everybody."""
    with_leaks: bool = False
    """Also ballots on which an answer gave its source away."""
    passed_attention: bool = False
    """Only those of people who failed no attention item."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Where every row of the study's votes went; `kept` and the numbers left out add up to `rows`."""

    rows: int
    kept: int
    ranked: int
    """Of `kept`: a most empathetic answer was marked. `ranked`, `same`, `none` and `skipped` add up to `kept`."""
    same: int
    none: int
    skipped: int
    no_consent: int
    """Left out: the person's newest answer does not allow chat and research. Each row is left out once, for the first
    reason that holds in the order of these fields."""
    attention_items: int
    """Left out: votes on attention items, which judge the person and not the answers."""
    other_conditions: int
    """Left out: another condition than the one asked for."""
    failed_attention: int
    """Left out on request: votes of people who failed an attention item."""
    leaks: int
    """Left out unless asked for: an answer on the ballot gave its source away."""


@dataclass(frozen=True, slots=True)
class SourceShares:
    """How often a source was marked, over the judged ballots (all but skipped ones) where it could be."""

    source: str
    most: Share
    least: Share
    """Over ballots with three votable answers or more; on others nobody is asked."""


@dataclass(frozen=True, slots=True)
class Strength:
    """One source on the scale of log-odds; the mean of all sources is 0."""

    source: str
    strength: float
    low: float | None
    high: float | None
    chance: float
    """Of being marked as most empathetic if all sources stood on one ballot and position meant nothing, 0..1."""
    chance_low: float | None
    chance_high: float | None


@dataclass(frozen=True, slots=True)
class PositionEffect:
    """What a position adds to the log-odds of being marked, whoever stands there; the mean of all positions is 0."""

    position: int
    most: float
    most_low: float | None
    most_high: float | None
    least: float | None
    """None where nobody was asked for the least empathetic answer."""
    least_low: float | None
    least_high: float | None


@dataclass(frozen=True, slots=True)
class Strengths:
    """The fitted model, or why there is none."""

    reason: str | None
    """Why the strengths are not estimable; None when they are."""
    sources: list[Strength]
    """Strongest first; empty when not estimable."""
    positions: list[PositionEffect]
    position_reason: str | None
    """Why there are no position effects; the strengths are then without them."""
    interval_reason: str | None
    """Why there are no intervals."""
    ballots: int
    """Ranked and tied ballots that the model saw."""
    people: int
    resamples: int
    """Bootstrap samples of people that could be fitted."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's alpha: 1 is full agreement, 0 what chance gives, below 0 is less than chance."""

    alpha: float | None
    reason: str | None
    items: int
    """Items that two people or more judged."""
    judgements: int
    """On those items."""


@dataclass(frozen=True, slots=True)
class PositionShare:
    """How often the answer at one position was marked as most empathetic, over the ranked ballots where it could be."""

    position: int
    most: Share
    expected: float
    """Number of marks if position meant nothing and all answers were alike."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """Marks by position, and a chi-square test against `expected`."""

    positions: list[PositionShare]
    statistic: float | None
    degrees: int
    p: float | None
    """Chance of so large a statistic without bias. Votes of one person are taken as independent."""


@dataclass(frozen=True, slots=True)
class Leak:
    """Of the showings of a source, those whose answer gave the source away."""

    source: str
    rate: Share


@dataclass(frozen=True, slots=True)
class TrialArm:
    """Effect of the offer to write low replies again, by the intention to treat."""

    source: str | None
    """None for all sources together."""
    assigned: Share
    """Most empathetic, of the showings of answers that chance gave the treatment."""
    control: Share
    difference: float | None
    """Assigned minus control, -1..1, with Newcombe's interval."""
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class StudyResults:
    """Everything about one study."""

    study: str
    wanted: Wanted
    counted: Counted
    people: int
    """Who cast the votes that count."""
    conditions: list[str]
    """All there are among the votes, for choosing one."""
    shares: list[SourceShares]
    """Most often marked as most empathetic first."""
    strengths: Strengths
    agreement_most: Agreement
    agreement_least: Agreement
    position: PositionBias
    leaks: list[Leak]
    trial: list[TrialArm]
    """Empty without a trial; the first is of all sources together."""
