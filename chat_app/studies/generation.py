"""Write the answers that a survey still lacks, each stored as soon as it is there.

Whatever ends a run (Ctrl-C, a fault, kill -9), the next one goes on with what is missing. The arms of one model are
written one after the other, those of different models side by side.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from heard.chat_app.common.workers import together
from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.study_answers import write_answer
from heard.chat_app.studies.study_file import Arm, StudyFile, StudyFileError, record_of, study_of
from heard.chat_app.studies.study_items import pending
from heard.db.errors import StudyRefused
from heard.db.studies import BEGUN
from heard.db.study_counts import study_counts
from heard.db.study_records import AnswerRecord, AnswerStatus, ItemRecord, StudyKind
from heard.db.study_store import StudyStore

MOST_FAILURES_IN_A_ROW = 5
"""Failures of one model after which the rest of its answers are left for the next run: its server is down, say."""

LIVE = "Study {id} is live: its answers are written when people send messages, so there is nothing to do now."

Tell = Callable[[str, int, int], None]
"""Told of progress: a source, how many of its answers are whole, and of how many."""


@dataclass(frozen=True, slots=True)
class Task:
    """One answer to write."""

    item: ItemRecord
    arm: Arm
    answer: AnswerRecord


@dataclass(slots=True)
class Report:
    """What a run did."""

    there: int = 0
    """Answers that were whole before."""
    written: int = 0
    failed: dict[tuple[int, str], str] = field(default_factory=dict)
    """The sentence of each failure that stayed one, by (the item's number, the source)."""
    left: dict[str, int] = field(default_factory=dict)
    """By model: answers that were not tried, because it had failed so often in a row."""


async def store_study(studies: StudyStore, study: StudyFile, items: Sequence[ItemRecord]) -> StudyFile:
    """Write a study with its items, or bring it up to date; gives it with its seed.

    Whole answers of arms stay, unless the arm or the study's auto-improve has changed. Raises StudyRefused once people
    have been given ballots and anything differs.
    """
    known = await studies.study(study.id)
    record = record_of(study, known)
    await studies.save_study(record, items)
    before = study_of(known) if known else study
    arms = {arm.name: arm for arm in study.arms}
    for item in await studies.items(study.id):
        for answer in item.answers:
            arm = arms.get(answer.source)
            if arm is None or item.attention is not None or answer.status is AnswerStatus.PENDING:
                continue
            same_arm = (answer.persona, answer.strategy, answer.model) == (arm.persona, arm.strategy, arm.model)
            if not same_arm or before.auto_improve != study.auto_improve:
                fresh = next(new for new in pending(study, item.message) if new.source == answer.source)
                await studies.save_answer(replace(fresh, id=answer.id, item_id=item.id))
    return study_of(record)


def renewed(study: StudyFile, items: Sequence[ItemRecord]) -> list[ItemRecord]:
    """Stored items as a changed file of their study wants them: their own answers, and the arms' yet to be written."""
    named = {arm.name for arm in study.arms}
    return [
        item
        if item.attention is not None
        else replace(
            item,
            answers=(
                *(answer for answer in item.answers if answer.source not in named and answer.source in study.sources),
                *pending(study, item.message),
            ),
        )
        for item in items
    ]


def added(study: StudyFile, stored: Sequence[ItemRecord], given: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The items of a study once a file of questions has been read, those that are stored first.

    Raises StudyFileError when new questions lack answers that come with the items (see StudyFile.sources).
    """
    known = {item.id for item in stored}
    new = [item for item in given if item.id not in known]
    if new and study.sources:
        raise StudyFileError(
            f"Study {study.id} has sources whose answers come with its items ({', '.join(study.sources)}), and a file "
            "of questions has none. Use heard study import, or take the sources out of the study's file."
        )
    return [*stored, *(replace(item, number=number) for number, item in enumerate(new, len(stored) + 1))]


def missing(study: StudyFile, items: Sequence[ItemRecord]) -> list[Task]:
    """What is yet to be written, item by item."""
    arms = {arm.name: arm for arm in study.arms}
    return [
        Task(item, arms[answer.source], answer)
        for item in items
        if item.attention is None
        for answer in sorted(item.answers, key=lambda answer: answer.source)
        if answer.source in arms and answer.status is not AnswerStatus.COMPLETE
    ]


async def generate(services: Services, study: StudyFile, items: Sequence[ItemRecord], tell: Tell) -> Report:
    """Write what is missing among `items`, as they are stored. A failed answer is tried once more at the end.

    Raises StudyFileError for a live study or arms that name nothing there is, StudyRefused once people have been given
    ballots, StoreError when an answer cannot be stored. A cancellation loses no answer that was whole.
    """
    if study.kind is StudyKind.LIVE:
        raise StudyFileError(LIVE.format(id=study.id))
    tasks = missing(study, items)
    named = {arm.name for arm in study.arms}
    ordinary = [answer.source for item in items if item.attention is None for answer in item.answers]
    report = Report(there=sum(source in named for source in ordinary) - len(tasks))
    if not tasks:
        return report
    if (await study_counts(services.studies.engine, study.id)).ballots:
        raise StudyRefused(BEGUN)
    run = _Run(services, study, report, tell, tasks, ordinary)
    by_model: dict[str, list[Task]] = {}
    for task in tasks:
        by_model.setdefault(task.arm.model, []).append(task)
    workers = [asyncio.ensure_future(run.work(model, queue)) for model, queue in by_model.items()]
    await together(workers)
    return report


class _Run:
    """One run over the missing answers."""

    def __init__(
        self, services: Services, study: StudyFile, report: Report, tell: Tell, tasks: list[Task], sources: list[str]
    ) -> None:
        self._services, self._study, self._report, self._tell = services, study, report, tell
        self._of = {arm.name: sources.count(arm.name) for arm in study.arms}
        self._done = {name: of - sum(task.arm.name == name for task in tasks) for name, of in self._of.items() if of}
        for name, done in self._done.items():
            tell(name, done, self._of[name])

    async def work(self, model: str, queue: list[Task]) -> None:
        """Write the answers of one model, and the failed ones once more."""
        failures_in_a_row = 0
        for again in (False, True):
            left, queue = queue, []
            for place, task in enumerate(left):
                if failures_in_a_row >= MOST_FAILURES_IN_A_ROW:
                    if not again:
                        self._report.left[model] = len(left) - place
                    return
                if await self._write(task):
                    failures_in_a_row = 0
                else:
                    failures_in_a_row += 1
                    queue.append(task)

    async def _write(self, task: Task) -> bool:
        models = self._services.models
        await models.wait_for_cooldown(
            models.specs[task.arm.model]
        )  # a failure of a call that is not made would say nothing
        answer = await write_answer(self._services, self._study, task.arm, task.item.message, (), task.answer)
        saving = asyncio.ensure_future(self._services.studies.save_answer(answer))
        try:
            await asyncio.shield(saving)
        except asyncio.CancelledError:
            await saving  # Ctrl-C must not lose an answer that is whole
            raise
        key = (task.item.number, task.arm.name)
        if answer.status is not AnswerStatus.COMPLETE:
            self._report.failed[key] = answer.error or ""
            return False
        self._report.failed.pop(key, None)
        self._report.written += 1
        self._done[task.arm.name] += 1
        self._tell(task.arm.name, self._done[task.arm.name], self._of[task.arm.name])
        return True
