"""`/desk`: who came to a study and how they took part. What changes anything stands in `desk_actions.py`.

For researchers and leads; each page that is seen is logged. Nothing of it is on any page for participants.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import Response

from heard.chat_app.studies.exclusion_rules import KINDS, RuleError, caught, parse_rule
from heard.chat_app.studies.panel_return import OUTCOMES, panel_return
from heard.chat_app.studies.people_table import (
    COLUMNS,
    MISSING,
    PEOPLE_STATES,
    name_of,
    people_csv,
    sorted_people,
    state_of,
    summary,
    to_pay_csv,
)
from heard.chat_app.studies.places_left import places_of
from heard.chat_app.studies.study_file import StudyFile, StudyFileError, study_of
from heard.chat_app.web.dependencies import SiteDep
from heard.chat_app.web.pages.rendering import EarlyResponse, error_page, page
from heard.chat_app.web.pages.results_routes import title_of
from heard.chat_app.web.staff import LeadDep, StaffDep, StudyDep, sign_in, staff_of, turned_on
from heard.db.study_people import StudyPerson
from heard.db.study_records import LETTERS, StudyRecord

PAGE = 100
"""People on one page."""
MOST_LINES = 200
"""Newest lines of the log that are shown."""
NOBODY = "There is nobody of that id in this study any more. They may have erased their data."

router = APIRouter(dependencies=[Depends(turned_on)])


@dataclass(frozen=True, slots=True)
class Listing:
    """What the list of people is asked to show."""

    sort: str = "started_at"
    order: str = "up"
    """ "up" or "down"."""
    show: str = ""
    """A state of PEOPLE_STATES, "excluded", or "" for everybody."""
    rule: str = ""
    """A rule whose catch is looked at before it is applied."""
    page: int = 1

    def link(self, **changes: str | int) -> str:
        """Return the query of the same list with changes."""
        values = {name: getattr(self, name) for name in ("sort", "order", "show", "rule", "page")} | changes
        usual = Listing()
        return urlencode({name: value for name, value in values.items() if value != getattr(usual, name)})

    def sorting(self, column: str) -> str:
        """Return the query of the list sorted by a column; the other way round if it is already."""
        order = "down" if self.sort == column and self.order == "up" else "up"
        return self.link(sort=column, order=order, page=1)


async def listing(
    sort: str = "started_at",
    order: str = "up",
    show: str = "",
    rule: str = "",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Listing:
    """Return what the address asks for."""
    return Listing(sort, "down" if order == "down" else "up", show, rule[:100], page)


ListingDep = Annotated[Listing, Depends(listing)]


async def person_named(site: SiteDep, record: StudyDep, person: str) -> StudyPerson:
    """Return the person of the address. Raises EarlyResponse (404)."""
    found = await site.desk.person(record.id, person)
    if found is None:
        raise EarlyResponse(error_page(404, "Not here", NOBODY))
    return found


PersonDep = Annotated[StudyPerson, Depends(person_named)]


def file_of(record: StudyRecord) -> StudyFile | None:
    """Return the file of a study; None if it was stored by another version that knew other keys."""
    try:
        return study_of(record)
    except StudyFileError:
        return None


def standing(record: StudyRecord) -> str:
    """Return whether a study is running, paused or ended."""
    return "ended" if record.ended_at else "paused" if record.paused_at else "running"


@router.get("/desk", dependencies=[Depends(staff_of)])
async def desk_studies(site: SiteDep, staff: StaffDep) -> Response:
    """The list of studies."""
    numbers = await site.desk.numbers()
    rows = [
        (record, title_of(record), standing(record), *numbers.get(record.id, (0, 0)))
        for record in await site.services.studies.studies()
        if staff.may_see(record.id)
    ]
    return page("desk_list.html", studies=rows, staff=staff)


@router.post("/desk")
async def enter_desk(request: Request, site: SiteDep, token: Annotated[str, Form()] = "") -> Response:
    """Take the token, for a cookie."""
    return await sign_in(request, site, token.strip(), "/desk")


@router.get("/desk/{study}")
async def desk_study(site: SiteDep, staff: StaffDep, record: StudyDep, asked: ListingDep) -> Response:
    """The people of one study, a hundred at a time."""
    everybody = await site.desk.people(record.id)
    await site.desk.note(staff, "saw the list of people", record.id)
    study = file_of(record)
    counting = await site.desk.counting(record.id, study.active_since(datetime.now(UTC))) if study else {}
    reasons: dict[str, str] = {}
    rule, problem = None, None
    if asked.rule:
        try:
            rule = parse_rule(asked.rule)
            reasons = caught(rule, everybody)
        except RuleError as error:
            problem = str(error)
    chosen = [one for one in everybody if _is_shown(one, asked.show)]
    if rule is not None:
        chosen = [one for one in chosen if one.participant_id in reasons]
    chosen = sorted_people(chosen, asked.sort, descending=asked.order == "down")
    pages = max(1, -(-len(chosen) // PAGE))
    start = (min(asked.page, pages) - 1) * PAGE
    return page(
        "desk_study.html",
        study=record,
        title=title_of(record),
        standing=standing(record),
        places=places_of(study, everybody, counting) if study else [],
        returns=[(outcome, panel_return(study, outcome)) for outcome in OUTCOMES] if study and staff.leads else [],
        staff=staff,
        summary=summary(everybody),
        columns=COLUMNS,
        people=chosen[start : start + PAGE],
        chosen=len(chosen),
        last=pages,
        number=min(asked.page, pages),
        asked=asked,
        states=PEOPLE_STATES,
        kinds=KINDS,
        rule=rule,
        reasons=reasons,
        problem=problem,
        missing=MISSING,
    )


@router.get("/desk/{study}/{name}.csv")
async def desk_file(site: SiteDep, staff: StaffDep, record: StudyDep, name: str) -> Response:
    """Everybody, or the list to pay from, as CSV."""
    written = {"people": people_csv, "to-pay": to_pay_csv}.get(name)
    if written is None:
        return error_page(404, "Not here", "The files of a study are people.csv and to-pay.csv.")
    await site.desk.note(staff, f"took {name}.csv", record.id)
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{record.id}-{name}.csv"'}
    return Response(written(await site.desk.people(record.id)), media_type="text/csv", headers=headers)


@router.get("/desk/{study}/person/{person}")
async def desk_person(site: SiteDep, staff: StaffDep, record: StudyDep, one: PersonDep) -> Response:
    """One person: their ballots without what they wrote, their exclusions, and who has looked."""
    await site.desk.note(staff, "saw a person", record.id, one.participant_id)
    ballots = await site.services.studies.ballots_of_person(record.id, one.participant_id)
    log = await site.desk.log(record.id, MOST_LINES, one.participant_id) if staff.leads else []
    return page(
        "desk_person.html",
        study=record,
        title=title_of(record),
        staff=staff,
        one=one,
        called=name_of(one),
        state=state_of(one),
        columns=COLUMNS,
        ballots=ballots,
        letters=LETTERS,
        exclusions=await site.desk.exclusions_of(record.id, one.participant_id),
        log=log,
        missing=MISSING,
    )


@router.get("/desk/{study}/access")
async def desk_access(site: SiteDep, lead: LeadDep, record: StudyDep) -> Response:
    """The links with a role, and the log of who saw and did what: for the lead."""
    await site.desk.note(lead, "saw the log", record.id)
    return page(
        "desk_access.html",
        study=record,
        title=title_of(record),
        links=await site.desk.links(record.id),
        log=await site.desk.log(record.id, MOST_LINES),
        most=MOST_LINES,
    )


def _is_shown(person: StudyPerson, show: str) -> bool:
    return not show or (person.excluded if show == "excluded" else state_of(person) == show)
