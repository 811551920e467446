"""Which question page a person comes to, what stands on it, and what its form makes of their answers.

All of it follows from the study, the ballots that are done and the stored answers: there is no other memory of where
somebody is. A page is done when each of its items that are asked has an answer stored, an empty one too.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from heard.chat_app.questions.answering import AnswerProblem, read_answer
from heard.chat_app.questions.question_file import Item, Page, QuestionFile
from heard.chat_app.questions.question_set import in_order, item_key, items_by_key, screens_out, visible_items
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.survey import Participation
from heard.db.study_records import EnrolmentRecord, QuestionAnswerRecord
from heard.sentences import said

Answers = Sequence[QuestionAnswerRecord]
SCREENED_OUT = "screened-out"
"""The last part of the address of the page for whoever an answer has sent away."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """One question page at one time of asking."""

    file: QuestionFile
    number: int
    """Of the page in its file, from 1."""
    after_ballots: int
    """As in `QuestionAnswerRecord`."""

    @property
    def page(self) -> Page:
        """The page."""
        return self.file.pages[self.number - 1]

    @property
    def stage(self) -> tuple[str, int]:
        """The place and the time of asking: within one, people may go back."""
        return self.file.place, self.after_ballots

    @property
    def path(self) -> tuple[str, ...]:
        """What its URL has after the study's."""
        return ("questions", self.file.id, str(self.number), str(self.after_ballots))


def sheets_due(study: StudyFile, voted: int, total: int, *, at_end: bool) -> list[Sheet]:
    """Return the pages that a person with `voted` of `total` ballots done has to have answered, in order.

    `at_end` says whether all ballots are done, so that the pages after them are due.
    """
    stages: list[tuple[int, QuestionFile]] = []
    for place in ("before", "between", "after"):
        files = [file for file in in_order(study.questions) if file.place == place]
        if place == "between":
            for done in range(1, min(voted, total - 1) + 1):
                stages += [(done, file) for file in files if _is_due(file, done)]
        elif place == "before" or at_end:
            stages += [(0, file) for file in files]
    return [Sheet(file, number, done) for done, file in stages for number in range(1, len(file.pages) + 1)]


def _is_due(file: QuestionFile, done: int) -> bool:
    return done == file.after_ballot or (file.every is not None and done % file.every == 0)


def known_answers(answers: Answers, after_ballots: int) -> dict[str, str | None]:
    """Return stored answers by item as conditions at one time of asking see them: those of that time, else the last."""
    return {answer.item: answer.value for answer in sorted(answers, key=lambda one: _freshness(one, after_ballots))}


def _freshness(answer: QuestionAnswerRecord, after_ballots: int) -> tuple[bool, int]:
    return answer.after_ballots == after_ballots, answer.after_ballots


def shown_items(sheet: Sheet, answers: Answers, seed: int = 0) -> list[Item]:
    """Return the items of a page that are asked, in the order of the file or, if it is shuffled, of the person."""
    items = list(sheet.page.items)
    if sheet.page.shuffle:
        random.Random(f"{seed} {sheet.path}").shuffle(items)
    return visible_items(sheet.file, items, known_answers(answers, sheet.after_ballots))


def stored_at(sheet: Sheet, answers: Answers) -> dict[str, QuestionAnswerRecord]:
    """Return the stored answers to a page's items, by the item's own id."""
    ids = {item_key(sheet.file, item): item.id for item in sheet.page.items}
    return {ids[one.item]: one for one in answers if one.item in ids and one.after_ballots == sheet.after_ballots}


def waiting_sheet(due: Sequence[Sheet], answers: Answers) -> Sheet | None:
    """Return the first page that is not done; None if all are."""
    for sheet in due:
        stored = stored_at(sheet, answers)
        if any(item.id not in stored for item in shown_items(sheet, answers)):
            return sheet
    return None


def due_of(study: StudyFile, participation: Participation) -> list[Sheet]:
    """Return the pages that a person has to have answered by now, in order."""
    at_end = participation.next is None
    return sheets_due(study, participation.voted, participation.total, at_end=at_end)


