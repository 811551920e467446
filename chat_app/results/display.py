"""Figures as people read them: percentages with one decimal, log-odds with two, and the words for what was left out."""

from heard.chat_app.results.records import Counted, Share

MISSING = "–"
LEFT_OUT = (
    ("no_consent", "The person has not allowed research, or has withdrawn."),
    ("attention_items", "Votes on attention items, which judge the person and not the answers."),
    ("other_conditions", "Another condition than the one asked for."),
    ("failed_attention", "The person failed an attention item."),
    ("leaks", "An answer on the ballot gave its source away."),
)
"""Fields of Counted and their reasons, in the order in which they are checked."""


def percent(share: float | None) -> str:
    """`30.5%`, or a dash."""
    return MISSING if share is None else f"{100 * share:.1f}%"


def interval(low: float | None, high: float | None) -> str:
    """`29.2 to 31.8`, in percent, or a dash."""
    return MISSING if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def odds(value: float | None) -> str:
    """`+0.69`, with a true minus sign, or a dash."""
    return MISSING if value is None else f"{value:+.2f}".replace("-", "−")


def odds_interval(low: float | None, high: float | None) -> str:
    """`+0.65 to +0.72`, or a dash."""
    return MISSING if low is None or high is None else f"{odds(low)} to {odds(high)}"


def counts(share: Share) -> str:
    """`1524 of 5000`."""
    return f"{share.count} of {share.of}"


def left_out(counted: Counted) -> list[tuple[str, int]]:
    """(reason, number of votes) for each reason for which there are any."""
    return [(reason, number) for field, reason in LEFT_OUT if (number := getattr(counted, field))]


def chance_of(p: float | None) -> str:
    """`p = 0.031`, or `p < 0.001`."""
    if p is None:
        return MISSING
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
