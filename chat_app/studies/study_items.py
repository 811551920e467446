"""Read the items of a survey from a CSV: messages with answers, or questions whose answers are still to be generated.

Three forms, distinguished by the header. The public counselling sets as they are (columns Context and Response; of
several responses to one context the first is taken, as the answer of the source "human"). Long: message, source,
answer, one answer a line. Wide: message and a column for each source. Long and wide may have a column `attention`.

A researcher's own file is read completely or refused, because a study that lacks a line is lost. In a public set, lines
without text and repetitions are skipped and counted. A crisis message is always skipped.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.safety.assessment import assess
from heard.chat_app.studies.question_files import header_columns, question_column
from heard.chat_app.studies.study_answers import completed, model_names
from heard.chat_app.studies.study_file import MOST_ANSWERS, StudyFile
from heard.db.study_records import AnswerRecord, ItemRecord
from heard.errors import UserError
from heard.hints import nearest_name
from heard.scorer.csv_rows import Row, Sheet, read_file, read_sheet

HUMAN = "human"
"""The source of answers written by people. Names that begin with it and a dash ("human-trained") are human too."""
CONTEXT, RESPONSE = "context", "response"
FEWEST_ANSWERS = 2
"""Fewest answers of an item, counting those that are still to be generated."""
_MOST_FAULTS_SHOWN = 3
"""Most faults of one file in one error."""


class ItemsError(UserError):
    """A file of items that cannot be used; `str()` names the file, the line, the fault and the next step."""


@dataclass(slots=True)
class SkippedLines:
    """Number of lines of the file that were skipped, by reason."""

    empty: int = 0
    """Without a message or, in a public set, without a response."""
    repeated: int = 0
    """The same message (and source, and answer) as an earlier line."""
    further_responses: int = 0
    """In a public set: another response to a message that has one."""
    faulty: int = 0
    """In a public set: malformed rows."""
    crisis: int = 0
    """Messages with suicidal or self-harm meaning: they never reach a model or a ballot."""

    def sentences(self) -> list[str]:
        """Return a sentence for each count that is not 0."""
        counts = (
            (self.empty, "without text"),
            (self.repeated, "the same as an earlier one"),
            (self.further_responses, "further responses to a message that has one"),
            (self.faulty, "no row of the table"),
            (self.crisis, "a crisis: such a message never reaches a model or a ballot"),
        )
        return [f"Passed over: {number} line{'s' * (number != 1)} ({what})." for number, what in counts if number]


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a file, and what was skipped."""

    items: list[ItemRecord]
    skipped: SkippedLines


@dataclass(slots=True)
class _ItemDraft:
    """A message that becomes an item."""

    line: int
    message: str
    answers: dict[str, str] = field(default_factory=dict)
    attention: str | None = None


def read_items(path: Path, study: StudyFile, specs: Mapping[str, ModelSpec], limit: int | None = None) -> Items:
    """Read the items of a survey, at most `limit`, with their own answers COMPLETE and those of the arms PENDING.

    `specs` are the configured models: an answer that names one is marked as a leak. Raises ItemsError, or ScorerError
    if the file is not a CSV.
    """
    raw = read_file(path)
    columns = header_columns(path.name, raw)
    skipped = SkippedLines()
    if CONTEXT in columns and RESPONSE in columns:
        _check_sources(path.name, [HUMAN], study)
        drafts = _public_drafts(_public_sheet(path, raw, (CONTEXT, RESPONSE), columns), skipped)
    elif "answer" in columns or {"message", "source"} <= set(columns) or len(columns) < 2:
        sheet = read_sheet(path.name, raw, ("message", "source", "answer"), ("attention",))
        drafts = _long_drafts(_checked_sheet(sheet), skipped)
    elif "message" in columns:
        sources = [column for column in columns if column not in ("message", "attention")]
        _check_sources(path.name, sources, study)
        drafts = _wide_drafts(
            _checked_sheet(read_sheet(path.name, raw, ("message", *sources), ("attention",))), sources, skipped
        )
    else:
        raise ItemsError(
            f"{path.name}, line 1: no column message. Its first line must be message,source,answer (one answer a "
            "line), or message and a column for each source, or Context,Response."
        )
    drafts = _without_crises(drafts, skipped)
    for draft in drafts:
        _check_item(path.name, draft, study)
    return Items(_items(drafts[:limit], study, specs), skipped)