def question_stop(study: StudyFile, participation: Participation) -> tuple[str, ...] | None:
    """Return where in the study questions lead a person, as the parts of an address; None if nothing is asked now."""
    if participation.enrolment.screened_out_at is not None:
        return (SCREENED_OUT,)
    if participation.enrolment.completed_at is not None:
        return None
    sheet = waiting_sheet(due_of(study, participation), participation.answers)
    return sheet.path if sheet else None


def sheet_at(study: StudyFile, participation: Participation, path: tuple[str, ...]) -> Sheet | None:
    """Return the page with a path if it may be opened now: the one that waits, or one before it in the same stage."""
    if participation.enrolment.screened_out_at or participation.enrolment.completed_at:
        return None
    due = due_of(study, participation)
    waiting = waiting_sheet(due, participation.answers)
    if waiting is None:
        return None
    open_now = [sheet for sheet in due[: due.index(waiting) + 1] if sheet.stage == waiting.stage]
    return next((sheet for sheet in open_now if sheet.path == path), None)


def sheets_to_walk(due: Sequence[Sheet], answers: Answers, sheet: Sheet) -> list[Sheet]:
    """Return the pages of the same stage that ask this person anything, `sheet` among them."""
    return [one for one in due if one.stage == sheet.stage and (one == sheet or shown_items(one, answers))]


def is_locked(answer: QuestionAnswerRecord, enrolment: EnrolmentRecord) -> bool:
    """Return whether an answer was given in another browser: an id in a link opens nobody's earlier words."""
    return enrolment.resumed_at is not None and answer.answered_at <= enrolment.resumed_at


@dataclass(slots=True)
class Filled:
    """What a form has made of a page."""

    answers: list[QuestionAnswerRecord] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    """The sentence of each answer that is not taken, by the item's id."""
    screened_out: bool = False
    dropped: list[tuple[str, int]] = field(default_factory=list)
    """Items whose stored answer goes: those with a problem, and those of this stage that are asked no longer."""


def fill(
    study: StudyFile,
    sheet: Sheet,
    items: Sequence[Item],
    form: Mapping[str, Sequence[str]],
    answers: Answers,
    at: datetime,
    *,
    excused: Collection[str] = (),
) -> Filled:
    """Return what the fields of a form say about the items of a page; free text is not checked for a crisis here.

    `form` holds the values by the item's id. A slider that nobody has moved has no value. The `excused` items are
    stored as left empty, whether they are required or not.
    """
    filled = Filled()
    for item in items:
        key = item_key(sheet.file, item)
        try:
            value = None if item.id in excused else read_answer(sheet.file, item, form.get(item.id, ()))
        except AnswerProblem as problem:
            filled.problems[item.id] = said(problem)
            filled.dropped.append((key, sheet.after_ballots))  # or an earlier answer would make the page look done
            continue
        filled.answers.append(QuestionAnswerRecord(key, sheet.after_ballots, value, at))
        filled.screened_out |= screens_out(item, value)
    filled.screened_out &= not filled.problems  # not before the page is whole
    left = [one for one in merged(answers, filled.answers) if (one.item, one.after_ballots) not in filled.dropped]
    filled.dropped += _no_longer_asked(study, sheet, left)
    return filled


def merged(answers: Answers, new: Answers) -> list[QuestionAnswerRecord]:
    """Return stored answers with new ones in the place of their earlier states."""
    by_key = {(one.item, one.after_ballots): one for one in (*answers, *new)}
    return list(by_key.values())


def _no_longer_asked(study: StudyFile, sheet: Sheet, answers: Answers) -> list[tuple[str, int]]:
    """Return the answers of the stage whose condition holds no longer, and then those that hung on them."""
    gone: list[tuple[str, int]] = []
    left = list(answers)
    for key, (file, item) in items_by_key(in_order(study.questions)).items():
        stored = (key, sheet.after_ballots)
        if file.place != sheet.file.place or not any((one.item, one.after_ballots) == stored for one in left):
            continue
        if not visible_items(file, [item], known_answers(left, sheet.after_ballots)):
            gone.append(stored)
            left = [one for one in left if (one.item, one.after_ballots) != stored]
    return gone
