"""`/survey/...`: a study as plain pages. What is decided stands in `survey.py`; votes go to `POST /vote` by the script.

No page here is cached, and none before the own vote is made from anything that names a source.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from heard.chat_app.common.fair_queue import QueueFull
from heard.chat_app.studies.panel_return import panel_return
from heard.chat_app.studies.question_flow import question_stop
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.study_gate import SCREENING, admitted, check_standing
from heard.chat_app.studies.study_texts import StudyTexts
from heard.chat_app.studies.survey import (
    CLOSING_LIMIT,
    TOO_BUSY,
    ClosingAnswer,
    Consent,
    PageRefused,
    Participation,
    check_closing_answer,
    check_entry,
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
from heard.chat_app.web.dependencies import CountryDep, ParticipantDep, Site, SiteDep, check_newcomer, site_of
from heard.chat_app.web.pages.ballot_words import ballot_words
from heard.chat_app.web.pages.crisis_help import handoff_card
from heard.chat_app.web.pages.markup import as_document, as_html
from heard.chat_app.web.pages.panel_returns import return_of_screened
from heard.chat_app.web.pages.rendering import EarlyResponse, page
from heard.chat_app.web.pages.study_page import survey_page, told, words_of_request
from heard.db.errors import StoreError
from heard.db.study_records import LETTERS, BallotRecord, FlowReason, VoteRecord, is_informed
from heard.sentences import said, sentence


@dataclass(frozen=True, slots=True)
class Visit:
    """An enrolled person who has agreed, at one study."""

    study: StudyFile
    participant: str
    participation: Participation
    texts: StudyTexts
    """What the person was told when they agreed."""

    def path(self, *parts: int | str) -> str:
        """An address below this study."""
        return "/".join(("/survey", self.study.id, *map(str, parts)))

    @property
    def onward(self) -> str:
        """Where the survey goes on."""
        if stop := question_stop(self.study, self.participation):
            return self.path(*stop)
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
    async with counted(site, study):
        check_entry(study, known_as, participation)
        await site.surveys.check_link(study, known_as, participant)
        await check_standing(site.services.studies, study, participation)
    consent = await site.surveys.consent(study, participant, participation)
    if participant is None or consent is Consent.MISSING:
        raise _redirect(consent_url(study, external))
    if consent is Consent.NO_RESEARCH:
        await site.surveys.turned_away(study.id, FlowReason.NO_RESEARCH, participant)
        raise _redirect(entry_url(study, external, "/research"))
    return participant, participation


@asynccontextmanager
async def counted(site: Site, study: StudyFile) -> AsyncIterator[None]:
    """Count a visit that is refused in this block, for the study's flow."""
    try:
        yield
    except PageRefused as refused:
        await site.surveys.turned_away(study.id, refused.counted)
        raise


async def visit_of(site: SiteDep, name: str, participant: ParticipantDep) -> Visit:
    """An enrolled person. Raises PageRefused, and EarlyResponse to the entry or the questions."""
    study = await site.surveys.study(name)
    known, participation = await enter(site, study, participant, None, None)
    if participation is None:
        raise _redirect(entry_url(study, None))
    return Visit(study, known, participation, await site.surveys.texts(study, participation))


VisitDep = Annotated[Visit, Depends(visit_of)]


