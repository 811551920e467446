"""Scores of a scale: reversed items, sum or mean, and a rule for missing answers.

An item that is worded the other way counts as min + max - x. A score needs answers to enough of its items: with a
larger share missing than its rule allows there is none. Else the mean is that of the items that are there, and a sum is
that mean times the number of all items. So each gap has the person's own mean over the scale's other items (person mean
substitution; Downey and King 1998, Missing data in Likert ratings: A comparison of replacement methods, Journal of
General Psychology 125(2), 175-191).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from heard.chat_app.questions.answering import bounds
from heard.chat_app.questions.branching import as_number
from heard.chat_app.questions.question_file import QuestionFile, Score


@dataclass(frozen=True, slots=True)
class Scored:
    """One score of one set of answers."""

    name: str
    value: float | None
    """In the units of the items (mean), or of their sum; None with too many answers missing."""
    answered: int
    """Items with an answer."""
    items: int
    """Items that count."""


def scores_of(file: QuestionFile, answers: Mapping[str, str | None]) -> list[Scored]:
    """Return the scores of a file, in its order. `answers` are stored answers by the item's own id."""
    return [_scored(file, score, answers) for score in file.scores]


def _scored(file: QuestionFile, score: Score, answers: Mapping[str, str | None]) -> Scored:
    items = {item.id: item for item in file.items}
    counted: list[float] = []
    for name in score.items:
        number = as_number(answers.get(name) or "")
        low, high = bounds(file, items[name])
        if number is None or low is None or high is None:
            continue
        counted.append(low + high - number if name in score.reversed else number)
    of = len(score.items)
    if not counted or (of - len(counted)) / of > score.missing:
        return Scored(score.name, None, len(counted), of)
    mean = sum(counted) / len(counted)
    return Scored(score.name, mean if score.combine == "mean" else mean * of, len(counted), of)
