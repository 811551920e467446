"""Charts as SVG files, readable on a light and a dark background; every figure in them is also text.

No chart library: each is a few bars or dots with their intervals, drawn by one template.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heard.chat_app.common.notice import templates
from heard.chat_app.results.display import interval, odds, odds_interval, percent
from heard.chat_app.results.records import SourceShares, Strengths, StudyResults

LEFT, RIGHT, TOP, ROW = 200, 560, 64, 56
"""Left and right end of the scale, top of the first source, and height of a source, in units of the drawing."""
LONGEST = 22
"""Most characters of a name; a longer one is cut, and complete in the tooltip."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One bar or dot: its places on the scale in units of the drawing, and its figures as text."""

    name: str
    kind: str
    """"most", "least" or "dot"."""
    y: float
    at: float
    low: float | None
    high: float | None
    text: str


def most_and_least(shares: Sequence[SourceShares]) -> str:
    """Return the founding study's Figure 3: two bars for each source, with intervals of 95% over people and
    items."""
    marks = []
    for number, one in enumerate(shares):
        both = (("most", one.most, one.most_interval), ("least", one.least, one.least_interval))
        for place, (kind, share, found) in enumerate(both):
            marks.append(
                Mark(
                    one.source if place == 0 else "",
                    kind,
                    TOP + ROW * number + 14 + 20 * place,
                    _x_of(share.share or 0.0),
                    None if found.low is None else _x_of(found.low),
                    None if found.high is None else _x_of(found.high),
                    f"{percent(share.share)} ({interval(found.low, found.high)})",
                )
            )
    ticks = [(_x_of(value / 100), f"{value}%") for value in range(0, 101, 25)]
    return _render("Share of ballots marked as most and as least empathetic", marks, ticks, len(shares), bars=True)


def strengths_chart(strengths: Strengths) -> str:
    """Return the strengths as dots with intervals of 95%, or a sentence if they are not estimable."""
    reach = reach_of(strengths)
    marks = [
        Mark(
            one.source,
            "dot",
            TOP + ROW * number + 24,
            _x_of(0.5 + one.strength / reach / 2),
            None if one.low is None else _x_of(0.5 + one.low / reach / 2),
            None if one.high is None else _x_of(0.5 + one.high / reach / 2),
            f"{odds(one.strength)} ({odds_interval(one.low, one.high)})",
        )
        for number, one in enumerate(strengths.sources)
    ]
    ticks = [(_x_of(0.5 + part / 2), odds(part * reach)) for part in (-1, -0.5, 0, 0.5, 1)]
    title = "Strength in log-odds, mean of the sources = 0"
    return _render(title, marks, ticks, len(strengths.sources), bars=False, words=strengths.reason or "")


PICTURES: dict[str, Callable[[StudyResults], str]] = {
    "most-least": lambda found: most_and_least(found.shares),
    "strengths": lambda found: strengths_chart(found.strengths),
}
"""The charts of a study by file name."""


def reach_of(strengths: Strengths) -> float:
    """Return half the width of a scale around 0 that includes every strength and interval, a multiple of 0.5."""
    ends = [abs(end) for one in strengths.sources for end in (one.strength, one.low, one.high) if end is not None]
    return (int(max(ends, default=0.0) * 2) + 1) / 2


def _x_of(part: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * min(max(part, 0.0), 1.0), 1)


def _render(
    title: str, marks: list[Mark], ticks: list[tuple[float, str]], rows: int, *, bars: bool, words: str = ""
) -> str:
    return templates().get_template("chart.svg").render(
        title=title, marks=marks, ticks=ticks, bars=bars, words=words, left=LEFT, right=RIGHT, top=TOP, longest=LONGEST,
        bottom=TOP + ROW * max(rows, 1),
    )  # fmt: skip
