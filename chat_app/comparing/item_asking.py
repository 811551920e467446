"""The questions of a study put to a language model, as often as asked for, each answer on the disk before the next.

Each question is a prompt of its own, without the answers before it, so that their order carries no answer over into the
next; branching goes by the model's own answers. An answer that cannot be read is asked for again, up to ATTEMPTS times
in all, and then counts as missing. `screen_out` sends no model away.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from heard.chat_app.common.workers import gather_or_cancel
from heard.chat_app.comparing.journal_file import JournalFile
from heard.chat_app.models.client import Models
from heard.chat_app.models.records import Delta, ModelFailure, ModelSpec, Rethought, Usage
from heard.chat_app.questions.answering import AnswerProblem
from heard.chat_app.questions.item_text import as_text, read_text_answer
from heard.chat_app.questions.question_file import Item, Page, QuestionFile
from heard.chat_app.questions.question_set import in_order, item_key, visible_items
from heard.chat_app.studies.study_file import StudyFile, definition_of
from heard.prompts.item_file import ItemInstructions, build_item_prompt
from heard.prompts.records import Persona, Prompt

ATTEMPTS = 3
"""Most times that one question is asked in one run."""
AT_ONCE = 4
"""Runs at once of a model on a server; one in this process has one."""
NAME, LOCK = "answers.jsonl", "answers.lock"

ProgressCallback = Callable[[str, int, int], None]
"""Called with the model, the number of runs that are whole, and the number of all."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One answer of a model to one item."""

    run: int
    """From 1."""
    item: str
    """File and item, such as "iri.i1"."""
    value: str | None
    """As it is stored of people; None if no answer could be read."""
    attempts: int
    text: str
    """The last answer, word for word."""
    prompt_sha256: str


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked of whom."""

    study: StudyFile
    spec: ModelSpec
    persona: Persona | None
    instructions: ItemInstructions

    def identity(self) -> dict[str, Any]:
        """Everything that the answers depend on, by name."""
        return {
            "command": "study ask-model",
            "study": definition_of(self.study)[1],
            "model": {"id": self.spec.id, "model": self.spec.model, "temperature": self.spec.temperature},
            "persona": {"id": self.persona.id, "system": self.persona.system} if self.persona else {},
            "instructions": self.instructions.sha256,
        }


@dataclass(slots=True)
class Asked:
    """What came of it."""

    already: int = 0
    """Answers that were there before."""
    written: int = 0
    failures: dict[int, str] = field(default_factory=dict)
    """The sentence of the failed call by run; the rest of that run was not asked."""


class AnswerJournal:
    """The answers in a folder, open for one process. A context manager; entering raises JournalError."""

    def __init__(self, folder: Path, asking: Asking) -> None:
        self._file = JournalFile(
            folder / NAME, asking.identity(), line_key="item", lock=folder / LOCK, place=folder,
            holds="set of answers", other="another folder",
        )  # fmt: skip
        self.answers: dict[tuple[int, str], ModelAnswer] = {}
        """By run and item."""

    def __enter__(self) -> "AnswerJournal":
        self._file.__enter__()
        for values in self._file.lines():
            answer = ModelAnswer(**values)
            self.answers[answer.run, answer.item] = answer
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def write(self, answer: ModelAnswer) -> None:
        """Append an answer; when this returns, it is on the disk. Raises JournalError."""
        self._file.append({name: getattr(answer, name) for name in ModelAnswer.__dataclass_fields__})
        self.answers[answer.run, answer.item] = answer


async def ask_model(
    models: Models, asking: Asking, journal: AnswerJournal, times: int, progress: ProgressCallback
) -> Asked:
    """Put every question to the model `times` times; what the journal has is not asked again. Raises JournalError."""
    report = Asked(already=sum(run <= times for run, _ in journal.answers))
    left, whole = iter(range(1, times + 1)), 0

    async def work() -> None:
        nonlocal whole
        for run in left:
            try:
                await _ask_all(models, asking, journal, run, report)
            except ModelFailure as failure:
                report.failures[run] = failure.sentence
            whole += 1
            progress(asking.spec.id, whole, times)

    at_once = AT_ONCE if asking.spec.base_url else 1
    await gather_or_cancel([asyncio.ensure_future(work()) for _ in range(min(at_once, times))])
    return report


async def _ask_all(models: Models, asking: Asking, journal: AnswerJournal, run: int, report: Asked) -> None:
    for file, page, item in _in_turn(asking.study, run, journal.answers):
        if (run, item_key(file, item)) in journal.answers:
            continue
        await models.wait_for_cooldown(asking.spec)
        prompt = build_item_prompt(asking.instructions, as_text(file, page.text, item), asking.persona)
        journal.write(await _ask(models, asking.spec, prompt, run, file, item))
        report.written += 1


def _in_turn(
    study: StudyFile, run: int, answers: Mapping[tuple[int, str], ModelAnswer]
) -> Iterator[tuple[QuestionFile, Page, Item]]:
    """Yield the items of a run that are asked, each judged by the answers that are there when it comes."""
    for file in in_order(study.questions):
        for number, page in enumerate(file.pages, 1):
            items = list(page.items)
            if page.shuffle:
                random.Random(f"{run} {file.id} {number}").shuffle(items)
            known = {item: answer.value for (of, item), answer in answers.items() if of == run}
            yield from ((file, page, item) for item in visible_items(file, items, known))


async def _ask(
    models: Models, spec: ModelSpec, prompt: Prompt, run: int, file: QuestionFile, item: Item
) -> ModelAnswer:
    """Return the model's answer. Raises ModelFailure if a call fails."""
    value, text, number = None, "", 0
    retrying = AsyncRetrying(
        stop=stop_after_attempt(ATTEMPTS), retry=retry_if_exception_type(AnswerProblem), reraise=True
    )
    try:
        async for attempt in retrying:
            with attempt:
                number = attempt.retry_state.attempt_number
                text = await _call(models, spec, prompt)
                value = read_text_answer(file, item, text)
    except AnswerProblem:
        value = None
    return ModelAnswer(run, item_key(file, item), value, number, text, prompt.sha256)


async def _call(models: Models, spec: ModelSpec, prompt: Prompt) -> str:
    pieces: list[str] = []
    async with aclosing(models.stream(spec, prompt)) as stream:
        async for part in stream:
            if isinstance(part, Delta):
                pieces.append(part.text)
            elif isinstance(part, Rethought):
                pieces.clear()
            elif isinstance(part, Usage) and part.cut:
                pieces.append(" ..")  # a torn answer is none, even if what is there could be read as one
    return "".join(pieces)
