"""`/results`: what the blind votes of a study say, for the researcher's role only."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from heard.chat_app.common.identity import Identity
from heard.chat_app.conversation.services import Services
from heard.chat_app.results import shown
from heard.chat_app.results.charts import PICTURES, reach_of
from heard.chat_app.results.records import Wanted
from heard.chat_app.studies.study_file import StudyFileError, study_of
from heard.chat_app.web.pages.routes import fault_page, page
from heard.chat_app.web.researcher import HOLDS_SECONDS, RESEARCHER_COOKIE, Researcher
from heard.db.study_records import LEAST_FROM, LETTERS, StudyRecord

OFF = "This page is off. Whoever runs heard turns it on by the setting researcher_token."
WRONG = "That is not the token. It is the value of researcher_token in the settings of this server."
HELD_UP = "There were too many wrong tokens. Please try again in five minutes."
NO_STUDY = "There is no such study in this database."


def _chosen(condition: str = "", leaks: str = "", attention: str = "") -> Wanted:
    """What the form of the page asks for."""
    return Wanted(condition or None, leaks == "with", attention == "passed")


Chosen = Annotated[Wanted, Depends(_chosen)]


def results_routes(services: Services, identity: Identity) -> APIRouter:
    """`/results` (GET asks for the token or lists studies, POST takes the token), `/results/{study}` and its charts."""
    router = APIRouter()
    role = Researcher(services.settings.researcher_token, identity)
    one_at_a_time = asyncio.Lock()  # a large study takes a core for seconds, and people are chatting

    def closed(request: Request) -> Response | None:
        """The answer to anybody else, who is not told what studies there are."""
        if not role.on:
            return fault_page(404, "Not here", OFF)
        return None if role.knows(request.headers) else page("results_door.html", 401, problem=None)

    async def found(request: Request, study: str) -> StudyRecord | Response:
        return closed(request) or await services.studies.study(study) or fault_page(404, "Not here", NO_STUDY)

    async def computed(study: str, wanted: Wanted) -> Any:
        async with one_at_a_time:
            from heard.chat_app.results.study_results import (
                study_results,  # here: it takes a second to load its statistics
            )

            return await study_results(services.studies, study, wanted)

    @router.get("/results")
    async def studies(request: Request) -> Response:
        if (answer := closed(request)) is not None:
            return answer
        rows = [(record, title_of(record)) for record in await services.studies.studies()]
        return page("results_list.html", studies=rows)

    @router.post("/results")
    async def enter(token: Annotated[str, Form()] = "") -> Response:
        if not role.on:
            return fault_page(404, "Not here", OFF)
        if role.held_up:
            return page("results_door.html", 429, problem=HELD_UP)
        if not role.opens(token.strip()):
            return page("results_door.html", 403, problem=WRONG)
        response = RedirectResponse("/results", 303)
        response.set_cookie(
            RESEARCHER_COOKIE, role.cookie(), HOLDS_SECONDS, path="/results", httponly=True, samesite="strict"
        )
        return response

    @router.get("/results/{study}")
    async def results(request: Request, study: str, wanted: Chosen) -> Response:
        record = await found(request, study)
        if isinstance(record, Response):
            return record
        read = await computed(study, wanted)
        return page(
            "results.html",
            study=record,
            title=title_of(record),
            found=read,
            wanted=wanted,
            query=request.url.query,
            reach=reach_of(read.strengths),
            letters=LETTERS,
            least_from=LEAST_FROM,
            shown=shown,
        )

    @router.get("/results/{study}/{name}.svg")
    async def picture(request: Request, study: str, name: str, wanted: Chosen) -> Response:
        record = await found(request, study)
        if isinstance(record, Response):
            return record
        if name not in PICTURES:
            return fault_page(404, "Not here", f"The charts of a study are: {', '.join(PICTURES)}.")
        read = await computed(study, wanted)
        headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{study}-{name}.svg"'}
        return Response(PICTURES[name](read), media_type="image/svg+xml", headers=headers)

    return router


def title_of(record: StudyRecord) -> str:
    """A study's title; its id where the stored file is of another version."""
    try:
        return study_of(record).title
    except StudyFileError:
        return record.id
