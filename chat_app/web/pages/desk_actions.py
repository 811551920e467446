"""What a lead does at the desk: exclude and include people, pause, resume and close a study, revoke links.

Each is a form, and leads back to the page that it was on.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Form
from fastapi.responses import RedirectResponse, Response

from heard.chat_app.studies.exclusion_rules import RuleError, caught, parse_rule
from heard.chat_app.web.dependencies import SiteDep
from heard.chat_app.web.pages.desk_routes import PersonDep
from heard.chat_app.web.pages.rendering import error_page
from heard.chat_app.web.staff import LeadDep, StudyDep, lead_of, turned_on
from heard.db.errors import StudyRefused

LONGEST_REASON = 1000
"""Most characters of a reason."""
NO_REASON = "Please say why, in 1,000 characters at most: the reason is stored with it. Go back and write one."
NOT_SURE = "Nothing was done. Closing a study cannot be undone: go back and tick the box if you mean it."

router = APIRouter(dependencies=[Depends(turned_on), Depends(lead_of)])


@router.post("/desk/{study}/exclude")
async def exclude_by_rule(
    site: SiteDep, lead: LeadDep, record: StudyDep, rule: Annotated[str, Form()] = ""
) -> Response:
    """Exclude everybody whom a rule catches now."""
    try:
        read = parse_rule(rule[:100])
    except RuleError as error:
        return error_page(422, "No such rule", str(error))
    await site.desk.exclude(record.id, caught(read, await site.desk.people(record.id)), str(read), lead)
    return RedirectResponse(f"/desk/{record.id}?show=excluded", 303)


@router.post("/desk/{study}/person/{person}/exclude")
async def exclude_person(
    site: SiteDep, lead: LeadDep, record: StudyDep, one: PersonDep, reason: Annotated[str, Form()] = ""
) -> Response:
    """Exclude one person by hand."""
    if not 0 < len(reason.strip()) <= LONGEST_REASON:
        return error_page(422, "A reason is needed", NO_REASON)
    await site.desk.exclude(record.id, {one.participant_id: reason.strip()}, None, lead)
    return RedirectResponse(f"/desk/{record.id}/person/{one.participant_id}", 303)


@router.post("/desk/{study}/person/{person}/include")
async def include_person(
    site: SiteDep, lead: LeadDep, record: StudyDep, one: PersonDep, reason: Annotated[str, Form()] = ""
) -> Response:
    """Lift every exclusion of one person."""
    if not 0 < len(reason.strip()) <= LONGEST_REASON:
        return error_page(422, "A reason is needed", NO_REASON)
    await site.desk.include(record.id, [one.participant_id], reason.strip(), lead)
    return RedirectResponse(f"/desk/{record.id}/person/{one.participant_id}", 303)


@router.post("/desk/{study}/state")
async def change_state(
    site: SiteDep, lead: LeadDep, record: StudyDep, do: Annotated[str, Form()] = "", sure: Annotated[str, Form()] = ""
) -> Response:
    """Pause a study, let it go on, or close it for good."""
    try:
        if do == "close":
            if sure != "yes":
                return error_page(422, "Not closed", NOT_SURE)
            await site.desk.end(record.id, lead)
        elif do in ("pause", "resume"):
            await site.desk.pause(record.id, lead, paused=do == "pause")
        else:
            return error_page(422, "Not readable", "The form could not be read. Go back and use one of its buttons.")
    except StudyRefused as refused:
        return error_page(409, "Not possible", str(refused))
    return RedirectResponse(f"/desk/{record.id}", 303)


@router.post("/desk/{study}/access/{link}/revoke")
async def revoke_link(site: SiteDep, lead: LeadDep, record: StudyDep, link: str) -> Response:
    """Revoke a link of this study for good."""
    if any(one.id == link for one in await site.desk.links(record.id)):
        await site.desk.revoke(link, lead)
    return RedirectResponse(f"/desk/{record.id}/access", 303)
