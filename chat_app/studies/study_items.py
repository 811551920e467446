"""Read the items of a survey: messages with answers, or questions whose answers are still to be generated.

From a file in one of the forms of `item_forms`, or from a public set that is named. A crisis message is held back,
unless a named person has admitted it.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from heard.chat_app.models.records import ModelSpec
from heard.chat_app.studies.answer_checks import notices
from heard.chat_app.studies.column_names import renamed
from heard.chat_app.studies.data_files import read_data
from heard.chat_app.studies.item_drafts import (
    HUMAN,
    ItemDraft,
    ItemsError,
    SkippedLines,
    best_of_each,
    without_crises,
)
from heard.chat_app.studies.item_forms import check_sources, read_form
from heard.chat_app.studies.public_sets import PUBLIC_SETS, Context, read_set
from heard.chat_app.studies.question_files import question_sheet
from heard.chat_app.studies.stimulus_text import Repairs
from heard.chat_app.studies.study_answers import completed, model_names
from heard.chat_app.studies.study_file import MOST_ANSWERS, StudyFile
from heard.db.study_records import AnswerRecord, HeldItem, ItemRecord
from heard.hints import nearest_name
from heard.scorer.csv_rows import Sheet, printable

FEWEST_ANSWERS = 2
"""Fewest answers of an item, counting those that are still to be generated."""


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a file, and what was skipped."""

    items: list[ItemRecord]
    skipped: SkippedLines
    told: tuple[str, ...] = ()
    """Sentences about how the file was read, what was mended in it, and what may give its answers away."""
    places: tuple[str, ...] = ()
    """Of each item where it begins, such as "line 2"."""
    encoding: str = ""
    """What the file was read as, for people."""
    held: tuple[HeldItem, ...] = ()
    """Messages that were held back as crises."""


def read_items(
    path: Path,
    study: StudyFile,
    specs: Mapping[str, ModelSpec],
    limit: int | None = None,
    *,
    names: Mapping[str, str] | None = None,
    public_set: str | None = None,
    attention: Path | None = None,
    admitted: Sequence[HeldItem] = (),
) -> Items:
    """Read the items of a survey, at most `limit` beside those for attention, with their own answers COMPLETE and those
    of the arms PENDING.

    `attention` is a file of attention items alone. A message that reads like a crisis is held back, unless it is
    one of `admitted` and the study has trained raters.

    `specs` are the configured models: an answer that names one is marked as a leak. `names` are our names of columns
    with those in the file (`parse_columns`), `public_set` one of PUBLIC_SETS. Raises ItemsError, ColumnsError, or
    ScorerError if the file is no table.
    """
    skipped, repairs = SkippedLines(), Repairs()
    drafts, sheet = _read(path, study, names or {}, public_set, repairs, skipped)
    if attention is not None:
        drafts += _attention_drafts(attention, study, repairs, skipped, {draft.message for draft in drafts})
    by_id = {one.item_id: (one.admitted_by, one.admitted_at) for one in admitted} if study.trained_raters else {}
    let_in = {
        draft.message: (who, when)
        for draft in drafts
        for who, when in [by_id.get(item_id(study, draft.message), (None, None))]
        if who and when
    }
    drafts, held = without_crises(drafts, skipped, let_in)
    for draft in drafts:
        _check_item(sheet, draft, study)
    ordinary = [draft for draft in drafts if draft.attention is None][:limit]
    taken = {id(draft) for draft in ordinary}
    kept = [draft for draft in drafts if draft.attention is not None or id(draft) in taken]
    told = (*sheet.notes, *repairs.sentences(sheet.unit), *notices(kept, sheet.unit))
    back = _held(sheet, held, study)
    return Items(_items(kept, study, specs), skipped, told, _places(sheet, kept), sheet.encoding, back)


def read_questions(
    path: Path, study: StudyFile, limit: int | None = None, *, names: Mapping[str, str] | None = None
) -> Items:
    """Read messages without answers as items, at most `limit`, from the column message, Context or question.

    Other columns are not read. `names` are our names of columns with those in the file. Raises ItemsError,
    ColumnsError, or ScorerError if the file is no table.
    """
    sheet, column = question_sheet(path, names or {})
    if column is None:
        raise ItemsError(
            f"{path.name}, line 1: no column message, Context or question. Name the column of messages so, or say "
            "which it is: --columns message=NAME."
        )
    if len(study.arms) < FEWEST_ANSWERS:
        raise ItemsError(
            f"Study {study.id} has {len(study.arms)} arm{'s' * (len(study.arms) != 1)}, and a ballot needs two "
            "answers. Add arms to its file, or import items that have answers: heard study import."
        )
    skipped, repairs = SkippedLines(faulty=len(sheet.faults)), Repairs()
    found = (ItemDraft(row.line, repairs.mended(row.cells[column], row.line)) for row in sheet.rows)
    kept, held = without_crises(best_of_each(found, skipped), skipped, {})  # an arm would have to answer it
    for draft in kept:
        _check_item(sheet, draft, study)
    told = (*sheet.notes, *repairs.sentences(sheet.unit))
    back, kept = _held(sheet, held, study), kept[:limit]
    return Items(_items(kept, study, {}), skipped, told, _places(sheet, kept), sheet.encoding, back)


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


