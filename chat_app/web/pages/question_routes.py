"""`/survey/.../questions/...`: the pages with questions round the ballots, as plain forms that need no script.

Which page comes, and what a form makes of its answers, stands in `studies/question_flow.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from heard.chat_app.common.fair_queue import QueueFull
from heard.chat_app.questions.answering import bounds, shortest
from heard.chat_app.questions.branching import SEPARATOR
from heard.chat_app.questions.question_file import Item, QuestionFile, range_of
from heard.chat_app.studies.panel_return import panel_return
from heard.chat_app.studies.question_flow import (
    SCREENED_OUT,
    Sheet,
    due_of,
    fill,
    is_locked,
    sheet_at,
    sheets_to_walk,
    shown_items,
    stored_at,
)
from heard.chat_app.studies.question_texts import checked_texts
from heard.chat_app.studies.survey import TOO_BUSY
from heard.chat_app.web.dependencies import CountryDep, SiteDep
from heard.chat_app.web.pages.markup import as_html
from heard.chat_app.web.pages.study_page import survey_page
from heard.chat_app.web.pages.survey_routes import Visit, VisitDep, handoff_page
from heard.db.errors import StoreError
from heard.sentences import said

router = APIRouter()

FIELD = "q-"
"""Before an item's id, in the name of its field; a slider has a second one with SET behind it."""
SET = "-set"


@router.get("/survey/{name}/questions/{file}/{number:int}/{after_ballots:int}")
async def ask(visit: VisitDep, file: str, number: int, after_ballots: int) -> Response:
    """A page of questions, with what was answered before."""
    sheet, items = _open(visit, file, number, after_ballots)
    if sheet is None:
        return RedirectResponse(visit.onward, 303)
    stored = {name: one.value for name, one in stored_at(sheet, visit.participation.answers).items()}
    given = {name: (value or "").split(SEPARATOR) for name, value in stored.items()}
    texts = {item.id: [stored[item.id] or ""] for item in items if item.kind == "text" and item.id in stored}
    return _page(visit, sheet, items, given | texts)


@router.post("/survey/{name}/questions/{file}/{number:int}/{after_ballots:int}")
async def take(
    request: Request, site: SiteDep, visit: VisitDep, country: CountryDep, file: str, number: int, after_ballots: int
) -> Response:
    """Take the answers of a page. Those that are sound are stored, whatever became of the others."""
    sheet, items = _open(visit, file, number, after_ballots)
    if sheet is None:
        return RedirectResponse(visit.onward, 303)
    given = _given(sheet.file, items, await _fields(request))
    typed = {item.id: "\n".join(given[item.id]) for item in items if item.kind == "text"}
    try:
        texts = await site.services.reading.run(visit.participant, partial(checked_texts, typed))
    except QueueFull:
        return _page(visit, sheet, items, given, problem=TOO_BUSY, status=503)
    sound = given | {name: [text] if text else [] for name, text in texts.texts.items()}
    now, problem = datetime.now(UTC), None
    filled = fill(visit.study, sheet, items, sound, visit.participation.answers, now, excused=texts.in_crisis)
    try:
        await site.services.studies.save_question_answers(
            visit.study.id,
            visit.participant,
            filled.answers,
            dropped=filled.dropped,
            screened_out_at=now if filled.screened_out else None,
        )
    except StoreError as error:
        problem = said(error)
    onward = visit.path()  # which leads on from wherever the person then is
    if texts.crisis:  # people first, whatever became of the write
        return handoff_page(request, visit, texts.crisis, country, onward, vote=False)
    if problem or filled.problems:
        return _page(visit, sheet, items, given, filled.problems, problem, 503 if problem else 422)
    return RedirectResponse(onward, 303)


@router.get(f"/survey/{{name}}/{SCREENED_OUT}")
async def screened_out(visit: VisitDep) -> Response:
    """The page for whoever an answer has sent away."""
    if visit.participation.enrolment.screened_out_at is None:
        return RedirectResponse(visit.onward, 303)
    return survey_page(
        "survey_screened_out.html", study=visit.study, texts=visit.texts, back=panel_return(visit.study, "screen_out")
    )


