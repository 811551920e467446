"""A survey's items from a CSV: messages with answers, or questions that answers are yet to be written to.

Three forms, told apart by the first line. The public counselling sets as they are (columns Context and Response; of
several responses to one context the first is taken, as the answer of the source "human"). Long: message, source,
answer, one answer a line. Wide: message and a column for each source. Long and wide may have a column `attention`.

A file of the researcher's own is taken whole or refused, because a study with a line less than meant is lost. In a
public set, lines without text and repetitions are passed over and counted. A crisis message is always passed over.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from heard.chat_app.common.text import has_visible, readable
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.question_files import first_line, question_column
from heard.chat_app.studies.study_answers import completed, model_names
from heard.chat_app.studies.study_file import MOST, StudyFile
from heard.db.study_records import AnswerRecord, ItemRecord
from heard.errors import UserError
from heard.hints import nearest_name
from heard.scorer.csv_rows import Row, Sheet, read_file, read_sheet

HUMAN = "human"
"""The source whose answers people wrote. Names that begin with it and a dash ("human-trained") are human too."""
CONTEXT, RESPONSE = "context", "response"
LEAST = 2
"""Answers that an item needs, counting those that are yet to be written."""
_MOST_TOLD = 3
"""Faults of one file that are told at once."""


class ItemsError(UserError):
    """A file of items that cannot be used; `str()` names the file, the line, the fault and the next step."""


@dataclass(slots=True)
class Passed:
    """Lines of the file that became no item, and why."""

    empty: int = 0
    """Without a message or, in a public set, without a response."""
    repeated: int = 0
    """The same message (and source, and answer) as an earlier line."""
    further: int = 0
    """In a public set: another response to a message that has one."""
    faulty: int = 0
    """In a public set: no row of the table."""
    crisis: int = 0
    """Messages with suicidal or self-harm meaning: they never reach a model or a ballot."""

    def sentences(self) -> list[str]:
        """What to tell, a sentence for each count that is not 0."""
        told = (
            (self.empty, "without text"),
            (self.repeated, "the same as an earlier one"),
            (self.further, "further responses to a message that has one"),
            (self.faulty, "no row of the table"),
            (self.crisis, "a crisis: such a message never reaches a model or a ballot"),
        )
        return [f"Passed over: {number} line{'s' * (number != 1)} ({what})." for number, what in told if number]


@dataclass(frozen=True, slots=True)
class Items:
    """What a file gave."""

    items: list[ItemRecord]
    passed: Passed


@dataclass(slots=True)
class _Draft:
    """One message on its way to an item."""

    line: int
    message: str
    answers: dict[str, str] = field(default_factory=dict)
    attention: str | None = None


def read_items(path: Path, study: StudyFile, specs: Mapping[str, ModelSpec], limit: int | None = None) -> Items:
    """The items of a survey, at most `limit`, with their own answers COMPLETE and the arms' PENDING.

    `specs` are the configured models: an answer that names one is marked as a leak. Raises ItemsError, or ScorerError
    for a file that is no CSV.
    """
    raw = read_file(path)
    columns = first_line(path.name, raw)
    passed = Passed()
    if CONTEXT in columns and RESPONSE in columns:
        _check_sources(path.name, [HUMAN], study)
        drafts = _public(_sheet(path, raw, (CONTEXT, RESPONSE), columns), passed)
    elif "answer" in columns or {"message", "source"} <= set(columns) or len(columns) < 2:
        sheet = read_sheet(path.name, raw, ("message", "source", "answer"), ("attention",))
        drafts = _long(_whole(sheet), passed)
    elif "message" in columns:
        sources = [column for column in columns if column not in ("message", "attention")]
        _check_sources(path.name, sources, study)
        drafts = _wide(_whole(read_sheet(path.name, raw, ("message", *sources), ("attention",))), sources, passed)
    else:
        raise ItemsError(
            f"{path.name}, line 1: no column message. Its first line must be message,source,answer (one answer a "
            "line), or message and a column for each source, or Context,Response."
        )
    drafts = _without_crises(drafts, passed)
    for draft in drafts:
        _check(path.name, draft, study)
    return Items(_items(drafts[:limit], study, specs), passed)


def read_questions(path: Path, study: StudyFile, limit: int | None = None) -> Items:
    """Items of messages alone, at most `limit`, for the arms to answer: columns message, Context or question.

    Other columns are not read. Raises ItemsError, or ScorerError for a file that is no CSV.
    """
    raw = read_file(path)
    columns, column = question_column(path.name, raw)
    if column is None:
        raise ItemsError(
            f"{path.name}, line 1: no column message, Context or question. Name the column of messages so."
        )
    if len(study.arms) < LEAST:
        raise ItemsError(
            f"Study {study.id} has {len(study.arms)} arm{'s' * (len(study.arms) != 1)}, and a ballot needs two "
            "answers. Add arms to its file, or import items that have answers: heard study import."
        )
    passed = Passed()
    drafts: dict[str, _Draft] = {}
    sheet = _sheet(path, raw, (column,), columns)
    passed.faulty += len(sheet.faults)
    for row in sheet.rows:
        message = _text(row, column)
        if not message:
            passed.empty += 1
        elif message in drafts:
            passed.repeated += 1
        else:
            drafts[message] = _Draft(row.line, message)
    kept = _without_crises(list(drafts.values()), passed)
    for draft in kept:
        _check(path.name, draft, study)
    return Items(_items(kept[:limit], study, {}), passed)


def item_id(study: StudyFile, message: str) -> str:
    """The same for the same message, whatever its place: so that a second import keeps what was generated."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"heard:{study.id}:{message}"))