async def ballot_of(visit: VisitDep, number: int) -> OwnBallot:
    """The ballot of the address. Raises EarlyResponse to where the survey goes on, if the person has not reached it."""
    found = visit.participation.ballot(number)
    if found is None or (found[1] is None and question_stop(visit.study, visit.participation)):
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
        texts = await site.surveys.texts(study, participation)
        return RedirectResponse(Visit(study, known, participation, texts).onward, 303)
    return survey_page(
        "survey_start.html",
        study=study,
        texts=await site.surveys.texts(study),
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
        async with counted(site, study):
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
    participation = await site.surveys.participation(study, participant) if participant else None
    if await site.surveys.consent(study, participant, participation) is not Consent.NO_RESEARCH:
        return RedirectResponse(entry_url(study, external), 303)
    texts, back = await site.surveys.texts(study, participation), panel_return(study, "decline")
    return survey_page("survey_research.html", study=study, texts=texts, where=consent_url(study, external), back=back)


@router.get("/survey/{name}/information")
async def information(site: SiteDep, name: str, participant: ParticipantDep) -> Response:
    """What the study tells its people, for everybody: for whoever takes part in the version that they agreed to."""
    study = await site.surveys.study(name)
    participation = await site.surveys.participation(study, participant) if participant else None
    texts = await site.surveys.texts(study, participation)
    shown = told(texts, site.services.settings)
    return survey_page("survey_information.html", study=study, texts=texts, told=shown, onward=entry_url(study, None))


@router.get("/survey/{name}/chat")
async def in_the_chat(visit: VisitDep) -> Response:
    """The way into the chat, whose messages a live study judges."""
    if visit.onward != visit.path("chat"):
        return RedirectResponse(visit.onward, 303)
    return survey_page(
        "survey_chat.html",
        study=visit.study,
        texts=visit.texts,
        voted=visit.participation.voted,
        total=visit.participation.total,
    )


@router.get("/survey/{name}/end")
async def end(site: SiteDep, visit: VisitDep) -> Response:
    """The open question, then the thanks with the completion code, the debrief and, if the study tells, the sources."""
    if visit.onward != visit.path("end"):
        return RedirectResponse(visit.onward, 303)
    if visit.participation.enrolment.completed_at is None:
        if visit.study.open_question:
            return survey_page("survey_end.html", study=visit.study, texts=visit.texts, closing="", problem=None)
        await site.surveys.close(visit.study, visit.participant, None)
    debrief = visit.texts.text("debrief")
    in_pages = visit.participation.required_votes is None  # the chat shows those of a live study in their places
    ballots = visit.participation.ballots if in_pages else ()
    return survey_page(
        "survey_done.html",
        study=visit.study,
        texts=visit.texts,
        debrief=as_document(debrief) if debrief else "",
        told_ballots=[
            (ballot.number, visit.path(ballot.number, "answers"))
            for ballot, vote in ballots
            if is_informed(visit.study.reveal, True, vote) and visit.participation.ballot(ballot.number)
        ],
        where=consent_url(visit.study, None),
        back=panel_return(visit.study, "completion"),
    )


@router.post("/survey/{name}/end")
async def close(
    request: Request, site: SiteDep, visit: VisitDep, country: CountryDep, closing: Annotated[str, Form()] = ""
) -> Response:
    """Take the answer to the open question."""
    if visit.onward != visit.path("end") or visit.participation.enrolment.completed_at is not None:
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
            problem = said(error)
    if read.crisis:  # people first, whatever became of the write: going on leads back to the question then
        return handoff_page(request, visit, read.crisis, country, visit.path("end"), vote=False)
    if problem is None:
        return RedirectResponse(visit.path("end"), 303)
    kept = closing[: 2 * CLOSING_LIMIT]
    values = {"closing": kept, "problem": visit.texts.words.of(problem)}
    return survey_page("survey_end.html", status, study=visit.study, texts=visit.texts, **values)


@router.get("/survey/{name}/{number:int}")
async def ballot(site: SiteDep, own: BallotDep) -> Response:
    """A ballot, with the marks of its vote."""
    visit = own.visit
    view = await site.surveys.blind_ballot(own.record)
    return survey_page(
        "survey_ballot.html",
        study=visit.study,
        texts=visit.texts,
        ballot=view,
        htmls={answer.letter: as_html(answer.text) for answer in view.answers},
        marks=Marks.of(own.vote),
        final=visit.study.reveal and visit.participation.finished,
        ballot_words=ballot_words(visit.texts.words),
        voted=visit.participation.voted,
        total=visit.participation.total,
        after=visit.path(),
        help=own.path("help"),
        onward=visit.onward,
    )


@router.get("/survey/{name}/{number:int}/answers")
async def who_wrote_what(site: SiteDep, own: BallotDep) -> Response:
    """The sources of a ballot, once the person's last vote is in and if the study tells them."""
    visit = own.visit
    if not is_informed(visit.study.reveal, visit.participation.finished, own.vote):
        return RedirectResponse(visit.onward, 303)
    marks = Marks.of(own.vote)
    rows = [
        {"letter": letter, "answer": answer, "html": as_html(answer.text), "mark": marks.of_answer(letter)}
        for letter, answer in zip(LETTERS, await site.surveys.answers(own.record), strict=False)
    ]
    return survey_page(
        "survey_answers.html",
        study=visit.study,
        texts=visit.texts,
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
    return handoff_page(request, visit, language, country, visit.path(), vote=vote is not None)


def handoff_page(
    request: Request, visit: Visit, language: str, country: str | None, onward: str, *, vote: bool
) -> Response:
    """The hand-off in place of a page that was sent with words of a crisis."""
    shown = handoff_card(request, language, country)
    return survey_page(
        "survey_handoff.html", study=visit.study, texts=visit.texts, onward=onward, vote=vote, **shown
    )  # fmt: skip


def _redirect(address: str) -> EarlyResponse:
    return EarlyResponse(RedirectResponse(address, 303))


async def on_closed(request: Request, fault: Exception) -> Response:
    """FastAPI's handler for CLOSED."""
    if not isinstance(fault, PageRefused):
        fault = PageRefused(400, sentence("This link is damaged"), said(fault))
    words = await words_of_request(request, await site_of(request))
    title, told_why = words.of(fault.title), words.of(fault.sentence)
    back = await return_of_screened(request) if fault.sentence in SCREENING else None
    return page(
        "survey_closed.html", fault.status, in_survey=True, words=words, title=title, sentence=told_why, back=back
    )


CLOSED = (PageRefused, DamagedLink)
"""What the rules of a survey raise for a visitor whom it is not open to; the server gives it to `on_closed`."""
