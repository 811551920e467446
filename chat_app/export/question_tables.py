"""The questions round the ballots in a research export: answers, scores, and the codebook's line on each question."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from heard.chat_app.export.columns import PARTICIPANT, STUDY, Column, ExportTable, Kind
from heard.chat_app.questions.branching import as_number
from heard.chat_app.questions.question_file import Item, QuestionFile, countable, parse_question_file, range_of
from heard.chat_app.questions.question_set import item_key, items_by_key
from heard.chat_app.questions.scoring import scores_of
from heard.db.research_export import Batch

_AFTER = Column(
    "after_ballots", Kind.WHOLE, "Ballots that were done when it was asked between ballots.",
    "1, 2, ..; 0 before the first and after the last", "question_answer.after_ballots",
)  # fmt: skip
QUESTION_ANSWERS = ExportTable(
    "question_answers",
    "one person's answer to one question round the ballots",
    (
        STUDY,
        PARTICIPANT,
        Column(
            "question", Kind.TEXT, "File and item; what is asked stands at the end of this codebook.", "FILE.ITEM",
            "question_answer.item",
        ),
        _AFTER,
        Column(
            "value", Kind.TEXT, "The answer.",
            'an option, several joined by ";", a number or free text; empty was shown and left empty',
            "question_answer.value",
        ),
        Column("number", Kind.NUMBER, "The answer as a number, for those that are one.", "", "question_answer.value"),
        Column(
            "correct", Kind.YES_NO, "For a question that looks for attention: whether the answer is the right one.",
            "empty for other questions", "question_answer.value is the right one",
        ),
        Column(
            "answered_at", Kind.TIME, "When it was answered, or last changed.", origin="question_answer.answered_at"
        ),
    ),
)  # fmt: skip
QUESTION_SCORES = ExportTable(
    "question_scores",
    "one score of one person from the answers to one file of questions",
    (
        STUDY,
        PARTICIPANT,
        Column("file", Kind.TEXT, "The file of questions.", origin="question_answer.item"),
        Column("score", Kind.TEXT, "The score's name in it.", origin="the study's questions"),
        _AFTER,
        Column(
            "value", Kind.NUMBER, "The score, reversed items turned round.",
            "in the units of the items (mean) or of their sum; empty with too many answers missing",
            "question_answer.value, by the file's key",
        ),
        Column("answered", Kind.WHOLE, "Items with an answer.", "0 to items", "counted in question_answer"),
        Column("items", Kind.WHOLE, "Items that the score counts.", "1 or more", "the study's questions"),
    ),
)  # fmt: skip

Files = Mapping[str, Sequence[QuestionFile]]
"""The files of questions by study."""
Entry = tuple[str, str, str, str, str, str]
"""A line of the codebook: as its HEADINGS."""


def files_in(studies: Batch) -> dict[str, list[QuestionFile]]:
    """Return the files of questions of studies, without those that ask nothing."""
    found = {}
    for name, definition in zip(studies["id"], studies["definition"], strict=True):
        if values := json.loads(definition).get("questions"):
            found[name] = [parse_question_file(one, f"study {name}") for one in values]
    return found


async def with_scores(files: Files, batches: AsyncIterator[Batch]) -> AsyncIterator[tuple[Batch, Batch]]:
    """Yield each batch of answers with its numbers and marks, and the scores of the people who are whole by then.

    `batches` have the answers of one person together, as `db/research_export_questions.py` yields them.
    """
    items = {study: items_by_key(of) for study, of in files.items()}
    person: tuple[str, str] | None = None
    theirs: dict[int, dict[str, str | None]] = {}
    async for batch in batches:
        scores: list[dict[str, Any]] = []
        numbers, marks = [], []
        rows = (batch[name] for name in ("study_id", "participant_id", "question", "after_ballots", "value"))
        for study, who, question, after, value in zip(*rows, strict=True):
            if (study, who) != person:
                scores += _scores(files, person, theirs)
                person, theirs = (study, who), {}
            theirs.setdefault(after, {})[question] = value
            file, item = items[study].get(question, (None, None))
            numbers.append(as_number(value or "") if file and item and _is_number(file, item) else None)
            marks.append(value == item.correct if item and item.correct and value is not None else None)
        yield batch | {"number": numbers, "correct": marks}, _as_batch(scores)
    yield {}, _as_batch(list(_scores(files, person, theirs)))


def _scores(
    files: Files, person: tuple[str, str] | None, theirs: Mapping[int, Mapping[str, str | None]]
) -> Iterator[dict[str, Any]]:
    if person is None:
        return
    study, who = person
    for after, answers in theirs.items():
        for file in files[study]:
            own = {key.removeprefix(f"{file.id}."): v for key, v in answers.items() if key.startswith(f"{file.id}.")}
            for score in scores_of(file, own) if own else ():
                yield {
                    "study_id": study, "participant_id": who, "file": file.id, "score": score.name,
                    "after_ballots": after, "value": score.value, "answered": score.answered, "items": score.items,
                }  # fmt: skip


def _as_batch(rows: list[dict[str, Any]]) -> Batch:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def _is_number(file: QuestionFile, item: Item) -> bool:
    return item.kind == "number" or countable(file, item)


def codebook_entries(files: Files) -> list[Entry]:
    """Return a line for each question and each score of each study."""
    return [entry for study, of in files.items() for file in of for entry in _entries(study, file)]


def _entries(study: str, file: QuestionFile) -> Iterator[Entry]:
    for number, page in enumerate(file.pages, 1):
        for item in page.items:
            origin = [f"{file.id}, page {number}, {_when(file)}"]
            origin += [f"shown if {item.show_if}"] if item.show_if else []
            origin += [f"screens out {item.screen_out}"] if item.screen_out else []
            origin += [] if item.required else ["may stay empty"]
            yield (
                f"questions of {study}",
                item_key(file, item),
                item.kind,
                item.text,
                _values(file, item),
                "; ".join(origin),
            )
    for score in file.scores:
        reverse = f"; reversed: {', '.join(score.reversed)}" if score.reversed else ""
        rule = f"{score.combine} of {', '.join(score.items)}{reverse}; at most {score.missing:.0%} missing"
        yield f"scores of {study}", f"{file.id}.{score.name}", "score", rule, "", file.source.strip() or file.id


def _when(file: QuestionFile) -> str:
    if file.every is not None:
        return f"after every {file.every} ballots"
    return f"after ballot {file.after_ballot}" if file.place == "between" else f"{file.place} the ballots"


def _values(file: QuestionFile, item: Item) -> str:
    answers = range_of(file, item)
    if answers and len(answers.labels) == 2:
        text = f"{answers.min} ({answers.labels[0]}) to {answers.max} ({answers.labels[1]})"
    elif answers and answers.labels:
        text = "; ".join(f"{point} = {label}" for point, label in enumerate(answers.labels, answers.min))
    elif answers:
        text = f"{answers.min} to {answers.max}"
    elif item.kind == "number":
        ends = [
            f"from {item.min:g}" if item.min is not None else "",
            f"to {item.max:g}" if item.max is not None else "",
        ]
        text = " ".join(end for end in ends if end) or "any number"
    else:
        text = "; ".join(f"{option.value} = {option.label}" for option in item.options) or "free text"
    return f"{text}; right is {item.correct}" if item.correct else text