def is_human(source: str) -> bool:
    """Whether a source's answers were written by people, which its name says."""
    return source == HUMAN or source.startswith((f"{HUMAN}-", f"{HUMAN}_"))


def pending(study: StudyFile, message: str) -> list[AnswerRecord]:
    """An answer for each arm of the study that is yet to be written to `message`."""
    now = datetime.now(UTC)
    return [
        replace(_answer(study, message, arm.name, now), persona=arm.persona, strategy=arm.strategy, model=arm.model)
        for arm in study.arms
    ]


def _sheet(path: Path, raw: bytes, needed: Sequence[str], columns: Sequence[str]) -> Sheet:
    """A public set: what other columns there are does not matter."""
    return read_sheet(path.name, raw, needed, [column for column in columns if column not in needed])


def _whole(sheet: Sheet) -> Sheet:
    """A researcher's own file, of which no row may be faulty."""
    if sheet.faults:
        told = "; ".join(str(fault) for fault in sheet.faults[:_MOST_TOLD])
        more = len(sheet.faults) - _MOST_TOLD
        raise ItemsError(f"{sheet.name}, {told}{f' And {more} more.' if more > 0 else ''} Mend it and import again.")
    return sheet


def _text(row: Row, column: str) -> str:
    text = readable(row.cells[column]).strip()
    return text if has_visible(text) else ""


def _public(sheet: Sheet, passed: Passed) -> list[_Draft]:
    drafts: dict[str, _Draft] = {}
    pairs: set[tuple[str, str]] = set()
    passed.faulty += len(sheet.faults)
    for row in sheet.rows:
        message, answer = _text(row, CONTEXT), _text(row, RESPONSE)
        if not message or not answer:
            passed.empty += 1
        elif (message, answer) in pairs:
            passed.repeated += 1
        elif message in drafts:
            passed.further += 1
        else:
            drafts[message] = _Draft(row.line, message, {HUMAN: answer})
        pairs.add((message, answer))
    return list(drafts.values())


def _long(sheet: Sheet, passed: Passed) -> list[_Draft]:
    drafts: dict[str, _Draft] = {}
    for row in sheet.rows:
        message, source, answer = (_text(row, column) for column in ("message", "source", "answer"))
        where = f"{sheet.name}, line {row.line}"
        for column, text in (("message", message), ("source", source), ("answer", answer)):
            if not text:
                raise ItemsError(f"{where}: the {column} is empty. Write it, or remove the line.")
        draft = drafts.setdefault(message, _Draft(row.line, message))
        if draft.answers.get(source) == answer:
            passed.repeated += 1
        elif source in draft.answers:
            raise ItemsError(
                f'{where}: source "{source}" has answered this message already (which begins in line {draft.line}). '
                "Remove one of the two answers."
            )
        draft.answers[source] = answer
        _attend(where, draft, _text(row, "attention") if "attention" in row.cells else "")
    return list(drafts.values())


