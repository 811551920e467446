"""Generate every answer of a plan that its journal lacks, with a limit of open calls and of calls per minute and model.

Memory holds only the answers of the open calls: each is in the journal, and released, before the next one is begun.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from aiolimiter import AsyncLimiter

from heard.chat_app.common.workers import gather_or_cancel
from heard.chat_app.comparing.journal import Journal, JournalEntry
from heard.chat_app.comparing.plan import AnswerKey, Plan, PlannedAnswer
from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.drafting import score_newest_draft, write_drafts
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import DraftComplete, TurnEvent
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec
from heard.chat_app.studies.item_drafts import HUMAN
from heard.db.records import DraftStatus
from heard.scorer.records import ScoreStatus

MOST_FAILURES_IN_A_ROW = 5
"""Failures of one model in a row after which its remaining answers are left for the next run."""

ProgressCallback = Callable[[str, int, int], None]
"""Called with a model, the number of its complete answers, and the number of all its answers."""


@dataclass(slots=True)
class Report:
    """The result of a run."""

    already_complete: int = 0
    """Answers that were complete before."""
    written: int = 0
    failed: dict[AnswerKey, tuple[FailureKind, str]] = field(default_factory=dict)
    """Kind and sentence of each answer that failed."""
    not_tried: dict[str, int] = field(default_factory=dict)
    """Number of answers not tried by model, because it had failed too often in a row."""

    @property
    def kinds(self) -> Mapping[str, int]:
        """Failures by kind, the most frequent first."""
        return dict(Counter(kind.value for kind, _ in self.failed.values()).most_common())


async def run(
    services: Services,
    plan: Plan,
    journal: Journal,
    progress: ProgressCallback,
    *,
    open_calls: int,
    per_minute: Mapping[str, int],
) -> Report:
    """Generate the missing answers, and score the complete ones without a score, people's too. Failures are in the
    report, and are tried again by the next run.

    `open_calls` is the most calls at once, of all models together; `per_minute` is the most calls by model, unlimited
    for a model that is not in it. A cancellation loses no complete answer. Raises JournalError if an answer cannot be
    stored.
    """
    runner = _Run(services, plan, journal, progress, open_calls)
    workers = [
        worker for model in plan.models for worker in runner.workers(model, open_calls, per_minute.get(model.id))
    ]
    workers.append(asyncio.ensure_future(runner.score_people()))
    await gather_or_cancel(workers)
    return runner.report


class _Run:
    """One run over the missing answers."""

    def __init__(
        self, services: Services, plan: Plan, journal: Journal, progress: ProgressCallback, open_calls: int
    ) -> None:
        self._services, self._plan, self._journal, self._progress = services, plan, journal, progress
        self._window = asyncio.Semaphore(open_calls)
        self._writing = asyncio.Lock()
        self._failures_in_a_row: Counter[str] = Counter()
        self._totals = Counter(planned.model.id for planned in plan.planned_answers())
        self._done = Counter(planned.model.id for planned in plan.planned_answers() if planned.key in journal.done)
        if plan.human:
            self._totals[HUMAN] = len(plan.human)
            self._done[HUMAN] = sum(answer.key in journal.done for answer in plan.human)
        self.report = Report(already_complete=self._done.total())
        for model in self._totals:
            progress(model, self._done[model], self._totals[model])

    def workers(self, model: ModelSpec, number: int, per_minute: int | None) -> Iterator[asyncio.Future[None]]:
        """Yield `number` worker tasks, which share the model's answers, its pace and its failures."""
        planned_answers = (
            planned for planned in self._plan.answers_of_model(model) if planned.key not in self._journal.done
        )
        # One call each so many seconds, and not a minute's worth at once: a server's own limit may be by the second.
        pace = AsyncLimiter(1, 60 / per_minute) if per_minute else None
        for _ in range(number):
            yield asyncio.ensure_future(self._work(planned_answers, pace))

    async def score_people(self) -> None:
        """Score the human answers that have no score yet; where a rater is at a loss too often, the rest is left."""
        for answer in self._plan.human:
            if answer.key in self._journal.done:
                continue
            if self._failures_in_a_row[HUMAN] >= MOST_FAILURES_IN_A_ROW:
                self.report.not_tried[HUMAN] = self.report.not_tried.get(HUMAN, 0) + 1
                continue
            drafts = Drafts(ended=[answer.draft()])
            async with self._window:
                await score_newest_draft(self._services, answer.question.text, drafts)
            await self._note(_rated(JournalEntry(answer.key, drafts.with_best_kept(), True)))

    async def _work(self, planned_answers: Iterator[PlannedAnswer], pace: AsyncLimiter | None) -> None:
        for planned in planned_answers:
            model = planned.model.id
            if self._failures_in_a_row[model] >= MOST_FAILURES_IN_A_ROW:
                self.report.not_tried[model] = self.report.not_tried.get(model, 0) + 1
                continue
            unscored = self._journal.unscored.get(planned.key)
            entry = await self._score(planned, unscored) if unscored else await self._write(planned, pace)
            await self._note(entry)

    async def _note(self, entry: JournalEntry) -> None:
        """Store the outcome of an answer, and count it."""
        await self._store(entry)
        source = entry.key[1]
        if entry.failure is not None:
            self._failures_in_a_row[source] += 1
            self.report.failed[entry.key] = (entry.failure, entry.sentence or "")
        elif not entry.done:  # the answer is kept, and the next run asks the rater alone
            self._failures_in_a_row[source] += 1
            self.report.failed[entry.key] = (FailureKind.UNRATED, _reason(entry) or "")
        else:
            self._failures_in_a_row[source] = 0
            self.report.written += 1
            self._done[source] += 1
            self._progress(source, self._done[source], self._totals[source])

    async def _write(self, planned: PlannedAnswer, pace: AsyncLimiter | None) -> JournalEntry:
        await _wait(pace, 1)
        drafts = Drafts()
        failure: ModelFailure | None = None
        # Researchers read these and nobody else: what a model writes by itself is what is compared.
        request = AnswerRequest(
            planned.persona, planned.strategy, planned.model, (), planned.question.text, planned.policy, guard=False
        )
        try:
            async with aclosing(write_drafts(self._services, request, drafts)) as events:
                await self._make_calls(planned, drafts, events)
                async for _ in events:  # the score, which needs no call
                    pass
        except ModelFailure as error:
            failure = error
            drafts.end(DraftStatus.BROKEN, error.sentence)
        calls = sum(1 + len(draft.steps) for draft in drafts.ended)
        await _wait(pace, calls - 1)  # for the calls of a policy or a strategy beyond the first
        sentence = failure.sentence if failure else None
        if failure is not None and not drafts.complete:
            return JournalEntry(planned.key, drafts.with_best_kept(), False, failure.kind, sentence)
        return _rated(JournalEntry(planned.key, drafts.with_best_kept(), True, None, sentence))

    async def _make_calls(
        self, planned: PlannedAnswer, drafts: Drafts, events: AsyncGenerator[TurnEvent, None]
    ) -> None:
        """Make the calls of one answer, while holding one of the open calls."""
        single = planned.policy.most_drafts == 1
        async with self._window:
            async for event in events:
                if single and isinstance(event, DraftComplete):
                    # Paid for, so it is stored before it is scored and before another call begins: if the process dies
                    # now only the score is repeated, and never more calls are lost than are open.
                    await self._store(JournalEntry(planned.key, drafts.with_best_kept(), False))
                    break

    async def _score(self, planned: PlannedAnswer, unscored: JournalEntry) -> JournalEntry:
        drafts = Drafts(ended=list(unscored.drafts), policy=planned.policy.id)
        await score_newest_draft(self._services, planned.question.text, drafts)
        return _rated(JournalEntry(planned.key, drafts.with_best_kept(), True))

    async def _store(self, entry: JournalEntry) -> None:
        async with self._writing:
            storing = asyncio.ensure_future(asyncio.to_thread(self._journal.write, entry))
            try:
                await asyncio.shield(storing)
            except asyncio.CancelledError:
                await storing  # Ctrl-C must not lose a complete answer
                raise


def _rated(entry: JournalEntry) -> JournalEntry:
    """An entry as it is, or not done where the rater was to score a draft and gave no numbers."""
    return entry if _reason(entry) is None else replace(entry, done=False)


def _reason(entry: JournalEntry) -> str | None:
    """Why a rater gave no numbers for a draft of an entry; None where none was at a loss."""
    scores = [draft.score for draft in entry.drafts if draft.score is not None]
    return next((score.reason or "" for score in scores if score.status == ScoreStatus.UNRATED), None)


async def _wait(pace: AsyncLimiter | None, calls: int) -> None:
    for _ in range(calls if pace else 0):
        await pace.acquire()  # type: ignore[union-attr]
