"""Replies of the embedded model with the tone that a reader found in them, to measure the judge by.

They were drawn at random from one run of the bench, and labelled without the judge's word and before it had seen them.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from heard.scorer.shared_emotion import SharedEmotion

FILE = Path(__file__).with_name("labelled.csv")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One reply and its label."""

    reply: str
    tone: SharedEmotion


def labelled() -> list[Labelled]:
    """All of them, in the file's order."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [Labelled(**row) for row in csv.DictReader(file)]