def _wide(sheet: Sheet, sources: Sequence[str], passed: Passed) -> list[_Draft]:
    drafts: dict[str, _Draft] = {}
    for row in sheet.rows:
        message = _text(row, "message")
        where = f"{sheet.name}, line {row.line}"
        for column, text in (("message", message), *((source, _text(row, source)) for source in sources)):
            if not text:
                raise ItemsError(
                    f"{where}: the cell of {column} is empty. Fill it; an item that a source has not answered needs "
                    "the form message,source,answer."
                )
        draft = _Draft(row.line, message, {source: _text(row, source) for source in sources})
        _attend(where, draft, _text(row, "attention") if "attention" in row.cells else "")
        known = drafts.setdefault(message, draft)
        if known is draft:
            continue
        if known.answers != draft.answers or known.attention != draft.attention:
            raise ItemsError(f"{where}: this message stands in line {known.line} already. Remove one of the two.")
        passed.repeated += 1
    return list(drafts.values())


def _attend(where: str, draft: _Draft, named: str) -> None:
    if named and draft.attention not in (None, named):
        raise ItemsError(f"{where}: the column attention names two sources for one message. Name one.")
    draft.attention = draft.attention or named or None


def _without_crises(drafts: list[_Draft], passed: Passed) -> list[_Draft]:
    kept = [draft for draft in drafts if not crisis_check.check(draft.message).crisis]
    passed.crisis += len(drafts) - len(kept)
    return kept


def _check_sources(name: str, sources: Sequence[str], study: StudyFile, line: int = 1) -> None:
    for source in sources:
        if source not in study.sources:
            hint = f"{nearest_name(source, study.sources)} " if study.sources else ""
            raise ItemsError(
                f'{name}, line {line}: no source "{source}" in study {study.id}. {hint}The study\'s file names those '
                f'that come with the items: sources = ["{source}"].'
            )


def _check(name: str, draft: _Draft, study: StudyFile) -> None:
    """Raise ItemsError for an item that can stand on no ballot."""
    where = f"{name}, line {draft.line}"
    if draft.attention is None:
        _check_sources(name, list(draft.answers), study, draft.line)
        number = len(draft.answers) + len(study.arms)
    else:
        number = len(draft.answers)
        if draft.attention not in draft.answers:
            raise ItemsError(
                f'{where}: attention names "{draft.attention}", which has no answer to this message. '
                f"{nearest_name(draft.attention, draft.answers)}"
            )
    if number < LEAST:
        raise ItemsError(
            f"{where}: this message has {number} answer{'s' * (number != 1)}, and a ballot needs two. Add one of "
            "another source, or let an arm of the study write one."
        )
    if number > MOST:
        arms = f" ({len(study.arms)} of them by the study's arms)" if draft.attention is None and study.arms else ""
        raise ItemsError(
            f"{where}: this message has {number} answers{arms}, and {MOST} fit on a ballot. Take some away."
        )


def _items(drafts: Sequence[_Draft], study: StudyFile, specs: Mapping[str, ModelSpec]) -> list[ItemRecord]:
    now, names = datetime.now(UTC), model_names(specs)
    items = []
    for number, draft in enumerate(drafts, 1):
        answers = [
            completed(_answer(study, draft.message, source, now), text, names) for source, text in draft.answers.items()
        ]
        if draft.attention is None:  # an attention item has its answers in the file: arms would not know the right one
            answers += pending(study, draft.message)
        identity = item_id(study, draft.message)
        items.append(ItemRecord(identity, study.id, number, draft.message, draft.attention, tuple(answers)))
    return items


def _answer(study: StudyFile, message: str, source: str, now: datetime) -> AnswerRecord:
    """A PENDING answer, under a random id: one made from its source would tell."""
    return AnswerRecord(
        str(uuid.uuid4()), study.id, item_id(study, message), source, created_at=now, human=is_human(source)
    )