def _read(
    path: Path,
    study: StudyFile,
    names: Mapping[str, str],
    public_set: str | None,
    repairs: Repairs,
    skipped: SkippedLines,
) -> tuple[list[ItemDraft], Sheet]:
    """Return the drafts of a file, and its table with all notes."""
    if public_set is None:
        sheet = renamed(read_data(path), names)
        drafts, notes = read_form(sheet, study, repairs, skipped)
        return drafts, replace(sheet, notes=notes)
    if public_set not in PUBLIC_SETS:
        raise ItemsError(f'There is no format "{public_set}". {nearest_name(public_set, PUBLIC_SETS)}')
    if names:
        raise ItemsError("A format knows its columns. Give --format or --columns, not both.")
    known = PUBLIC_SETS[public_set]
    sheet = read_data(path, quoted=known.quoted)
    if known.humans:
        check_sources(sheet.name, [HUMAN], study)
    elif len(study.sources) < FEWEST_ANSWERS:
        raise ItemsError(
            f"Study {study.id} names no two sources, and {public_set} has answers of many models. Name those to be "
            'judged in its file: sources = ["...", "..."].'
        )
    found = read_set(public_set, sheet, Context(study.sources, repairs, skipped))
    return best_of_each(found, skipped), sheet


def _attention_drafts(
    path: Path, study: StudyFile, repairs: Repairs, skipped: SkippedLines, known: set[str]
) -> list[ItemDraft]:
    """Return the attention items of a file of their own. Raises ItemsError for a line that names no right answer, or
    whose message is one of the `known`."""
    drafts, sheet = _read(path, study, {}, None, repairs, skipped)
    for draft in drafts:
        where = f"{sheet.name}, {sheet.unit} {draft.line}"
        if draft.attention is None:
            raise ItemsError(
                f"{where}: no source in the column attention. Name the one that an attentive person marks; the "
                "file has the columns message,source,answer,attention."
            )
        if draft.message in known:
            raise ItemsError(f"{where}: this message stands among the items too. Remove one of the two.")
        draft.file = sheet.name
    return drafts


def _places(sheet: Sheet, drafts: Sequence[ItemDraft]) -> tuple[str, ...]:
    return tuple(_place(sheet, draft) for draft in drafts)


def _place(sheet: Sheet, draft: ItemDraft) -> str:
    return f"{draft.file}, line {draft.line}" if draft.file else f"{sheet.unit} {draft.line}"


def _held(sheet: Sheet, held: Sequence[tuple[ItemDraft, str]], study: StudyFile) -> tuple[HeldItem, ...]:
    now = datetime.now(UTC)
    return tuple(
        HeldItem(
            item_id(study, draft.message),
            number,
            _place(sheet, draft) if draft.file else f"{sheet.name}, {_place(sheet, draft)}",
            reason,
            now,
        )
        for number, (draft, reason) in enumerate(held, 1)
    )


def _check_item(sheet: Sheet, draft: ItemDraft, study: StudyFile) -> None:
    """Raise ItemsError for an item that does not fit on a ballot."""
    place = f"{sheet.unit} {draft.line}"
    where = _place(sheet, draft) if draft.file else f"{sheet.name}, {place}"
    if draft.attention is None:
        check_sources(sheet.name, list(draft.answers), study, place)
        number = len(draft.answers) + (len(study.arms) if draft.admitted_by is None else 0)
    else:
        number = len(draft.answers)
        if draft.attention not in draft.answers:
            raise ItemsError(
                f'{where}: attention names "{printable(draft.attention)}", which has no answer to this message. '
                f"{nearest_name(draft.attention, map(printable, draft.answers))}"
            )
    if number < FEWEST_ANSWERS and draft.admitted_by is not None:
        raise ItemsError(
            f"{where}: this message reads like a crisis and was admitted, so no model may answer it: all its answers, "
            f"two at least, must come with the file, and it has {number}. Add answers, or take the message out."
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


def _items(drafts: Sequence[ItemDraft], study: StudyFile, specs: Mapping[str, ModelSpec]) -> list[ItemRecord]:
    now, names = datetime.now(UTC), model_names(specs)
    items = []
    for number, draft in enumerate(drafts, 1):
        answers = [
            completed(_answer(study, draft.message, source, now), text, names) for source, text in draft.answers.items()
        ]
        item = ItemRecord(
            item_id(study, draft.message), study.id, number, draft.message, draft.attention,
            admitted_by=draft.admitted_by, admitted_at=draft.admitted_at,
        )  # fmt: skip
        if not item.comes_whole:
            answers += pending_answers(study, draft.message)
        items.append(replace(item, answers=tuple(answers)))
    return items


def _answer(study: StudyFile, message: str, source: str, now: datetime) -> AnswerRecord:
    """Return a PENDING answer with a random id, as one derived from its source would reveal it."""
    return AnswerRecord(
        str(uuid.uuid4()), study.id, item_id(study, message), source, created_at=now, human=is_human(source)
    )
