"""Format figures: percentages with one decimal, log-odds with two, and the reasons for exclusions in words."""

from heard.chat_app.results.records import InclusionCounts, Interval, Share, Strengths, StudyResults

MISSING = "–"
LEFT_OUT = (
    ("too_fast", "Faster than the fewest seconds asked for."),
    ("no_consent", "The person has not allowed research, or has withdrawn."),
    ("excluded_people", "The person was excluded from the study, by a rule or by hand."),
    ("attention_items", "Votes on attention items, which judge the person and not the answers."),
    ("other_conditions", "Another condition than the one asked for."),
    ("failed_attention", "The person failed an attention item."),
    ("leaks", "An answer on the ballot gave its source away."),
)
"""Fields of InclusionCounts and their reasons, in the order in which they are checked."""

TRIAL = (
    "By the intention to treat: answers count by what chance assigned, whether or not they were written again. The "
    "interval is over answers, the unit that chance assigns, and people; sources are compared within themselves. By "
    "chance: how often assigning the same answers anew gives a difference at least as large."
)


def percent(share: float | None) -> str:
    """Return a share such as `30.5%`, or a dash."""
    return MISSING if share is None else f"{100 * share:.1f}%"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval in percent such as `29.2 to 31.8`, or a dash."""
    return MISSING if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def beside(found: Interval) -> str:
    """Return an interval over people and items in percent, or a dash."""
    return interval(found.low, found.high)


def why_no_intervals(results: StudyResults) -> str:
    """Return the reasons why shares have no intervals over people and items, each once; empty if all have."""
    found = [one.reason for share in results.shares for one in (share.most_interval, share.least_interval)]
    asked = [share.least.of > 0 for share in results.shares]
    if not any(asked):  # nobody is asked for the least of two answers, which needs no reason
        found = [share.most_interval.reason for share in results.shares]
    return " ".join(dict.fromkeys(reason for reason in found if reason))


def odds(value: float | None) -> str:
    """Return log-odds such as `+0.69`, with a true minus sign, or a dash."""
    return MISSING if value is None else f"{value:+.2f}".replace("-", "−")


def odds_interval(low: float | None, high: float | None) -> str:
    """Return an interval of log-odds such as `+0.65 to +0.72`, or a dash."""
    return MISSING if low is None or high is None else f"{odds(low)} to {odds(high)}"


def counts(share: Share) -> str:
    """Return counts such as `1524 of 5000`."""
    return f"{share.count} of {share.of}"


def sample(fitted: Strengths) -> str:
    """Return the sample of the strengths, such as `From 120 ballots of 12 people.`"""
    ballots, people = fitted.ballots, fitted.people
    return f"From {ballots} ballot{'s' * (ballots != 1)} of {people} {'person' if people == 1 else 'people'}."


def left_out(counted: InclusionCounts) -> list[tuple[str, int]]:
    """Return (reason, number of votes) for each reason with any votes."""
    return [(reason, number) for field, reason in LEFT_OUT if (number := getattr(counted, field))]


def chance_of(p: float | None) -> str:
    """Return a p value such as `p = 0.031` or `p < 0.001`."""
    if p is None:
        return MISSING
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