def _open(visit: Visit, file: str, number: int, after_ballots: int) -> tuple[Sheet | None, list[Item]]:
    """Return a page that may be opened now with the items that this browser may answer; None if there are none."""
    participation = visit.participation
    sheet = sheet_at(visit.study, participation, ("questions", file, str(number), str(after_ballots)))
    if sheet is None:
        return None, []
    stored = stored_at(sheet, participation.answers)
    items = [
        item
        for item in shown_items(sheet, participation.answers, participation.enrolment.seed)
        if item.id not in stored or not is_locked(stored[item.id], participation.enrolment)
    ]
    return (sheet, items) if items else (None, [])


async def _fields(request: Request) -> dict[str, list[str]]:
    async with request.form() as form:
        fields: dict[str, list[str]] = {}
        for name, value in form.multi_items():
            if isinstance(value, str):
                fields.setdefault(name, []).append(value)
        return fields


def _given(file: QuestionFile, items: Sequence[Item], fields: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return what a form has by item. A slider counts if it was moved, or said to stand where it is wanted: a browser
    always sends its value."""
    given = {item.id: fields.get(FIELD + item.id, []) for item in items}
    for item in items:
        untouched = f"{FIELD}{item.id}{SET}" not in fields and given[item.id] == [slider_start(file, item)]
        if item.kind == "slider" and untouched:
            given[item.id] = []
    return given


def slider_start(file: QuestionFile, item: Item) -> str:
    """Return where a slider stands before it is moved: in the middle, or one step beside it."""
    low, high = bounds(file, item)
    if low is None or high is None:
        return ""
    return shortest(low + round((high - low) / 2 / item.step) * item.step)


def _page(
    visit: Visit,
    sheet: Sheet,
    items: Sequence[Item],
    given: Mapping[str, Sequence[str]],
    problems: Mapping[str, str] | None = None,
    problem: str | None = None,
    status: int = 200,
) -> Response:
    walk = sheets_to_walk(due_of(visit.study, visit.participation), visit.participation.answers, sheet)
    place = walk.index(sheet)
    return survey_page(
        "survey_questions.html",
        status,
        study=visit.study,
        texts=visit.texts,
        title=sheet.page.title or sheet.file.title,
        text=as_html(sheet.page.text),
        action=visit.path(*sheet.path),
        back=visit.path(*walk[place - 1].path) if place else None,
        number=place + 1,
        total=len(walk),
        items=[_view(sheet.file, item, given.get(item.id), (problems or {}).get(item.id)) for item in items],
        problem=problem,
    )


def _view(file: QuestionFile, item: Item, given: Sequence[str] | None, problem: str | None) -> dict[str, Any]:
    """Return what the template draws of an item. `given` is None if it was never asked."""
    low, high = bounds(file, item)
    answers = range_of(file, item)
    choices = [{"value": option.value, "label": option.label, "unseen": ""} for option in item.options]
    ends = ("", "")
    if answers and len(answers.labels) == 2 != answers.max - answers.min + 1:
        ends = (answers.labels[0], answers.labels[1])
    if answers and item.kind != "slider":
        unseen = {answers.min: ends[0], answers.max: ends[1]}
        labels = () if ends[0] else answers.labels
        choices = [
            {"value": str(point), "label": labels[place] if labels else str(point), "unseen": unseen.get(point, "")}
            for place, point in enumerate(range(answers.min, answers.max + 1))
        ]
    chosen = [value for value in given or () if value]
    return {
        "id": FIELD + item.id,
        "kind": item.kind,
        "text": item.text,
        "help": item.help,
        "required": item.required,
        "choices": choices,
        "scale": answers is not None,
        "ends": ends,
        "low": None if low is None else shortest(low),
        "high": None if high is None else shortest(high),
        "step": shortest(item.step),
        "longest": item.longest,
        "start": slider_start(file, item),
        "chosen": chosen,
        "empty": given is not None and not chosen and not problem,
        "problem": problem,
    }
