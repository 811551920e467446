"""`/survey/...`: a study as plain pages. What is decided stands in `survey.py`; votes go to `POST /vote` by the script.

No page here is cached, and none before the own vote is made from anything that names a source.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from heard.chat_app.common.identity import Identity
from heard.chat_app.conversation.services import Services
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.survey import (
    CLOSING_LIMIT,
    Closed,
    Consent,
    Standing,
    Surveys,
    check_entry,
    marked,
    read_closing,
)
from heard.chat_app.studies.survey_links import DamagedLink, asked_first, entry, external_id, study_name
from heard.chat_app.studies.votes import Marks
from heard.chat_app.web.pages.markup import as_html
from heard.chat_app.web.pages.routes import chosen_country, numbers, page
from heard.db.errors import StoreError
from heard.db.study_records import LETTERS, told
from heard.prompts.safety_files import load_handoff


class Led(Exception):
    """The visitor is led elsewhere first."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


@dataclass(frozen=True, slots=True)
class _Visit:
    """An enrolled person who has agreed, at one study."""

    study: StudyFile
    participant: str
    standing: Standing

    def path(self, *parts: int | str) -> str:
        """An address below this study."""
        return "/".join(("/survey", self.study.id, *map(str, parts)))

    @property
    def onward(self) -> str:
        """Where the survey goes on."""
        return self.path("end" if self.standing.next is None else self.standing.next)


def shown(name: str, status: int = 200, **values: Any) -> Response:
    """One page of a survey."""
    return page(name, status, scripted=True, in_survey=True, **values)


def _closed(closed: Closed) -> Response:
    return shown("survey_closed.html", closed.status, title=closed.title, sentence=closed.sentence, link=None)


