"""How the scorer's time grows: with a reply's length, and with the number of replies. `python -m tests.bench.growth`.

Writes the lines to docs/growth.svg. Each point is the median of ROUNDS rounds that go through all points in turn, so
that a busy moment of the machine touches every point alike; the bars reach from the fastest to the slowest round.
"""

import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot

from heard.chat_app.common.settings import Settings
from heard.chat_app.models.downloads import ensure_weights
from heard.scorer.encoder import WINDOW
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer
from heard.scorer.training.data import project_set
from tests.bench.served import machine

PICTURE = Path(__file__).parents[2] / "docs" / "growth.svg"
TOKENS = (16, 32, 64, 128, 256, 384, 512, 768, 1024, 1536, 2000)
REPLIES = (10, 30, 100, 300, 600)
ROUNDS = 3

Points = dict[int, list[float]]


def main() -> None:
    """Measure, draw, and print the points."""
    ours = Scorer.load(HEADS / DEFAULT_HEAD, ensure_weights(Settings().cache_dir).encoder, threads=os.cpu_count() or 1)
    texts = {size: _text(ours, size) for size in TOKENS}
    length = _measured(TOKENS, lambda size: ours.score("", texts[size]))
    pairs = [(example.seeker, example.reply) for example in project_set()]

    def stream(count: int) -> None:
        for seeker, reply in itertools.islice(itertools.cycle(pairs), count):
            ours.score(seeker, reply)

    number = _measured(REPLIES, stream)
    _draw(length, number)
    for name, points in (("tokens", length), ("replies", number)):
        for size, seconds in points.items():
            sys.stdout.write(f"{size:>6} {name}: {statistics.median(seconds):.4f} s\n")
    sys.stdout.write(f"{PICTURE}\n")


def _text(ours: Scorer, tokens: int) -> str:
    words = " ".join(example.reply for example in project_set()).split()
    size = tokens
    while len(ours.encoder.ids(" ".join(words[:size]))) > tokens:
        size -= 1
    return " ".join(words[:size])


def _measured(sizes: Sequence[int], work: Callable[[int], object]) -> Points:
    points: Points = {size: [] for size in sizes}
    work(sizes[0])
    for _ in range(ROUNDS):
        for size in sizes:
            began = time.perf_counter()
            work(size)
            points[size].append(time.perf_counter() - began)
    return points


def _draw(length: Points, number: Points) -> None:
    mpl.rcParams["svg.hashsalt"] = "heard"
    mpl.rcParams["svg.fonttype"] = "none"
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    _line(left, length, 1000, "tokens in the reply", "milliseconds for its score")
    left.axvline(WINDOW - 2, color="0.6", linewidth=0.8, linestyle="--")
    left.annotate("a second window begins", (WINDOW - 2, 0), xytext=(6, 6), textcoords="offset points", color="0.35")
    _line(right, number, 1, "replies", "seconds for all")
    figure.suptitle(f"{machine()}; median of {ROUNDS} rounds, bars from fastest to slowest", fontsize=8, color="0.35")
    figure.savefig(PICTURE, metadata={"Date": None}, facecolor="white")


def _line(axes: "pyplot.Axes", points: Points, scale: float, below: str, beside: str) -> None:
    sizes = list(points)
    middle = [scale * statistics.median(points[size]) for size in sizes]
    ends = [
        [value - scale * min(points[size]) for size, value in zip(sizes, middle, strict=True)],
        [scale * max(points[size]) - value for size, value in zip(sizes, middle, strict=True)],
    ]
    axes.errorbar(sizes, middle, yerr=ends, marker="o", markersize=4, capsize=2, color="#0f766e")
    axes.set(xlabel=below, ylabel=beside)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)


if __name__ == "__main__":
    main()
