"""Tables of a card: a name and its cells a row, as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heard.scorer.errors import ScorerError

MARKS = ("<!-- figures -->", "<!-- end of figures -->")
"""In a card, before and after the tables that are made again."""


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


def write_between_marks(card: Path, text: str) -> None:
    """Replace what stands between the two marks of a card. Raises ScorerError if they are not there."""
    try:
        whole = card.read_text(encoding="utf-8")
    except OSError as error:
        raise ScorerError(f"{card} cannot be read. Give the card of a head.") from error
    before, first, rest = whole.partition(MARKS[0])
    _, last, after = rest.partition(MARKS[1])
    if not first or not last:
        raise ScorerError(f"{card} has no place for figures. Put {MARKS[0]} and {MARKS[1]} on lines of their own.")
    card.write_text(f"{before}{first}\n\n{text.strip()}\n\n{last}{after}", encoding="utf-8")
