"""A model's answers to the questions of a study as CSV, and its scores with their spread over the runs."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from heard.chat_app.common.csv_cell import csv_cell
from heard.chat_app.comparing.item_asking import Asking, ModelAnswer
from heard.chat_app.questions.branching import as_number
from heard.chat_app.questions.question_file import countable
from heard.chat_app.questions.question_set import items_by_key
from heard.chat_app.questions.scoring import scores_of

Answers = Mapping[tuple[int, str], ModelAnswer]
"""By run and item."""
_WHO = ("study", "model", "persona", "run")
ANSWER_COLUMNS = (*_WHO, "question", "kind", "value", "number", "correct", "attempts", "text", "prompt_sha256")
SCORE_COLUMNS = (*_WHO, "file", "score", "value", "answered", "items")


@dataclass(frozen=True, slots=True)
class Spread:
    """One score over the runs."""

    name: str
    """File and score."""
    mean: float | None
    """None if no run has it."""
    deviation: float | None
    """Standard deviation between runs (n - 1); None for fewer than two."""
    runs: int
    """Runs that have it."""


def answers_csv(asking: Asking, answers: Answers) -> str:
    """Return ANSWER_COLUMNS, one row an answer, in order of runs and of the study."""
    items = items_by_key(asking.study.questions)
    order = {key: place for place, key in enumerate(items)}
    rows = []
    for answer in sorted(answers.values(), key=lambda one: (one.run, order[one.item])):
        file, item = items[answer.item]
        is_number = item.kind == "number" or countable(file, item)
        rows.append(
            (
                *_who(asking, answer.run), answer.item, item.kind, answer.value,
                as_number(answer.value or "") if is_number else None,
                None if not item.correct or answer.value is None else str(answer.value == item.correct).lower(),
                answer.attempts, answer.text, answer.prompt_sha256,
            )
        )  # fmt: skip
    return _csv(ANSWER_COLUMNS, rows)


def scores_csv(asking: Asking, answers: Answers, times: int) -> str:
    """Return SCORE_COLUMNS, one row a score of a run."""
    rows = [
        (*_who(asking, run), file, score, value, answered, of)
        for run, file, score, value, answered, of in _scores(asking, answers, times)
    ]
    return _csv(SCORE_COLUMNS, rows)


def spreads(asking: Asking, answers: Answers, times: int) -> list[Spread]:
    """Return the mean and the spread of each score over the runs 1 to `times`."""
    found: dict[str, list[float]] = {}
    for _, file, score, value, _, _ in _scores(asking, answers, times):
        found.setdefault(f"{file}.{score}", []).extend([] if value is None else [value])
    return [
        Spread(name, fmean(values) if values else None, stdev(values) if len(values) > 1 else None, len(values))
        for name, values in found.items()
    ]


def _scores(asking: Asking, answers: Answers, times: int) -> Iterable[tuple[int, str, str, float | None, int, int]]:
    for run in range(1, times + 1):
        for file in asking.study.questions:
            own = {
                key.removeprefix(f"{file.id}."): answer.value
                for (of, key), answer in answers.items()
                if of == run and key.startswith(f"{file.id}.")
            }
            for score in scores_of(file, own):
                yield run, file.id, score.name, score.value, score.answered, score.items


def _who(asking: Asking, run: int) -> tuple[str, str, str, int]:
    return asking.study.id, asking.spec.id, asking.persona.id if asking.persona else "", run


def _csv(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    writer.writerows([csv_cell(str(cell) if isinstance(cell, int) else cell) for cell in row] for row in rows)
    return out.getvalue()