def read_questions(path: Path, study: StudyFile, limit: int | None = None) -> Items:
    """Read messages without answers as items, at most `limit`, from the column message, Context or question.

    Other columns are not read. Raises ItemsError, or ScorerError if the file is not a CSV.
    """
    raw = read_file(path)
    columns, column = question_column(path.name, raw)
    if column is None:
        raise ItemsError(
            f"{path.name}, line 1: no column message, Context or question. Name the column of messages so."
        )
    if len(study.arms) < FEWEST_ANSWERS:
        raise ItemsError(
            f"Study {study.id} has {len(study.arms)} arm{'s' * (len(study.arms) != 1)}, and a ballot needs two "
            "answers. Add arms to its file, or import items that have answers: heard study import."
        )
    skipped = SkippedLines()
    drafts: dict[str, _ItemDraft] = {}
    sheet = _public_sheet(path, raw, (column,), columns)
    skipped.faulty += len(sheet.faults)
    for row in sheet.rows:
        message = _cell_text(row, column)
        if not message:
            skipped.empty += 1
        elif message in drafts:
            skipped.repeated += 1
        else:
            drafts[message] = _ItemDraft(row.line, message)
    kept = _without_crises(list(drafts.values()), skipped)
    for draft in kept:
        _check_item(path.name, draft, study)
    return Items(_items(kept[:limit], study, {}), skipped)


def item_id(study: StudyFile, message: str) -> str:
    """Return the id of an item, derived from its message, so that a second import keeps what was generated."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"heard:{study.id}:{message}"))


def is_human(source: str) -> bool:
    """Return whether a source's answers were written by people, by its name."""
    return source == HUMAN or source.startswith((f"{HUMAN}-", f"{HUMAN}_"))


def pending_answers(study: StudyFile, message: str) -> list[AnswerRecord]:
    """Return a PENDING answer to `message` for each arm of the study."""
    now = datetime.now(UTC)
    return [
        replace(_answer(study, message, arm.name, now), persona=arm.persona, strategy=arm.strategy, model=arm.model)
        for arm in study.arms
    ]


def _public_sheet(path: Path, raw: bytes, needed: Sequence[str], columns: Sequence[str]) -> Sheet:
    """Read a public set, which may have any other columns."""
    return read_sheet(path.name, raw, needed, [column for column in columns if column not in needed])


def _checked_sheet(sheet: Sheet) -> Sheet:
    """Return a researcher's own sheet. Raises ItemsError if any row is faulty."""
    if sheet.faults:
        faults = "; ".join(str(fault) for fault in sheet.faults[:_MOST_FAULTS_SHOWN])
        more = len(sheet.faults) - _MOST_FAULTS_SHOWN
        raise ItemsError(f"{sheet.name}, {faults}{f' And {more} more.' if more > 0 else ''} Mend it and import again.")
    return sheet


def _cell_text(row: Row, column: str) -> str:
    text = clean_unicode(row.cells[column]).strip()
    return text if has_visible(text) else ""


def _public_drafts(sheet: Sheet, skipped: SkippedLines) -> list[_ItemDraft]:
    drafts: dict[str, _ItemDraft] = {}
    pairs: set[tuple[str, str]] = set()
    skipped.faulty += len(sheet.faults)
    for row in sheet.rows:
        message, answer = _cell_text(row, CONTEXT), _cell_text(row, RESPONSE)
        if not message or not answer:
            skipped.empty += 1
        elif (message, answer) in pairs:
            skipped.repeated += 1
        elif message in drafts:
            skipped.further_responses += 1
        else:
            drafts[message] = _ItemDraft(row.line, message, {HUMAN: answer})
        pairs.add((message, answer))
    return list(drafts.values())


