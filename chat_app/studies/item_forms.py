"""The forms in which a table holds messages with answers, told apart by its columns.

Pairs: the columns Context and Response, as the public counselling sets have them, of which all else is passed over and
counted. Long: message, source, answer, one answer a line. Wide: message and a column for each source. Long and wide
may have a column `attention`; a researcher's own file in them is read completely or refused, because a study that
lacks a line is lost.
"""

from collections.abc import Mapping, Sequence

from heard.chat_app.studies.item_drafts import HUMAN, ItemDraft, ItemsError, SkippedLines, best_of_each
from heard.chat_app.studies.public_sets import set_that_fits
from heard.chat_app.studies.stimulus_text import Repairs
from heard.chat_app.studies.study_file import StudyFile
from heard.hints import nearest_name
from heard.scorer.csv_rows import Sheet, choose, printable

CONTEXT, RESPONSE = "context", "response"
_MOST_FAULTS_SHOWN = 3
"""Most faults of one file in one error."""


def read_form(
    sheet: Sheet, study: StudyFile, repairs: Repairs, skipped: SkippedLines
) -> tuple[list[ItemDraft], tuple[str, ...]]:
    """Return a draft of each item, and the notes on the table. Raises ItemsError or ScorerError for a table that is in
    none of the forms, or whose lines are not."""
    columns = sheet.columns
    if CONTEXT in columns and RESPONSE in columns:
        check_sources(sheet.name, [HUMAN], study)
        chosen = choose(sheet, (CONTEXT, RESPONSE), others=True)
        return _pairs(chosen, repairs, skipped), chosen.notes
    if "answer" in columns or {"message", "source"} <= set(columns) or len(columns) < 2:
        chosen = choose(sheet, ("message", "source", "answer"), ("attention",), others=True)
        return _long(_whole(chosen), repairs, skipped), chosen.notes
    if "message" in columns:
        sources = _sources(sheet, study)
        chosen = choose(sheet, ("message", *sources), ("attention",), others=True)
        return _wide(_whole(chosen), sources, repairs, skipped), chosen.notes
    fitting = set_that_fits(columns)
    raise ItemsError(
        f"{sheet.name}, {sheet.unit} {sheet.first_line}: no column message. "
        + (f"It looks like the public set {fitting}: add --format {fitting}. Otherwise its" if fitting else "Its")
        + " first line must be message,source,answer (one answer a line), or message and a column for each source, or "
        "Context,Response; --columns message=NAME,reply=NAME names other columns."
    )


def check_sources(name: str, sources: Sequence[str], study: StudyFile, place: str = "line 1") -> None:
    """Raise ItemsError for a source that does not stand in the study's file."""
    for source in sources:
        if source not in study.sources:
            hint = f"{nearest_name(source, study.sources)} " if study.sources else ""
            raise ItemsError(
                f'{name}, {place}: no source "{printable(source)}" in study {study.id}. {hint}The study\'s file names '
                f'those that come with the items: sources = ["{printable(source)}"].'
            )


def _sources(sheet: Sheet, study: StudyFile) -> dict[str, str]:
    """Return the columns of a wide table that are sources of the study, and their names there.

    Further columns are no fault where every source has one; otherwise they may be misspelt sources.
    """
    named = {source.lower(): source for source in study.sources}
    others = [column for column in dict.fromkeys(sheet.columns) if column not in ("message", "attention")]
    found = {column: named[column] for column in others if column in named}
    strange = [column for column in others if column not in named]
    if strange and (len(found) < len(named) or not found):
        check_sources(sheet.name, strange, study)
    return found


def _whole(sheet: Sheet) -> Sheet:
    """Return a researcher's own sheet. Raises ItemsError if any row is faulty."""
    if sheet.faults:
        faults = "; ".join(f"{sheet.unit} {fault.line}: {fault.reason}" for fault in sheet.faults[:_MOST_FAULTS_SHOWN])
        more = len(sheet.faults) - _MOST_FAULTS_SHOWN
        raise ItemsError(f"{sheet.name}, {faults}{f' And {more} more.' if more > 0 else ''} Mend it and import again.")
    return sheet


def _pairs(sheet: Sheet, repairs: Repairs, skipped: SkippedLines) -> list[ItemDraft]:
    skipped.faulty += len(sheet.faults)
    return best_of_each(
        (
            ItemDraft(
                row.line,
                repairs.mended(row.cells[CONTEXT], row.line),
                {HUMAN: repairs.mended(row.cells[RESPONSE], row.line)},
            )
            for row in sheet.rows
        ),
        skipped,
    )


def _long(sheet: Sheet, repairs: Repairs, skipped: SkippedLines) -> list[ItemDraft]:
    drafts: dict[str, ItemDraft] = {}
    for row in sheet.rows:
        texts = {column: repairs.mended(cell, row.line) for column, cell in row.cells.items()}
        message, source, answer = (texts[column] for column in ("message", "source", "answer"))
        where = f"{sheet.name}, {sheet.unit} {row.line}"
        for column, text in (("message", message), ("source", source), ("answer", answer)):
            if not text:
                raise ItemsError(f"{where}: the {column} is empty. Write it, or remove the line.")
        draft = drafts.setdefault(message, ItemDraft(row.line, message))
        if draft.answers.get(source) == answer:
            skipped.repeated += 1
        elif source in draft.answers:
            raise ItemsError(
                f'{where}: source "{printable(source)}" has answered this message already (which begins in '
                f"{sheet.unit} {draft.line}). Remove one of the two answers."
            )
        draft.answers[source] = answer
        _set_attention(where, draft, texts.get("attention", ""))
    return list(drafts.values())


def _wide(sheet: Sheet, sources: Mapping[str, str], repairs: Repairs, skipped: SkippedLines) -> list[ItemDraft]:
    drafts: dict[str, ItemDraft] = {}
    for row in sheet.rows:
        texts = {column: repairs.mended(cell, row.line) for column, cell in row.cells.items()}
        where = f"{sheet.name}, {sheet.unit} {row.line}"
        for column in ("message", *sources):
            if not texts[column]:
                raise ItemsError(
                    f"{where}: the cell of {column} is empty. Fill it; an item that a source has not answered needs "
                    "the form message,source,answer."
                )
        message = texts["message"]
        draft = ItemDraft(row.line, message, {source: texts[column] for column, source in sources.items()})
        _set_attention(where, draft, texts.get("attention", ""))
        known = drafts.setdefault(message, draft)
        if known is draft:
            continue
        if known.answers != draft.answers or known.attention != draft.attention:
            raise ItemsError(
                f"{where}: this message stands in {sheet.unit} {known.line} already. Remove one of the two."
            )
        skipped.repeated += 1
    return list(drafts.values())


def _set_attention(where: str, draft: ItemDraft, named: str) -> None:
    if named and draft.attention not in (None, named):
        raise ItemsError(f"{where}: the column attention names two sources for one message. Name one.")
    draft.attention = draft.attention or named or None
