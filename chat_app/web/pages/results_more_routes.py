"""Pages below `/results/{study}`: by item, condition and source, the flow of people, and adjusted strengths.

Each is computed when it is asked for, and for nobody but a researcher.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from heard.chat_app.results import display
from heard.chat_app.results.records import VoteFilter
from heard.chat_app.web.dependencies import Site, SiteDep
from heard.chat_app.web.pages.rendering import page
from heard.chat_app.web.pages.results_routes import RESEARCHER, OpenStudyDep, WantedDep, title_of
from heard.chat_app.web.staff import StaffDep, turned_on
from heard.db.study_records import LEAST_FROM, StudyRecord


async def noted(request: Request, site: SiteDep, staff: StaffDep, record: OpenStudyDep) -> None:
    """Log who saw which of these pages."""
    await site.desk.note(staff, f"saw the results: {request.url.path.rsplit('/', 1)[1]}", record.id)


router = APIRouter(dependencies=[Depends(turned_on), *RESEARCHER, Depends(noted)])

TABLES = {"items": "item", "conditions": "condition", "sources": "source"}
"""The pages of `breakdown` by the last part of their address."""


@router.get("/results/{study}/items")
@router.get("/results/{study}/conditions")
@router.get("/results/{study}/sources")
async def table(request: Request, site: SiteDep, record: OpenStudyDep, wanted: WantedDep) -> Response:
    """One of the three tables."""
    from heard.chat_app.results.breakdown import breakdown  # here: its statistics take a second to load

    by = TABLES[request.url.path.rsplit("/", 1)[1]]
    async with site.one_study:
        found = await breakdown(site.services.studies, record.id, wanted, by)
    return _page("results_by.html", request, record, wanted, found=found, least_from=LEAST_FROM)


@router.get("/results/{study}/flow")
async def flow(request: Request, site: SiteDep, record: OpenStudyDep, wanted: WantedDep) -> Response:
    """How people went through the study."""
    return _page("results_flow.html", request, record, wanted, flow=await _flow(site, record, wanted))


@router.get("/results/{study}/flow.svg")
async def flow_picture(site: SiteDep, record: OpenStudyDep, wanted: WantedDep) -> Response:
    """The same as a picture."""
    from heard.chat_app.results.flow_chart import flow_chart

    disposition = f'inline; filename="{record.id}-flow.svg"'
    headers = {"Cache-Control": "no-store", "Content-Disposition": disposition}
    drawing = flow_chart(await _flow(site, record, wanted))
    return Response(drawing, media_type="image/svg+xml", headers=headers)


@router.get("/results/{study}/adjusted")
async def adjusted_strengths(
    request: Request,
    site: SiteDep,
    record: OpenStudyDep,
    wanted: WantedDep,
    adjust: Annotated[list[str], Query(default_factory=list)],
) -> Response:
    """Strengths with some covariates held equal; without any, only the choice of them."""
    from heard.chat_app.results.adjusted import adjusted
    from heard.chat_app.results.covariates import COVARIATES

    names = [name for name in COVARIATES if name in adjust]
    found = None
    if names:
        async with site.one_study:
            found = await adjusted(site.services.studies, record.id, wanted, names)
    kept = [(name, value) for name, value in request.query_params.multi_items() if name not in ("adjust", "hide")]
    return _page(
        "results_adjusted.html", request, record, wanted, found=found, names=names, covariates=COVARIATES, kept=kept
    )


async def _flow(site: Site, record: StudyRecord, wanted: VoteFilter) -> Any:
    from heard.chat_app.results.flow import study_flow

    return await study_flow(site.services.studies, record.id, wanted, record.definition.get("allow") or ())


def _page(name: str, request: Request, record: StudyRecord, wanted: VoteFilter, **values: Any) -> Response:
    return page(
        name, study=record, title=title_of(record), wanted=wanted, query=request.url.query, display=display, **values
    )