def _long_drafts(sheet: Sheet, skipped: SkippedLines) -> list[_ItemDraft]:
    drafts: dict[str, _ItemDraft] = {}
    for row in sheet.rows:
        message, source, answer = (_cell_text(row, column) for column in ("message", "source", "answer"))
        where = f"{sheet.name}, line {row.line}"
        for column, text in (("message", message), ("source", source), ("answer", answer)):
            if not text:
                raise ItemsError(f"{where}: the {column} is empty. Write it, or remove the line.")
        draft = drafts.setdefault(message, _ItemDraft(row.line, message))
        if draft.answers.get(source) == answer:
            skipped.repeated += 1
        elif source in draft.answers:
            raise ItemsError(
                f'{where}: source "{source}" has answered this message already (which begins in line {draft.line}). '
                "Remove one of the two answers."
            )
        draft.answers[source] = answer
        _set_attention(where, draft, _cell_text(row, "attention") if "attention" in row.cells else "")
    return list(drafts.values())


def _wide_drafts(sheet: Sheet, sources: Sequence[str], skipped: SkippedLines) -> list[_ItemDraft]:
    drafts: dict[str, _ItemDraft] = {}
    for row in sheet.rows:
        message = _cell_text(row, "message")
        where = f"{sheet.name}, line {row.line}"
        for column, text in (("message", message), *((source, _cell_text(row, source)) for source in sources)):
            if not text:
                raise ItemsError(
                    f"{where}: the cell of {column} is empty. Fill it; an item that a source has not answered needs "
                    "the form message,source,answer."
                )
        draft = _ItemDraft(row.line, message, {source: _cell_text(row, source) for source in sources})
        _set_attention(where, draft, _cell_text(row, "attention") if "attention" in row.cells else "")
        known = drafts.setdefault(message, draft)
        if known is draft:
            continue
        if known.answers != draft.answers or known.attention != draft.attention:
            raise ItemsError(f"{where}: this message stands in line {known.line} already. Remove one of the two.")
        skipped.repeated += 1
    return list(drafts.values())


def _set_attention(where: str, draft: _ItemDraft, named: str) -> None:
    if named and draft.attention not in (None, named):
        raise ItemsError(f"{where}: the column attention names two sources for one message. Name one.")
    draft.attention = draft.attention or named or None


def _without_crises(drafts: list[_ItemDraft], skipped: SkippedLines) -> list[_ItemDraft]:
    kept = [draft for draft in drafts if not assess(draft.message).crisis]
    skipped.crisis += len(drafts) - len(kept)
    return kept


def _check_sources(name: str, sources: Sequence[str], study: StudyFile, line: int = 1) -> None:
    for source in sources:
        if source not in study.sources:
            hint = f"{nearest_name(source, study.sources)} " if study.sources else ""
            raise ItemsError(
                f'{name}, line {line}: no source "{source}" in study {study.id}. {hint}The study\'s file names those '
                f'that come with the items: sources = ["{source}"].'
            )


def _check_item(name: str, draft: _ItemDraft, study: StudyFile) -> None:
    """Raise ItemsError for an item that does not fit on a ballot."""
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
    if number < FEWEST_ANSWERS:
        raise ItemsError(
            f"{where}: this message has {number} answer{'s' * (number != 1)}, and a ballot needs two. Add one of "
            "another source, or let an arm of the study write one."
        )
    if number > MOST_ANSWERS:
        arms = f" ({len(study.arms)} of them by the study's arms)" if draft.attention is None and study.arms else ""
        raise ItemsError(
            f"{where}: this message has {number} answers{arms}, and {MOST_ANSWERS} fit on a ballot. Take some away."
        )


def _items(drafts: Sequence[_ItemDraft], study: StudyFile, specs: Mapping[str, ModelSpec]) -> list[ItemRecord]:
    now, names = datetime.now(UTC), model_names(specs)
    items = []
    for number, draft in enumerate(drafts, 1):
        answers = [
            completed(_answer(study, draft.message, source, now), text, names) for source, text in draft.answers.items()
        ]
        if draft.attention is None:  # an attention item has its answers in the file: arms would not know the right one
            answers += pending_answers(study, draft.message)
        identity = item_id(study, draft.message)
        items.append(ItemRecord(identity, study.id, number, draft.message, draft.attention, tuple(answers)))
    return items


def _answer(study: StudyFile, message: str, source: str, now: datetime) -> AnswerRecord:
    """Return a PENDING answer with a random id, as one derived from its source would reveal it."""
    return AnswerRecord(
        str(uuid.uuid4()), study.id, item_id(study, message), source, created_at=now, human=is_human(source)
    )