def survey_routes(services: Services, identity: Identity) -> APIRouter:
    """The pages of every survey: entry, ballots, who wrote what, the end, and the hand-off."""
    router = APIRouter()
    surveys = Surveys(services)
    texts = load_handoff()

    async def entered(request: Request, name: str, external: str | None) -> tuple[StudyFile, str, Standing | None]:
        """Somebody who may take part and has agreed, enrolled or not. Raises Closed and Led."""
        study = await surveys.study(name)
        participant = identity.participant_from_headers(request.headers)
        standing = await surveys.standing(study, participant) if participant else None
        check_entry(study, external, standing)
        consent = await surveys.consent(participant)
        if participant is None or consent is Consent.MISSING:
            raise Led(asked_first(study.id, external))
        if consent is Consent.NO_RESEARCH:
            raise Led(entry(study.id, external, "/research"))
        return study, participant, standing

    async def visit(request: Request, name: str) -> _Visit:
        """An enrolled person. Raises Closed and Led."""
        study, participant, standing = await entered(request, name, None)
        if standing is None:
            raise Led(entry(study.id, None))
        return _Visit(study, participant, standing)

    def hand_off(request: Request, language: str, onward: str, *, vote: bool) -> Response:
        english = texts["en"]
        own = texts.get(language, english)
        country = chosen_country(request)
        return shown(
            "survey_handoff.html",
            texts=list(dict.fromkeys((own, english))),
            country=country,
            onward=onward,
            vote=vote,
            **numbers(country),
        )

    @router.get("/survey")
    async def by_parameters(request: Request) -> Response:
        name = study_name(request.query_params)
        study = await surveys.study(name)
        return RedirectResponse(entry(study.id, external_id(request.query_params)), 303)

    @router.get("/survey/{name}")
    async def first(request: Request, name: str) -> Response:
        external = external_id(request.query_params)
        study, participant, standing = await entered(request, name, external)
        if standing is not None:
            return RedirectResponse(_Visit(study, participant, standing).onward, 303)
        length = await surveys.length(study)
        introduction = as_html(study.introduction)
        return shown(
            "survey_start.html", study=study, introduction=introduction, length=length, external=external, problem=None
        )

    @router.post("/survey/{name}")
    async def start(request: Request, name: str, pid: Annotated[str, Form()] = "") -> Response:
        external = external_id({"pid": pid})
        study, participant, standing = await entered(request, name, external)
        if standing is None:
            await surveys.enrol(study, participant, external)
        return RedirectResponse(entry(study.id, None), 303)

    @router.get("/survey/{name}/research")
    async def needs_research(request: Request, name: str) -> Response:
        external = external_id(request.query_params)
        study = await surveys.study(name)
        if await surveys.consent(identity.participant_from_headers(request.headers)) is not Consent.NO_RESEARCH:
            return RedirectResponse(entry(study.id, external), 303)
        return shown("survey_research.html", study=study, where=asked_first(study.id, external))

    @router.get("/survey/{name}/chat")
    async def in_the_chat(request: Request, name: str) -> Response:
        here = await visit(request, name)
        if here.standing.next != "chat":
            return RedirectResponse(here.onward, 303)
        return shown("survey_chat.html", study=here.study, voted=here.standing.voted, total=here.standing.total)

    @router.get("/survey/{name}/end")
    async def end(request: Request, name: str) -> Response:
        here = await visit(request, name)
        if here.standing.next is not None:
            return RedirectResponse(here.onward, 303)
        if here.standing.enrolment.completed_at is None:
            if here.study.open_question:
                return shown("survey_end.html", study=here.study, closing="", problem=None)
            await surveys.close(here.study, here.participant, None)
        return shown("survey_done.html", study=here.study)

    @router.post("/survey/{name}/end")
    async def close(request: Request, name: str, closing: Annotated[str, Form()] = "") -> Response:
        here = await visit(request, name)
        if here.standing.next is not None or here.standing.enrolment.completed_at is not None:
            return RedirectResponse(here.onward, 303)
        read = await run_in_threadpool(read_closing, closing)
        status, problem = (422, read.problem) if read.problem else (503, None)
        if problem is None:
            try:
                await surveys.close(here.study, here.participant, read.text)
            except StoreError as error:
                problem = str(error)
        if read.crisis:  # people first, whatever became of the write: going on leads back to the question then
            return hand_off(request, read.crisis, here.path("end"), vote=False)
        if problem is None:
            return RedirectResponse(here.path("end"), 303)
        return shown(
            "survey_end.html",
            status,
            study=here.study,
            closing=closing[: 2 * CLOSING_LIMIT],
            problem=problem,
        )

    @router.get("/survey/{name}/{number:int}")
    async def ballot(request: Request, name: str, number: int) -> Response:
        here = await visit(request, name)
        found = here.standing.ballot(number)
        if found is None:
            return RedirectResponse(here.onward, 303)
        ballot, vote = found
        seen = await surveys.shown(ballot)
        return shown(
            "survey_ballot.html",
            study=here.study,
            ballot=seen,
            htmls={answer.letter: as_html(answer.text) for answer in seen.answers},
            marks=Marks.of(vote),
            final=told(here.study.reveal, vote),
            voted=here.standing.voted,
            total=here.standing.total,
            after=here.path(number, "answers"),
            help=here.path(number, "help"),
            onward=here.onward,
        )

    @router.get("/survey/{name}/{number:int}/answers")
    async def who_wrote_what(request: Request, name: str, number: int) -> Response:
        here = await visit(request, name)
        found = here.standing.ballot(number)
        if found is None or not told(here.study.reveal, found[1]):
            return RedirectResponse(here.onward, 303)
        ballot, vote = found
        seen = await surveys.shown(ballot)
        marks = Marks.of(vote)
        rows = [
            {
                "letter": letter,
                "answer": answer,
                "html": as_html(answer.text),
                "mark": marked(marks, letter),
            }
            for letter, answer in zip(LETTERS, await surveys.answers(ballot), strict=False)
        ]
        return shown(
            "survey_answers.html",
            ballot=seen,
            rows=rows,
            voted=here.standing.voted,
            total=here.standing.total,
            back=here.path(number),
            onward=here.onward,
        )

    @router.get("/survey/{name}/{number:int}/help")
    async def help_after_vote(request: Request, name: str, number: int, language: str = "en") -> Response:
        here = await visit(request, name)
        return hand_off(request, language, here.path(number, "answers"), vote=True)

    return router


async def turned_away(_: Request, fault: Exception) -> Response:
    """The page, or the way, for a visitor who does not get what the address promises; for TURNS_AWAY."""
    match fault:
        case Led():
            return RedirectResponse(fault.where, 303)
        case Closed():
            return _closed(fault)
        case _:
            return _closed(Closed(400, "This link is damaged", str(fault)))


TURNS_AWAY = (Closed, DamagedLink, Led)
"""What the routes above raise to turn a visitor away; the server hands it to `turned_away`."""
