"""A team's own labels: a CSV of rated replies. A bad row is reported with its line, and the others are used."""

import hashlib
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from heard.scorer.csv_rows import Fault, Row, read_file, read_sheet
from heard.scorer.errors import ScorerError
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST
from heard.scorer.text import read
from heard.scorer.training.data import FOLDS
from heard.scorer.training.example import Example

NEEDED = ("reply", *COMPONENTS)
OPTIONAL = ("seeker", "rater")
"""The message that was answered, and who rated: any name or number."""
MOST_FAULTS = 20
"""Bad rows that are reported one by one; the others are counted."""


@dataclass(frozen=True, slots=True)
class Rated:
    """One row that can be used."""

    line: int
    """Where it begins in the file, counted from 1."""
    rater: str
    """Who rated it; "" where the file does not say."""
    example: Example


@dataclass(frozen=True, slots=True)
class Labels:
    """A file of ratings."""

    name: str
    """Of the file, for messages."""
    encoding: str
    """What it was read as, for people."""
    rated: list[Rated]
    """Rows that can be used, one at least, in the file's order."""
    faults: list[Fault]
    """Rows that cannot, each with its reason, in the file's order."""

    @property
    def examples(self) -> list[Example]:
        """What a head is trained and measured on."""
        return [row.example for row in self.rated]


def read_labels(path: Path) -> Labels:
    """The ratings in a CSV with the columns reply, cognitive, emotional, behavioral and perhaps seeker and rater.

    Ratings are 1..3; an empty cell is "not rated", and a blank row is passed over. The same reply may be there more
    than once, as where two people rated it. Raises ScorerError for a file that is no such CSV, or has no usable row.
    """
    sheet = read_sheet(str(path), read_file(path), NEEDED, OPTIONAL)
    rated: list[Rated] = []
    faults = list(sheet.faults)
    lines: dict[tuple[str, str, str], int] = {}
    for row in sheet.rows:
        try:
            one = _rated(row)
            if one.rater:  # without a name, two rows may be two people
                first = lines.setdefault((one.rater, one.example.seeker, one.example.reply), row.line)
                if first != row.line:
                    raise _BadRow(f"{one.rater[:40]} has rated this reply in line {first} already.")
        except _BadRow as error:
            faults.append(Fault(row.line, str(error)))
        else:
            rated.append(one)
    faults.sort(key=lambda fault: fault.line)
    if not rated and not faults:
        raise ScorerError(f"{path} has no rows. Give one line for each rated reply.")
    if not rated:
        raise ScorerError(f"{path} has no row that can be used ({len(faults)} faults). The first: {faults[0]}")
    return Labels(str(path), sheet.encoding, rated, faults)


def check_enough(labels: Labels) -> None:
    """Raises ScorerError unless there are all three components, and messages for every fold."""
    messages = len({example.group for example in labels.examples})
    if messages < FOLDS:
        raise ScorerError(
            f"{labels.name} has replies to {messages} different message(s); at least {FOLDS} are needed, so that the "
            "error can be measured on messages that were not trained on."
        )
    for name in COMPONENTS:
        if not any(name in example.labels for example in labels.examples):
            raise ScorerError(f"{labels.name} has no rating in the column {name}. Rate at least some replies on it.")


def account(labels: Labels) -> str:
    """What was read and what was not, as lines for a person."""
    used, left_out = len(labels.rated), len(labels.faults)
    read_as = "" if labels.encoding == "UTF-8" else f", read as {labels.encoding}"
    lines = [f"{labels.name}: {used} of {used + left_out} rows can be used{read_as}."]
    if raters := len({row.rater for row in labels.rated} - {""}):
        apart = disagreement(labels)
        differ = "no reply was rated by two" if apart is None else f"two ratings of a reply differ by {apart:.2f}"
        lines.append(f"{raters} rater(s); {differ}.")
    if left_out:
        lines += ["Not used:", *(f"  {fault}" for fault in labels.faults[:MOST_FAULTS])]
        if left_out > MOST_FAULTS:
            lines.append(f"  and {left_out - MOST_FAULTS} more.")
    return "\n".join(lines)


def disagreement(labels: Labels) -> float | None:
    """Mean distance, 0..2, of two named raters' ratings of the same component of the same reply; None without any."""
    given: dict[tuple[str, str, str], list[float]] = {}
    for row in labels.rated:
        if row.rater:
            for name, share in row.example.labels.items():
                given.setdefault((row.example.seeker, row.example.reply, name), []).append(share)
    apart = [abs(a - b) for shares in given.values() for a, b in combinations(shares, 2)]
    return (HIGHEST - LOWEST) * sum(apart) / len(apart) if apart else None


class _BadRow(Exception):
    """Why a row cannot be used."""


def _rated(row: Row) -> Rated:
    cells = row.cells
    labels = {
        name: (_rating(name, cell) - LOWEST) / (HIGHEST - LOWEST)
        for name in COMPONENTS
        if (cell := cells[name].strip())
    }
    if not labels:
        raise _BadRow(f"no rating. Give at least one of {', '.join(COMPONENTS)}.")
    reading = read(cells["reply"])
    if not reading.text:
        raise _BadRow(f"this reply cannot be scored. {reading.reason}")
    seeker = cells.get("seeker", "")
    example = Example("labels", _group(seeker.strip() or cells["reply"]), seeker, cells["reply"], labels)
    return Rated(row.line, cells.get("rater", "").strip(), example)


def _rating(name: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not LOWEST <= value <= HIGHEST:
        raise _BadRow(f'{name} is "{cell[:20]}", but ratings are numbers from 1 to 3, such as 2 or 2.5.')
    return value


def _group(text: str) -> str:
    return "labels-" + hashlib.sha256(" ".join(text.lower().split()).encode("utf-8", "replace")).hexdigest()[:16]
