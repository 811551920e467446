"""The answers of a comparison as rows of a table: text, scores, cost, and how each one ended."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from heard.chat_app.comparing.journal import Entry
from heard.chat_app.comparing.plan import Cell, Key, Plan
from heard.db.records import DraftRecord, ScoreRecord, StepRecord
from heard.scorer.records import COMPONENTS

EMPATHY = "empathy"
MEASURES = (*COMPONENTS, EMPATHY)
"""The four scores, each on 1..3."""
Source = tuple[str, str, str]
"""Model, persona and strategy, by name."""
COMPLETE, FAILED, MISSING = "complete", "failed", "missing"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the plan, written or not."""

    key: Key
    question: str
    status: str
    """COMPLETE, FAILED, or MISSING where no run has tried it yet."""
    drafts: tuple[DraftRecord, ...] = ()
    error: str | None = None
    """Kind of the failure."""

    @property
    def kept(self) -> DraftRecord | None:
        """The draft that stands; None where nothing came whole."""
        return next((one for one in self.drafts if one.kept), None) if self.status == COMPLETE else None

    @property
    def score(self) -> ScoreRecord | None:
        """Of the draft that stands; None where it could not be scored."""
        score = self.kept.score if self.kept else None
        return score if score is not None and score.empathy is not None else None


@dataclass(frozen=True, slots=True)
class Cost:
    """What drafts have cost, hidden calls included."""

    seconds: float
    prompt_tokens: int | None
    """None where the server gave no counts."""
    completion_tokens: int | None

    @property
    def tokens(self) -> int | None:
        """Read and written."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


def answers_of(plan: Plan, entries: Iterable[Entry]) -> list[Answer]:
    """Every answer of the plan, in its order."""
    found = {entry.key: entry for entry in entries}
    return [_answer(cell, found.get(cell.key)) for cell in plan.cells()]


def cost_of(drafts: Sequence[DraftRecord]) -> Cost:
    """The sum over drafts and their hidden calls."""
    calls: list[DraftRecord | StepRecord] = [*drafts, *(step for draft in drafts for step in draft.steps)]
    return Cost(
        seconds=sum(call.total_seconds for call in calls),
        prompt_tokens=_sum(call.prompt_tokens for call in calls),
        completion_tokens=_sum(call.completion_tokens for call in calls),
    )


def middle(values: Iterable[float]) -> float | None:
    """The median; None of nothing."""
    known = list(values)
    return median(known) if known else None


def score_of(answer: Answer, measure: str) -> float | None:
    """One of MEASURES, 1..3; None where there is no score."""
    if answer.score is None:
        return None
    value: float = getattr(answer.score, measure)
    return value


def sources(answers: Iterable[Answer]) -> Iterator[tuple[Source, list[Answer]]]:
    """The answers by source, in their order."""
    by_source: dict[Source, list[Answer]] = {}
    for answer in answers:
        _, model, persona, strategy, _ = answer.key
        by_source.setdefault((model, persona, strategy), []).append(answer)
    yield from by_source.items()


def _answer(cell: Cell, entry: Entry | None) -> Answer:
    if entry is None:
        return Answer(cell.key, cell.question.text, MISSING)
    if entry.failure is not None:
        return Answer(cell.key, cell.question.text, FAILED, entry.drafts, entry.failure.value)
    return Answer(cell.key, cell.question.text, COMPLETE, entry.drafts)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if any(count is None for count in known) else sum(count or 0 for count in known)
