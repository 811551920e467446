"""Labelled lines of the guard: a message, one sentence in answer, and whether that sentence may be shown.

`scorer/guard_lines.csv` is what the default head learnt from; each line was written for it.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from heard.scorer.errors import ScorerError

LINES = Path(__file__).parent / "guard_lines.csv"
LINE_KINDS = ("human", "contact", "medical", "insult", "harm", "language", "delusion", "mismatch")
COLUMNS = ("writer", "kind", "verdict", "message", "reply")
VERDICTS = ("caught", "clean")


@dataclass(frozen=True, slots=True)
class GuardLine:
    """One labelled pair."""

    writer: str
    """Who wrote it: a guard that only knows one writer's words is no guard."""
    kind: str
    """One of LINE_KINDS; of a clean line the kind that it is near to."""
    caught: bool
    """Whether the reply may not be shown."""
    message: str
    reply: str


def read_lines(path: Path = LINES) -> list[GuardLine]:
    """A CSV with the columns COLUMNS. Raises ScorerError, with the line, for one that cannot be used."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScorerError(f"{path} cannot be read as a CSV in UTF-8. Check the path and the file.") from error
    for number, row in enumerate(rows, 2):
        known = row.get("kind") in LINE_KINDS and row.get("verdict") in VERDICTS
        if not known or not all((row.get(name) or "").strip() for name in COLUMNS):
            raise ScorerError(
                f"{path}, line {number}: each row needs a writer, a message, a reply, a verdict of "
                f"{' or '.join(VERDICTS)} and a kind of {', '.join(LINE_KINDS)}. Mend it."
            )
    if not rows:
        raise ScorerError(f"{path} holds no lines. Give a CSV with the columns {', '.join(COLUMNS)}.")
    return [
        GuardLine(row["writer"], row["kind"], row["verdict"] == "caught", row["message"], row["reply"]) for row in rows
    ]
