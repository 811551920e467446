"""Generate the missing answers of a survey, each stored as soon as it is complete.

However a run ends (Ctrl-C, an error, kill -9), the next one goes on with what is missing. Answers of one model are
generated one after the other, those of different models concurrently.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from heard.chat_app.common.workers import gather_or_cancel
from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.broken_ends import BROKE_OFF, breaks_off
from heard.chat_app.studies.study_answers import write_answer
from heard.chat_app.studies.study_file import Arm, StudyFile, StudyFileError, record_of, study_of
from heard.chat_app.studies.study_items import pending_answers
from heard.chat_app.studies.study_texts import StudyTexts
from heard.db.errors import StudyRefused
from heard.db.studies import BEGUN
from heard.db.study_counts import study_counts
from heard.db.study_records import AnswerRecord, AnswerStatus, ItemRecord, SavedStudy, StudyKind
from heard.db.study_store import StudyStore

MOST_FAILURES_IN_A_ROW = 5
"""Failures of one model in a row after which its remaining answers are left for the next run."""

ROOMS = (1, 2, 2)
"""Token limits of an answer, as multiples of its own: one that breaks off in mid-sentence is written again with the
next."""

LIVE_STUDY = "Study {id} is live: its answers are written when people send messages, so there is nothing to do now."

ProgressCallback = Callable[[str, int, int], None]
"""Called with a source, the number of its complete answers, and the number of all its answers."""


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """One answer to generate."""

    item: ItemRecord
    arm: Arm
    answer: AnswerRecord


@dataclass(slots=True)
class Report:
    """The result of a run."""

    already_complete: int = 0
    """Answers that were complete before."""
    written: int = 0
    failed: dict[tuple[int, str], str] = field(default_factory=dict)
    """Sentence of each answer that failed in the end, by (number of the item, source)."""
    not_tried: dict[str, int] = field(default_factory=dict)
    """Number of answers not tried by model, because it had failed too often in a row."""


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study as it is stored now, and what became of the answers that were there."""

    study: StudyFile
    saved: SavedStudy

    def sentences(self) -> list[str]:
        """Return what there is to tell of the archive; nothing is as a rule."""
        told = []
        if number := self.saved.restored:
            told.append(f"{number} answer{'s' * (number != 1)} came back from the archive.")
        if number := self.saved.archived:
            told.append(
                f"{number} answer{'s' * (number != 1)} that this import does not name went into the archive. "
                "Name their items and arms again as before, and they come back."
            )
        return told


async def store_study(
    studies: StudyStore, study: StudyFile, items: Sequence[ItemRecord], texts: StudyTexts | None = None
) -> StoredStudy:
    """Store a study with its items, or update it. Returns it with its seed. `texts` are those beside its file; None
    keeps the stored ones.

    Complete answers of arms are kept, unless the arm or the study's auto_improve or guard has changed; then they go to
    the archive. Raises StudyRefused if anything differs that may not after ballots have been drawn.
    """
    known = await studies.study(study.id)
    record = record_of(study, known, texts.versioned if texts else None)
    saved = await studies.save_study(record, items)
    return StoredStudy(study_of(record), saved)


def updated_items(study: StudyFile, items: Sequence[ItemRecord]) -> list[ItemRecord]:
    """Return stored items as a changed study file wants them: with their own answers, and PENDING ones of the arms."""
    named = {arm.name for arm in study.arms}
    return [
        item
        if item.comes_whole
        else replace(
            item,
            answers=(
                *(answer for answer in item.answers if answer.source not in named and answer.source in study.sources),
                *pending_answers(study, item.message),
            ),
        )
        for item in items
    ]


def extended_items(study: StudyFile, stored: Sequence[ItemRecord], new_items: Sequence[ItemRecord]) -> list[ItemRecord]:
    """Return the stored items, followed by the new ones of a file of questions.

    Raises StudyFileError if the study has sources whose answers come with the items (see StudyFile.sources).
    """
    known = {item.id for item in stored}
    new = [item for item in new_items if item.id not in known]
    if new and study.sources:
        raise StudyFileError(
            f"Study {study.id} has sources whose answers come with its items ({', '.join(study.sources)}), and a file "
            "of questions has none. Use heard study import, or take the sources out of the study's file."
        )
    return [*stored, *(replace(item, number=number) for number, item in enumerate(new, len(stored) + 1))]


