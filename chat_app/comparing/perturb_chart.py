"""A chart of perturbed replies, like the founding study's Figure 5: for each kind how the scores move, as bars.

One panel for each score; with the scores of the texts as they are written beside the repaired ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heard.chat_app.comparing.radar import ChartsMissing
from heard.scorer.records import SCALES

MISSING = (
    'The picture needs matplotlib: pip install "heard[charts]" (from a checkout: pip install -e ".[charts]"), and run '
    "the same command again."
)
COLOURS = ("#0f766e", "#c2410c")
"""Of the first series and of the second: told apart in grey too."""


LINES = {"elinewidth": 1, "capsize": 2}
"""How intervals are drawn."""


@dataclass(frozen=True, slots=True)
class Series:
    """The changes by one scorer."""

    name: str
    moves: Mapping[str, Mapping[str, float]]
    """Change of each score by kind, -2..2; a kind without one has no bar."""
    ends: Mapping[str, Mapping[str, tuple[float, float]]]
    """95% intervals, where there are any."""


def draw_changes(kinds: Sequence[str], series: Sequence[Series], path: Path) -> None:
    """Write the chart to `path`, as its ending says (.svg, .png, .pdf).

    Raises ChartsMissing, OSError if the file cannot be written, and ValueError for an ending that is no picture's.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise ChartsMissing(MISSING) from None
    height = 0.8 / len(series)
    # The same figures give the same file, to the byte; words in it stay words.
    with mpl.rc_context({"svg.hashsalt": "heard", "svg.fonttype": "none"}):
        figure = Figure(figsize=(11, 1.4 + 0.45 * len(kinds)), layout="constrained")
        panels = figure.subplots(1, len(SCALES), sharex=True, sharey=True)
        for axes, measure in zip(panels, SCALES, strict=True):
            for number, one in enumerate(series):
                for place, kind in enumerate(kinds):
                    value = one.moves.get(kind, {}).get(measure)
                    if value is None:
                        continue
                    at = place + (number - (len(series) - 1) / 2) * height
                    low, high = one.ends.get(kind, {}).get(measure, (value, value))
                    error = [[max(0.0, value - low)], [max(0.0, high - value)]] if low < high else None
                    axes.barh(at, value, height, color=COLOURS[number], xerr=error, ecolor="0.25", error_kw=LINES)
            axes.axvline(0, color="0.2", linewidth=0.8)
            axes.set_title(measure.capitalize(), fontsize=10)
            axes.tick_params(labelsize=8)
            axes.grid(axis="x", color="0.9")
            axes.set_axisbelow(True)
        panels[0].set_yticks(range(len(kinds)), kinds)
        panels[0].invert_yaxis()
        bars = [mpl.patches.Patch(color=COLOURS[number]) for number in range(len(series))]
        figure.legend(bars, [one.name for one in series], loc="outside lower right", ncols=2, fontsize=8, frameon=False)
        figure.supxlabel("change of the score", fontsize=9)
        metadata = {".svg": {"Date": None}, ".png": {"Software": None}}.get(path.suffix.lower())
        figure.savefig(path, metadata=metadata, facecolor="white", dpi=150)
