"""One labelled reply, and the CSV files that hold them."""

import csv
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from heard.scorer.errors import ScorerError

STYLE_FACETS = {"overdone": ("hyper", "stuffing", "stuffed", "grading"), "irony": ("sarcasm",)}
"""Facets of the project's own sets that their styles say."""


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled reply."""

    source: str
    """"epitome", "esconv", "annomi", "project", "everyday", "own everyday", "marks" or "labels"."""
    group: str
    """Examples of one group (seeker post, conversation, rater) never part between training and test."""
    seeker: str
    reply: str
    """As written; `prepared` gives what the encoder sees."""
    labels: dict[str, float] = field(default_factory=dict)
    """Facet or component to its value 0..1. What is absent is not known, which is not the same as 0."""
    style: str = ""
    """Of the project's own sets: the kind of reply. Of everyday talk: the conversation."""
    test: bool = False
    """Of the project's own sets: kept out of training and of every choice."""
    weight: float = 1.0
    """What its labels count for beside another reply's of its source."""


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV that comes with heard or with its sources. Raises ScorerError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise ScorerError(
            f"{path} cannot be read ({error.strerror}). Give the folder that holds the label sources."
        ) from error


def digest(text: str) -> str:
    """A short name of a text, the same for other spaces and capitals."""
    return hashlib.sha256(" ".join(text.lower().split()).encode("utf-8", "replace")).hexdigest()[:16]
