"""`/survey/...`: a study as plain pages. What is decided stands in `survey.py`; votes go to `POST /vote` by the script.

No page here is cached, and none before the own vote is made from anything that names a source.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from heard.chat_app.common.fair_queue import QueueFull
from heard.chat_app.studies.panel_return import panel_return
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.study_gate import SCREENING, admitted, check_standing
from heard.chat_app.studies.survey import (
    CLOSING_LIMIT,
    TOO_BUSY,
    ClosingAnswer,
    Consent,
    PageRefused,
    Participation,
    check_closing_answer,
    check_entry,
    mark_in_words,
)
from heard.chat_app.studies.survey_links import (
    DamagedLink,
    checked_id,
    consent_url,
    entry_url,
    external_id,
    study_name,
)
from heard.chat_app.studies.votes import Marks
from heard.chat_app.web.dependencies import CountryDep, ParticipantDep, Site, SiteDep, check_newcomer
from heard.chat_app.web.pages.crisis_help import handoff_card
from heard.chat_app.web.pages.markup import as_html
from heard.chat_app.web.pages.panel_returns import return_of_screened
from heard.chat_app.web.pages.rendering import EarlyResponse, page
from heard.db.errors import StoreError
from heard.db.study_records import LETTERS, BallotRecord, VoteRecord, is_informed


@dataclass(frozen=True, slots=True)
class Visit:
    """An enrolled person who has agreed, at one study."""

    study: StudyFile
    participant: str
    participation: Participation

    def path(self, *parts: int | str) -> str:
        """An address below this study."""
        return "/".join(("/survey", self.study.id, *map(str, parts)))

    @property
    def onward(self) -> str:
        """Where the survey goes on."""
        return self.path("end" if self.participation.next is None else self.participation.next)


@dataclass(frozen=True, slots=True)
class OwnBallot:
    """A ballot that a person has reached, with their vote if there is one."""

    visit: Visit
    record: BallotRecord
    vote: VoteRecord | None

    def path(self, *parts: str) -> str:
        """An address below this ballot."""
        return self.visit.path(self.record.number, *parts)


async def enter(
    site: Site, study: StudyFile, participant: str | None, external: str | None, known_as: str | None
) -> tuple[str, Participation | None]:
    """Return somebody who may take part and has agreed, enrolled or not. `external` is the id in their link, and
    `known_as` that under which they take part. Raises PageRefused and EarlyResponse."""
    participation = await site.surveys.participation(study, participant) if participant else None
    check_entry(study, known_as, participation)
    await site.surveys.check_link(study, known_as, participant)
    await check_standing(site.services.studies, study, participation)
    consent = await site.surveys.consent(participant)
    if participant is None or consent is Consent.MISSING:
        raise _redirect(consent_url(study, external))
    if consent is Consent.NO_RESEARCH:
        raise _redirect(entry_url(study, external, "/research"))
    return participant, participation


async def visit_of(site: SiteDep, name: str, participant: ParticipantDep) -> Visit:
    """An enrolled person. Raises PageRefused, and EarlyResponse to the entry or the questions."""
    study = await site.surveys.study(name)
    known, participation = await enter(site, study, participant, None, None)
    if participation is None:
        raise _redirect(entry_url(study, None))
    return Visit(study, known, participation)


VisitDep = Annotated[Visit, Depends(visit_of)]


async def ballot_of(visit: VisitDep, number: int) -> OwnBallot:
    """The ballot of the address. Raises EarlyResponse to where the survey goes on, if the person has not reached it."""
    found = visit.participation.ballot(number)
    if found is None:
        raise _redirect(visit.onward)
    return OwnBallot(visit, *found)


BallotDep = Annotated[OwnBallot, Depends(ballot_of)]

router = APIRouter()


@router.get("/survey")
async def by_parameters(request: Request, site: SiteDep) -> Response:
    """The entry for links that name the study by a parameter."""
    query = request.query_params.multi_items()
    study = await site.surveys.study(study_name(query))
    return RedirectResponse(entry_url(study, external_id(query, study)), 303)


@router.get("/survey/{name}")
async def first_page(request: Request, site: SiteDep, name: str, participant: ParticipantDep) -> Response:
    """The introduction; for whoever is enrolled, the way on."""
    study = await site.surveys.study(name)
    external = external_id(request.query_params.multi_items(), study)
    study, known_as = await admitted(site.services.studies, study, external)
    known, participation = await enter(site, study, participant, external, known_as)
    if participation is not None:
        return RedirectResponse(Visit(study, known, participation).onward, 303)
    return survey_page(
        "survey_start.html",
        study=study,
        introduction=as_html(study.introduction),
        length=await site.surveys.length(study),
        external=external,
        problem=None,
    )


@router.post("/survey/{name}")
async def start(
    request: Request, site: SiteDep, name: str, participant: ParticipantDep, pid: Annotated[str, Form()] = ""
) -> Response:
    """Enrol."""
    study = await site.surveys.study(name)
    external = checked_id(pid, study)
    study, known_as = await admitted(site.services.studies, study, external)
    known, participation = await enter(site, study, participant, external, known_as)
    if participation is None:
        live = site.surveys.live  # whose people are counted when they come to the first page
        if live is None or study.id != live.id:
            check_newcomer(request, site, study)
        await site.surveys.enrol(study, known, known_as)
    return RedirectResponse(entry_url(study, None), 303)


@router.get("/survey/{name}/research")
async def needs_research(request: Request, site: SiteDep, name: str, participant: ParticipantDep) -> Response:
    """For whoever has agreed to the chat and not to research."""
    study = await site.surveys.study(name)
    external = external_id(request.query_params.multi_items(), study)
    if await site.surveys.consent(participant) is not Consent.NO_RESEARCH:
        return RedirectResponse(entry_url(study, external), 303)
    return survey_page(
        "survey_research.html", study=study, where=consent_url(study, external), back=panel_return(study, "decline")
    )


@router.get("/survey/{name}/chat")
async def in_the_chat(visit: VisitDep) -> Response:
    """The way into the chat, whose messages a live study judges."""
    if visit.participation.next != "chat":
        return RedirectResponse(visit.onward, 303)
    return survey_page(
        "survey_chat.html", study=visit.study, voted=visit.participation.voted, total=visit.participation.total
    )


@router.get("/survey/{name}/end")
async def end(site: SiteDep, visit: VisitDep) -> Response:
    """The open question, then the thanks with the completion code."""
    if visit.participation.next is not None:
        return RedirectResponse(visit.onward, 303)
    if visit.participation.enrolment.completed_at is None:
        if visit.study.open_question:
            return survey_page("survey_end.html", study=visit.study, closing="", problem=None)
        await site.surveys.close(visit.study, visit.participant, None)
    return survey_page("survey_done.html", study=visit.study, back=panel_return(visit.study, "completion"))


@router.post("/survey/{name}/end")
async def close(
    request: Request, site: SiteDep, visit: VisitDep, country: CountryDep, closing: Annotated[str, Form()] = ""
) -> Response:
    """Take the answer to the open question."""
    if visit.participation.next is not None or visit.participation.enrolment.completed_at is not None:
        return RedirectResponse(visit.onward, 303)
    try:
        read = await site.services.reading.run(visit.participant, partial(check_closing_answer, closing))
    except QueueFull:
        read = ClosingAnswer(None, problem=TOO_BUSY)
    status, problem = (422, read.problem) if read.problem else (503, None)
    if problem is None:
        try:
            await site.surveys.close(visit.study, visit.participant, read.text)
        except StoreError as error:
            problem = str(error)
    if read.crisis:  # people first, whatever became of the write: going on leads back to the question then
        return _handoff_page(request, read.crisis, country, visit.path("end"), vote=False)
    if problem is None:
        return RedirectResponse(visit.path("end"), 303)
    kept = closing[: 2 * CLOSING_LIMIT]
    return survey_page("survey_end.html", status, study=visit.study, closing=kept, problem=problem)


@router.get("/survey/{name}/{number:int}")
async def ballot(site: SiteDep, own: BallotDep) -> Response:
    """A ballot, with the marks of its vote."""
    visit = own.visit
    view = await site.surveys.blind_ballot(own.record)
    return survey_page(
        "survey_ballot.html",
        study=visit.study,
        ballot=view,
        htmls={answer.letter: as_html(answer.text) for answer in view.answers},
        marks=Marks.of(own.vote),
        final=is_informed(visit.study.reveal, own.vote),
        voted=visit.participation.voted,
        total=visit.participation.total,
        after=own.path("answers"),
        help=own.path("help"),
        onward=visit.onward,
    )


@router.get("/survey/{name}/{number:int}/answers")
async def who_wrote_what(site: SiteDep, own: BallotDep) -> Response:
    """The sources of a ballot, once its vote is in and the study tells them."""
    visit = own.visit
    if not is_informed(visit.study.reveal, own.vote):
        return RedirectResponse(visit.onward, 303)
    marks = Marks.of(own.vote)
    rows = [
        {"letter": letter, "answer": answer, "html": as_html(answer.text), "mark": mark_in_words(marks, letter)}
        for letter, answer in zip(LETTERS, await site.surveys.answers(own.record), strict=False)
    ]
    return survey_page(
        "survey_answers.html",
        ballot=await site.surveys.blind_ballot(own.record),
        rows=rows,
        voted=visit.participation.voted,
        total=visit.participation.total,
        back=own.path(),
        onward=visit.onward,
    )


@router.get("/survey/{name}/{number:int}/help")
async def help_after_vote(
    request: Request, visit: VisitDep, country: CountryDep, number: int, language: str = "en"
) -> Response:
    """The hand-off after a vote whose reason reads like a crisis."""
    _, vote = visit.participation.ballot(number) or (None, None)
    return _handoff_page(request, language, country, visit.path(number, "answers"), vote=vote is not None)


def survey_page(name: str, status: int = 200, **values: Any) -> Response:
    """One page of a survey."""
    return page(name, status, scripted=True, in_survey=True, **values)


def _handoff_page(request: Request, language: str, country: str | None, onward: str, *, vote: bool) -> Response:
    return survey_page("survey_handoff.html", onward=onward, vote=vote, **handoff_card(request, language, country))


def _redirect(address: str) -> EarlyResponse:
    return EarlyResponse(RedirectResponse(address, 303))


async def on_closed(request: Request, fault: Exception) -> Response:
    """FastAPI's handler for CLOSED."""
    if not isinstance(fault, PageRefused):
        fault = PageRefused(400, "This link is damaged", str(fault))
    back = await return_of_screened(request) if fault.sentence in SCREENING else None
    return survey_page("survey_closed.html", fault.status, title=fault.title, sentence=fault.sentence, back=back)


CLOSED = (PageRefused, DamagedLink)
"""What the rules of a survey raise for a visitor whom it is not open to; the server gives it to `on_closed`."""
