"""Write every answer of a plan that its journal lacks: a window of open calls, and so many calls a minute a model.

Nothing is held but what the window holds: an answer is in the journal, and forgotten, before the next one is begun.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from aiolimiter import AsyncLimiter

from heard.chat_app.common.workers import gather_or_cancel
from heard.chat_app.comparing.journal import Entry, Journal
from heard.chat_app.comparing.plan import Cell, Key, Plan
from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.drafting import score_newest_draft, write_drafts
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import DraftComplete, TurnEvent
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec
from heard.db.records import DraftStatus

MOST_FAILURES_IN_A_ROW = 5
"""Failures of one model after which the rest of its answers are left for the next run: its server is down, say."""

Tell = Callable[[str, int, int], None]
"""Told of progress: a model, how many of its answers are whole, and of how many."""


@dataclass(slots=True)
class Report:
    """What a run did."""

    there: int = 0
    """Answers that were whole before."""
    written: int = 0
    failed: dict[Key, tuple[FailureKind, str]] = field(default_factory=dict)
    """Kind and sentence of each answer that failed."""
    left: dict[str, int] = field(default_factory=dict)
    """By model: answers that were not tried, because it had failed so often in a row."""

    @property
    def kinds(self) -> Mapping[str, int]:
        """Failures by kind, the most frequent first."""
        return dict(Counter(kind.value for kind, _ in self.failed.values()).most_common())


async def run(
    services: Services, plan: Plan, journal: Journal, tell: Tell, *, open_calls: int, per_minute: Mapping[str, int]
) -> Report:
    """Write what is missing, and score what is whole and has no score. A failure is in the report, and is tried again
    by the next run.

    `open_calls` is the most calls at once, of all models together; `per_minute` the most of a model, by its name, and
    none for a model that is not in it. A cancellation loses no answer that was whole. Raises JournalError when an
    answer cannot be kept.
    """
    runner = _Run(services, plan, journal, tell, open_calls)
    workers = [
        worker for model in plan.models for worker in runner.workers(model, open_calls, per_minute.get(model.id))
    ]
    await gather_or_cancel(workers)
    return runner.report


class _Run:
    """One run over what is missing."""

    def __init__(self, services: Services, plan: Plan, journal: Journal, tell: Tell, open_calls: int) -> None:
        self._services, self._plan, self._journal, self._tell = services, plan, journal, tell
        self._window = asyncio.Semaphore(open_calls)
        self._writing = asyncio.Lock()
        self._failures_in_a_row: Counter[str] = Counter()
        self._of = Counter(cell.model.id for cell in plan.cells())
        self._done = Counter(cell.model.id for cell in plan.cells() if cell.key in journal.done)
        self.report = Report(there=self._done.total())
        for model in self._of:
            tell(model, self._done[model], self._of[model])

    def workers(self, model: ModelSpec, number: int, per_minute: int | None) -> Iterator[asyncio.Future[None]]:
        """As many as may have a call open at once; they share the model's answers, its pace, and its failures."""
        cells = (cell for cell in self._plan.of_model(model) if cell.key not in self._journal.done)
        # One call each so many seconds, and not a minute's worth at once: a server's own limit may be by the second.
        pace = AsyncLimiter(1, 60 / per_minute) if per_minute else None
        for _ in range(number):
            yield asyncio.ensure_future(self._work(cells, pace))

    async def _work(self, cells: Iterator[Cell], pace: AsyncLimiter | None) -> None:
        for cell in cells:
            model = cell.model.id
            if self._failures_in_a_row[model] >= MOST_FAILURES_IN_A_ROW:
                self.report.left[model] = self.report.left.get(model, 0) + 1
                continue
            whole = self._journal.unscored.get(cell.key)
            entry = await self._scored(cell, whole) if whole else await self._written(cell, pace)
            await self._keep(entry)
            if entry.failure is not None:
                self._failures_in_a_row[model] += 1
                self.report.failed[cell.key] = (entry.failure, entry.sentence or "")
                continue
            self._failures_in_a_row[model] = 0
            self.report.written += 1
            self._done[model] += 1
            self._tell(model, self._done[model], self._of[model])

    async def _written(self, cell: Cell, pace: AsyncLimiter | None) -> Entry:
        await _wait(pace, 1)
        made = Drafts()
        failure: ModelFailure | None = None
        asked = AnswerRequest(cell.persona, cell.strategy, cell.model, (), cell.question.text, cell.policy)
        try:
            async with aclosing(write_drafts(self._services, asked, made)) as events:
                await self._call(cell, made, events)
                async for _ in events:  # the score, which needs no call
                    pass
        except ModelFailure as caught:
            failure = caught
            made.end(DraftStatus.BROKEN, caught.sentence)
        calls = sum(1 + len(draft.steps) for draft in made.ended)
        await _wait(pace, calls - 1)  # for what a policy or a strategy has asked beyond the first
        sentence = failure.sentence if failure else None
        if failure is not None and not made.complete:
            return Entry(cell.key, made.with_best_kept(), False, failure.kind, sentence)
        return Entry(cell.key, made.with_best_kept(), True, None, sentence)

    async def _call(self, cell: Cell, made: Drafts, events: AsyncGenerator[TurnEvent, None]) -> None:
        """The calls of one answer, within the window."""
        single = cell.policy.most_drafts == 1
        async with self._window:
            async for event in events:
                if single and isinstance(event, DraftComplete):
                    # Paid for, so it is kept before it is scored and before another call begins: a process that dies
                    # now has only the score to make again, and never loses more calls than the window holds.
                    await self._keep(Entry(cell.key, made.with_best_kept(), False))
                    break

    async def _scored(self, cell: Cell, whole: Entry) -> Entry:
        made = Drafts(ended=list(whole.drafts), policy=cell.policy.id)
        await score_newest_draft(self._services, cell.question.text, made)
        return Entry(cell.key, made.with_best_kept(), True)

    async def _keep(self, entry: Entry) -> None:
        async with self._writing:
            keeping = asyncio.ensure_future(asyncio.to_thread(self._journal.write, entry))
            try:
                await asyncio.shield(keeping)
            except asyncio.CancelledError:
                await keeping  # Ctrl-C must not lose an answer that is whole
                raise


async def _wait(pace: AsyncLimiter | None, calls: int) -> None:
    for _ in range(calls if pace else 0):
        await pace.acquire()  # type: ignore[union-attr]
