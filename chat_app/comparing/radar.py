"""Radar charts of a comparison, like the founding study's Figure 2: one a source, over the components and Empathy."""

from collections.abc import Mapping
from math import ceil, pi
from pathlib import Path

from heard.errors import UserError
from heard.scorer.records import HIGHEST, LOWEST, SCALES

FILES = ("radar.png", "radar.svg")
MISSING = (
    'The radars need matplotlib: pip install "heard[charts]" (from a checkout: pip install -e ".[charts]"), and run '
    "the same command again. Everything else is written."
)
RADARS_PER_ROW = 4
SIZE = 3.0
"""Size of one radar in inches."""


class ChartsMissing(UserError):
    """Matplotlib is not installed; `str()` says how to install it."""


def draw(means: Mapping[str, Mapping[str, float]], folder: Path) -> list[Path]:
    """Write FILES and return their paths. `means` maps a source to its mean of each score, 1..3; a source without any
    is left out.

    Raises ChartsMissing, and OSError if the folder cannot be written to.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
        from matplotlib.projections.polar import PolarAxes
    except ImportError:
        raise ChartsMissing(MISSING) from None
    scored = {source: scores for source, scores in means.items() if scores}
    columns = max(1, min(RADARS_PER_ROW, len(scored)))
    rows = max(1, ceil(len(scored) / columns))
    angles = [2 * pi * place / len(SCALES) for place in range(len(SCALES))]
    # The same figures give the same file, to the byte; words in it stay words.
    with mpl.rc_context({"svg.hashsalt": "heard", "svg.fonttype": "none"}):
        figure = Figure(figsize=(SIZE * columns, (SIZE + 0.3) * rows), layout="constrained")
        for number, (source, scores) in enumerate(scored.items(), 1):
            axes = figure.add_subplot(rows, columns, number, projection="polar")
            assert isinstance(axes, PolarAxes)
            values = [scores[measure] for measure in SCALES]
            axes.plot([*angles, angles[0]], [*values, values[0]], color="#0f766e", linewidth=1.5)
            axes.fill(angles, values, color="#0f766e", alpha=0.2)
            axes.set_theta_offset(pi / 2)
            axes.set_theta_direction(-1)
            axes.set_ylim(LOWEST, HIGHEST)
            axes.set_yticks([LOWEST, 2.0, HIGHEST], ["1", "2", "3"], fontsize=7, color="0.4")
            axes.set_xticks(angles, [measure.capitalize() for measure in SCALES], fontsize=8)
            axes.tick_params(axis="x", pad=14)
            axes.set_title(source.replace("$", r"\$"), fontsize=9, pad=14)
        paths = [folder / name for name in FILES]
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            figure.savefig(path, metadata=metadata, facecolor="white", dpi=150)
    return paths
