"""Tables of a card: a name and its cells a row, as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table: a name and its cells."""

    name: str
    cells: dict[str, str]


def markdown(lines: Sequence[Line]) -> str:
    """A Markdown table of lines that share their columns."""
    columns = list(lines[0].cells)
    head = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join([*head, *(f"| {line.name} | " + " | ".join(line.cells.values()) + " |" for line in lines)])


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation."""
    known = [value for value in values if not np.isnan(value)]  # a small fold may lack one kind
    return f"{np.mean(known):.3f} ± {np.std(known):.3f}" if known else "too few"
