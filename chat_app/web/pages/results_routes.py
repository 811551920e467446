"""`/results`: what the blind votes of a study say, for the researcher's role only."""

import secrets
from math import inf
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from heard.chat_app.results import display
from heard.chat_app.results.charts import PICTURES, reach_of
from heard.chat_app.results.hide import hide, sources_of
from heard.chat_app.results.records import VoteFilter
from heard.chat_app.studies.study_file import StudyFileError, study_of
from heard.chat_app.web.dependencies import Site, SiteDep
from heard.chat_app.web.pages.rendering import EarlyResponse, error_page, page
from heard.chat_app.web.researcher import FAILURE_SECONDS, GUESSER_COOKIE, RESEARCHER_COOKIE, SESSION_SECONDS
from heard.chat_app.web.senders import address_of
from heard.db.preregistration import preregistration
from heard.db.study_records import LEAST_FROM, LETTERS, StudyRecord

OFF = "This page is off. Whoever runs heard turns it on by the setting researcher_token."
WRONG = "That is not the token. It is the value of researcher_token in the settings of this server."
LOCKED_OUT = "There were too many wrong tokens. Please try again in five minutes."
NO_SECONDS = "The fewest seconds of a vote are a number from 0 up, such as 5. Go back and correct it."
NO_STUDY = "There is no such study in this database."


async def turned_on(site: SiteDep) -> None:
    """Raise EarlyResponse (404) where the settings have no token."""
    if not site.researcher.enabled:
        raise EarlyResponse(error_page(404, "Not here", OFF))


async def signed_in(request: Request, site: SiteDep) -> None:
    """Raise EarlyResponse (401) for anybody else than a researcher, who is not told what studies there are."""
    if not site.researcher.is_signed_in(request.headers):
        raise EarlyResponse(page("results_login.html", 401, problem=None))


async def study_named(site: SiteDep, study: str) -> StudyRecord:
    """The study of the address. Raises EarlyResponse (404; 403 while its preregistration keeps the results closed)."""
    found = await site.services.studies.study(study)
    if found is None:
        raise EarlyResponse(error_page(404, "Not here", NO_STUDY))
    registered = await preregistration(site.services.studies.engine, study)
    if registered is not None and registered.closed:
        raise EarlyResponse(error_page(403, "Closed until the stop rule is met", registered.sentence))
    return found


async def wanted_votes(
    condition: str = "", leaks: str = "", attention: str = "", seconds: str = "", pool: str = ""
) -> VoteFilter:
    """What the form of the page asks for. Raises EarlyResponse (422) for seconds that are none."""
    try:
        least = float(seconds) if seconds.strip() else None
    except ValueError:
        least = -1.0
    if least is not None and not 0 <= least < inf:
        raise EarlyResponse(error_page(422, "Not a time", NO_SECONDS))
    return VoteFilter(condition or None, leaks == "with", attention == "passed", least or None, pool == "together")


async def hidden_sources(hide: Annotated[list[str], Query(default_factory=list)]) -> list[str]:
    """The sources that the form of the page hides."""
    return hide


HiddenDep = Annotated[list[str], Depends(hidden_sources)]
StudyDep = Annotated[StudyRecord, Depends(study_named)]
WantedDep = Annotated[VoteFilter, Depends(wanted_votes)]
RESEARCHER = [Depends(signed_in)]

router = APIRouter(dependencies=[Depends(turned_on)])


@router.get("/results", dependencies=RESEARCHER)
async def studies(site: SiteDep) -> Response:
    """The list of studies."""
    rows = [(record, title_of(record)) for record in await site.services.studies.studies()]
    return page("results_list.html", studies=rows)


@router.post("/results")
async def sign_in(request: Request, site: SiteDep, token: Annotated[str, Form()] = "") -> Response:
    """Take the token, for a cookie. A wrong one is counted by the browser that sent it, which gets a mark."""
    researcher, address = site.researcher, address_of(request.scope)
    guesser = researcher.guesser(request.headers)
    if researcher.locked_out(guesser or "", address):
        return page("results_login.html", 429, problem=LOCKED_OUT)
    response: Response
    name, value, seconds = RESEARCHER_COOKIE, researcher.cookie(), SESSION_SECONDS
    browser = guesser or secrets.token_hex(8)
    if researcher.accepts(token.strip(), browser, address):
        response = RedirectResponse("/results", 303)
    else:
        response = page("results_login.html", 403, problem=WRONG)
        name, value, seconds = GUESSER_COOKIE, site.identity.seal(browser, GUESSER_COOKIE), int(FAILURE_SECONDS)
    named = site.identity.cookie_name(name)
    response.set_cookie(named, value, seconds, path="/results", httponly=True, samesite="strict")
    return response


@router.get("/results/{study}", dependencies=RESEARCHER)
async def results(request: Request, site: SiteDep, record: StudyDep, wanted: WantedDep, hidden: HiddenDep) -> Response:
    """The results of one study."""
    everything = await _results(site, record.id, wanted)
    found = hide(everything, hidden)
    return page(
        "results.html",
        study=record,
        title=title_of(record),
        found=found,
        sources=sources_of(everything),
        wanted=wanted,
        query=request.url.query,
        query_of=lambda condition: str(request.url.include_query_params(condition=condition).query),
        reach_of=reach_of,
        letters=LETTERS,
        least_from=LEAST_FROM,
        display=display,
    )


@router.get("/results/{study}/{name}.svg", dependencies=RESEARCHER)
async def chart(site: SiteDep, record: StudyDep, name: str, wanted: WantedDep, hidden: HiddenDep) -> Response:
    """One chart of a study, as a file."""
    if name not in PICTURES:
        return error_page(404, "Not here", f"The charts of a study are: {', '.join(PICTURES)}.")
    found = hide(await _results(site, record.id, wanted), hidden)
    if found.not_pooled:
        return error_page(404, "Not here", f"{found.not_pooled} Choose a condition on the page of the results.")
    disposition = f'attachment; filename="{record.id}-{name}.svg"'
    headers = {"Cache-Control": "no-store", "Content-Disposition": disposition}
    return Response(PICTURES[name](found), media_type="image/svg+xml", headers=headers)


async def _results(site: Site, study: str, wanted: VoteFilter) -> Any:
    from heard.chat_app.results.study_results import study_results  # here: its statistics take a second to load

    async with site.one_study:
        return await study_results(site.services.studies, study, wanted)


def title_of(record: StudyRecord) -> str:
    """A study's title; its id where the stored file is of another version."""
    try:
        return study_of(record).title
    except StudyFileError:
        return record.id