def missing_answers(study: StudyFile, items: Sequence[ItemRecord]) -> list[AnswerTask]:
    """Return the answers that are still to be generated, item by item."""
    arms = {arm.name: arm for arm in study.arms}
    return [
        AnswerTask(item, arms[answer.source], answer)
        for item in items
        if not item.comes_whole
        for answer in sorted(item.answers, key=lambda answer: answer.source)
        if answer.source in arms and answer.status is not AnswerStatus.COMPLETE
    ]


async def generate(
    services: Services, study: StudyFile, items: Sequence[ItemRecord], progress: ProgressCallback
) -> Report:
    """Generate the missing answers of `items`, as they are stored. A failed one is tried once more at the end.

    One that breaks off in mid-sentence is written again with more room at once (ROOMS); if it still does, it has
    failed with BROKE_OFF, so that it stands on no ballot.

    Raises StudyFileError for a live study or an arm that names something that does not exist, StudyRefused after
    ballots have been drawn, StoreError if an answer cannot be stored. A cancellation loses no complete answer.
    """
    if study.kind is StudyKind.LIVE:
        raise StudyFileError(LIVE_STUDY.format(id=study.id))
    tasks = missing_answers(study, items)
    named = {arm.name for arm in study.arms}
    ordinary = [answer.source for item in items if not item.comes_whole for answer in item.answers]
    report = Report(already_complete=sum(source in named for source in ordinary) - len(tasks))
    if not tasks:
        return report
    if (await study_counts(services.studies.engine, study.id)).ballots:
        raise StudyRefused(BEGUN)
    run = _Run(services, study, report, progress, tasks, ordinary)
    by_model: dict[str, list[AnswerTask]] = {}
    for task in tasks:
        by_model.setdefault(task.arm.model, []).append(task)
    workers = [asyncio.ensure_future(run.work(model, queue)) for model, queue in by_model.items()]
    await gather_or_cancel(workers)
    return report


class _Run:
    """One run over the missing answers."""

    def __init__(
        self,
        services: Services,
        study: StudyFile,
        report: Report,
        progress: ProgressCallback,
        tasks: list[AnswerTask],
        sources: list[str],
    ) -> None:
        self._services, self._study, self._report, self._progress = services, study, report, progress
        self._totals = {arm.name: sources.count(arm.name) for arm in study.arms}
        self._done = {
            name: of - sum(task.arm.name == name for task in tasks) for name, of in self._totals.items() if of
        }
        for name, done in self._done.items():
            progress(name, done, self._totals[name])

    async def work(self, model: str, queue: list[AnswerTask]) -> None:
        """Generate the answers of one model, then the failed ones once more."""
        failures_in_a_row = 0
        for again in (False, True):
            left, queue = queue, []
            for place, task in enumerate(left):
                if failures_in_a_row >= MOST_FAILURES_IN_A_ROW:
                    if not again:
                        self._report.not_tried[model] = len(left) - place
                    return
                if await self._write(task):
                    failures_in_a_row = 0
                else:
                    failures_in_a_row += 1
                    queue.append(task)

    async def _write_whole(self, task: AnswerTask) -> AnswerRecord:
        """Write one answer, with more room as long as it breaks off in mid-sentence."""
        echoes = self._services.models.specs[task.arm.model].provider == "echo"  # it ends as the message does
        for room in ROOMS:
            answer = await write_answer(
                self._services, self._study, task.arm, task.item.message, (), task.answer, room=room
            )
            # Whatever reason the server gave for its end.
            if answer.status is AnswerStatus.COMPLETE and not echoes and breaks_off(answer.text):
                answer = replace(answer, status=AnswerStatus.FAILED, error=BROKE_OFF, text="")
            if answer.error != BROKE_OFF:
                break
        return answer

    async def _write(self, task: AnswerTask) -> bool:
        """Write and store one answer. Returns False if it has to be tried again."""
        models = self._services.models
        await models.wait_for_cooldown(models.specs[task.arm.model])  # else the calls would fail without being made
        answer = await self._write_whole(task)
        saving = asyncio.ensure_future(self._services.studies.save_answer(answer))
        try:
            await asyncio.shield(saving)
        except asyncio.CancelledError:
            await saving  # Ctrl-C must not lose a complete answer
            raise
        key = (task.item.number, task.arm.name)
        if answer.status is not AnswerStatus.COMPLETE:
            self._report.failed[key] = answer.error or ""
            return answer.error == BROKE_OFF  # the server works, and more tries were made than a failure gets
        self._report.failed.pop(key, None)
        self._report.written += 1
        self._done[task.arm.name] += 1
        self._progress(task.arm.name, self._done[task.arm.name], self._totals[task.arm.name])
        return True
