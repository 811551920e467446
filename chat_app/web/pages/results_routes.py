"""`/results`: what the blind votes of a study say, for the roles of researcher and lead only (`staff.py`)."""

from math import inf
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import Response

from heard.chat_app.results import display
from heard.chat_app.results.charts import PICTURES, reach_of
from heard.chat_app.results.hide import hide, sources_of
from heard.chat_app.results.records import VoteFilter
from heard.chat_app.studies.study_file import StudyFileError, study_of
from heard.chat_app.web.dependencies import Site, SiteDep
from heard.chat_app.web.pages.rendering import EarlyResponse, error_page, page
from heard.chat_app.web.staff import StaffDep, StudyDep, sign_in, staff_of, turned_on
from heard.db.preregistration import preregistration
from heard.db.study_records import LEAST_FROM, LETTERS, StudyRecord

NO_SECONDS = "The fewest seconds of a vote are a number from 0 up, such as 5. Go back and correct it."


async def open_study(site: SiteDep, record: StudyDep) -> StudyRecord:
    """The study of the address. Raises EarlyResponse (403) while its preregistration keeps the results closed."""
    registered = await preregistration(site.services.studies.engine, record.id)
    if registered is not None and registered.closed:
        raise EarlyResponse(error_page(403, "Closed until the stop rule is met", registered.sentence))
    return record


OpenStudyDep = Annotated[StudyRecord, Depends(open_study)]


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
WantedDep = Annotated[VoteFilter, Depends(wanted_votes)]
RESEARCHER = [Depends(staff_of)]

router = APIRouter(dependencies=[Depends(turned_on)])


@router.get("/results", dependencies=RESEARCHER)
async def studies(site: SiteDep, staff: StaffDep) -> Response:
    """The list of studies."""
    seen = [record for record in await site.services.studies.studies() if staff.may_see(record.id)]
    return page("results_list.html", studies=[(record, title_of(record)) for record in seen])


@router.post("/results")
async def enter_results(request: Request, site: SiteDep, token: Annotated[str, Form()] = "") -> Response:
    """Take the token, for a cookie."""
    return await sign_in(request, site, token.strip(), "/results")


@router.get("/results/{study}", dependencies=RESEARCHER)
async def results(
    request: Request, site: SiteDep, staff: StaffDep, record: OpenStudyDep, wanted: WantedDep, hidden: HiddenDep
) -> Response:
    """The results of one study."""
    await site.desk.note(staff, "saw the results", record.id)
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
async def chart(
    site: SiteDep, staff: StaffDep, record: OpenStudyDep, name: str, wanted: WantedDep, hidden: HiddenDep
) -> Response:
    """One chart of a study, as a file."""
    if name not in PICTURES:
        return error_page(404, "Not here", f"The charts of a study are: {', '.join(PICTURES)}.")
    await site.desk.note(staff, f"took the chart {name}", record.id)
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
