"""Rows of the bench's table: a figure, its spread, the target, and whether it is met."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    value: float
    unit: str
    target: str
    met: bool
    spread: str

    def cells(self) -> list[str]:
        """The line's texts in the order of HEADINGS."""
        shown = f"{self.value:.2f}" if self.unit in ("x", "s", "ms") and self.value < 10 else f"{self.value:.0f}"
        return [self.what, f"{shown} {self.unit}".strip(), self.spread, self.target, "yes" if self.met else "NO"]


HEADINGS = ("figure", "seen", "spread", "target", "met")


def spread(values: Sequence[float]) -> str:
    """Lowest and highest, and how many."""
    return f"{min(values):.2f} .. {max(values):.2f}, n = {len(values)}"


def at_most(what: str, values: Sequence[float], unit: str, bound: float, value: float | None = None) -> Row:
    """A row that is met when the median (or `value`) is at most `bound`."""
    seen = statistics.median(values) if value is None else value
    return Row(what, seen, unit, f"at most {bound:g} {unit}".strip(), seen <= bound, spread(values))


def at_least(what: str, values: Sequence[float], unit: str, bound: float) -> Row:
    """A row that is met when the median is at least `bound`."""
    seen = statistics.median(values)
    return Row(what, seen, unit, f"at least {bound:g} {unit}".strip(), seen >= bound, spread(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0..1) of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]
