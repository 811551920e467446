"""Charts as SVG files, readable on a light and a dark ground; every figure in them also stands as text.

No library of charts: each is a few bars or dots with their intervals, drawn by one template.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heard.chat_app.common.notice import templates
from heard.chat_app.results.display import interval, odds, odds_interval, percent
from heard.chat_app.results.records import SourceShares, Strengths, StudyResults

LEFT, RIGHT, TOP, ROW = 200, 560, 64, 56
"""Where the scale begins and ends, where the first source stands, and the height of a source; units of the drawing."""
LONGEST = 22
"""Characters of a name; a longer one is cut, and whole in the tooltip."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One bar or dot: places on the scale in units of the drawing, and its figures in words."""

    name: str
    kind: str
    """"most", "least" or "dot"."""
    y: float
    at: float
    low: float | None
    high: float | None
    text: str


def most_and_least(shares: Sequence[SourceShares]) -> str:
    """The study's Figure 3: two bars for each source, with intervals of 95%."""
    marks = []
    for number, one in enumerate(shares):
        for place, (kind, share) in enumerate((("most", one.most), ("least", one.least))):
            marks.append(
                Mark(
                    one.source if place == 0 else "",
                    kind,
                    TOP + ROW * number + 14 + 20 * place,
                    _along(share.share or 0.0),
                    None if share.low is None else _along(share.low),
                    None if share.high is None else _along(share.high),
                    f"{percent(share.share)} ({interval(share.low, share.high)})",
                )
            )
    ticks = [(_along(value / 100), f"{value}%") for value in range(0, 101, 25)]
    return _drawn("Share of ballots marked as most and as least empathetic", marks, ticks, len(shares), bars=True)


def strengths_chart(strengths: Strengths) -> str:
    """The strengths as dots with intervals of 95%; a sentence in their place when they are not estimable."""
    reach = reach_of(strengths)
    marks = [
        Mark(
            one.source,
            "dot",
            TOP + ROW * number + 24,
            _along(0.5 + one.strength / reach / 2),
            None if one.low is None else _along(0.5 + one.low / reach / 2),
            None if one.high is None else _along(0.5 + one.high / reach / 2),
            f"{odds(one.strength)} ({odds_interval(one.low, one.high)})",
        )
        for number, one in enumerate(strengths.sources)
    ]
    ticks = [(_along(0.5 + part / 2), odds(part * reach)) for part in (-1, -0.5, 0, 0.5, 1)]
    title = "Strength in log-odds, mean of the sources = 0"
    return _drawn(title, marks, ticks, len(strengths.sources), bars=False, words=strengths.reason or "")


PICTURES: dict[str, Callable[[StudyResults], str]] = {
    "most-least": lambda found: most_and_least(found.shares),
    "strengths": lambda found: strengths_chart(found.strengths),
}
"""The charts of a study, by the names of their files."""


def reach_of(strengths: Strengths) -> float:
    """Half the width of a scale round 0 that holds every strength and interval; a multiple of one half."""
    ends = [abs(end) for one in strengths.sources for end in (one.strength, one.low, one.high) if end is not None]
    return (int(max(ends, default=0.0) * 2) + 1) / 2


def _along(part: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * min(max(part, 0.0), 1.0), 1)


def _drawn(
    title: str, marks: list[Mark], ticks: list[tuple[float, str]], rows: int, *, bars: bool, words: str = ""
) -> str:
    return templates().get_template("chart.svg").render(
        title=title, marks=marks, ticks=ticks, bars=bars, words=words, left=LEFT, right=RIGHT, top=TOP, longest=LONGEST,
        bottom=TOP + ROW * max(rows, 1),
    )  # fmt: skip
