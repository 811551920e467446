"""The answers of a comparison as rows of a table: text, scores, cost and status."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, median

from heard.chat_app.comparing.human_answers import HumanAnswer
from heard.chat_app.comparing.journal import JournalEntry
from heard.chat_app.comparing.plan import AnswerKey, Plan, PlannedAnswer
from heard.chat_app.studies.item_drafts import HUMAN
from heard.db.records import DraftRecord, ScoreRecord, StepRecord
from heard.scorer.records import READINGS, SCALES

EMPATHY = "empathy"
MEASURES = READINGS
"""The scores, each on 1..3: the four of the rubric, and how empathic people would call the answer."""
Source = tuple[str, str, str]
"""Model, persona and strategy, by name; of human answers HUMAN and no other name."""
HUMAN_SOURCE: Source = (HUMAN, "", "")
COMPLETE, FAILED, MISSING = "complete", "failed", "missing"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the plan, generated or not."""

    key: AnswerKey
    question: str
    status: str
    """COMPLETE, FAILED, or MISSING if no run has tried it yet."""
    drafts: tuple[DraftRecord, ...] = ()
    error: str | None = None
    """Kind of the failure."""

    @property
    def kept(self) -> DraftRecord | None:
        """The kept draft; None if no draft is complete."""
        return next((one for one in self.drafts if one.kept), None) if self.status == COMPLETE else None

    @property
    def score(self) -> ScoreRecord | None:
        """The score of the kept draft; None if it could not be scored."""
        score = self.kept.score if self.kept else None
        return score if score is not None and score.empathy is not None else None


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of drafts, hidden calls included."""

    seconds: float
    prompt_tokens: int | None
    """None if the server gave no counts."""
    completion_tokens: int | None

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


def answers_from_journal(plan: Plan, entries: Iterable[JournalEntry]) -> list[Answer]:
    """Return every answer of the plan, in its order, the human ones last."""
    found = {entry.key: entry for entry in entries}
    planned: Iterator[PlannedAnswer | HumanAnswer] = chain(plan.planned_answers(), plan.human)
    return [_answer(one, found.get(one.key)) for one in planned]


def total_cost(drafts: Sequence[DraftRecord]) -> Cost:
    """Return the summed cost of drafts and their hidden calls."""
    calls: list[DraftRecord | StepRecord] = [*drafts, *(step for draft in drafts for step in draft.steps)]
    return Cost(
        seconds=sum(call.total_seconds for call in calls),
        prompt_tokens=_sum(call.prompt_tokens for call in calls),
        completion_tokens=_sum(call.completion_tokens for call in calls),
    )


def median_or_none(values: Iterable[float]) -> float | None:
    """Return the median; None without any value."""
    known = list(values)
    return median(known) if known else None


def score_of(answer: Answer, measure: str) -> float | None:
    """Return one of MEASURES, 1..3; None if there is no score, or none of that measure."""
    if answer.score is None:
        return None
    value: float | None = getattr(answer.score, measure)
    return value


def source_name(source: Source) -> str:
    """Return a source's name, such as "smollm2 / listener / plain" or "human"."""
    return " / ".join(part for part in source if part)


def question_scores(answers: Iterable[Answer], measure: str) -> dict[str, float]:
    """Return the score of each question in one of MEASURES, 1..3: the mean of its scored answers, of which there are
    several only where people answered. A question without a score is not in it."""
    found: dict[str, list[float]] = {}
    for answer in answers:
        if (value := score_of(answer, measure)) is not None:
            found.setdefault(answer.key[0], []).append(value)
    return {question: fmean(values) for question, values in found.items()}


def measures_of(answers: Iterable[Answer]) -> tuple[str, ...]:
    """Return the measures of these answers, in order: the four of the rubric, and others that some answer has."""
    scores = [answer.score for answer in answers]
    return tuple(
        name for name in MEASURES if name in SCALES or any(getattr(score, name, None) is not None for score in scores)
    )


def by_source(answers: Iterable[Answer]) -> Iterator[tuple[Source, list[Answer]]]:
    """Yield each source with its answers, in order."""
    grouped: dict[Source, list[Answer]] = {}
    for answer in answers:
        _, model, persona, strategy, _ = answer.key
        grouped.setdefault((model, persona, strategy), []).append(answer)
    yield from grouped.items()


def _answer(planned: PlannedAnswer | HumanAnswer, entry: JournalEntry | None) -> Answer:
    if entry is None:
        return Answer(planned.key, planned.question.text, MISSING)
    if entry.failure is not None:
        return Answer(planned.key, planned.question.text, FAILED, entry.drafts, entry.failure.value)
    return Answer(planned.key, planned.question.text, COMPLETE, entry.drafts)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if any(count is None for count in known) else sum(count or 0 for count in known)
