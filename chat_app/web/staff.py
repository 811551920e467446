"""Who works on a study: the holder of the settings' token, who leads all, and those of links with a role in one.

Both sign in once with their token, for a cookie of half a day that says only which link it was; whether that still
holds is asked of the database at each request, so that a revoked link is shut at once. What each saw is logged.
"""

import secrets
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from heard.chat_app.web.dependencies import Site, SiteDep
from heard.chat_app.web.pages.rendering import EarlyResponse, error_page, page
from heard.chat_app.web.researcher import FAILURE_SECONDS, GUESSER_COOKIE, RESEARCHER_COOKIE, SESSION_SECONDS
from heard.chat_app.web.senders import address_of
from heard.db.desk_records import Actor, Role
from heard.db.study_records import StudyRecord

STAFF_COOKIE = "heard_staff"
STAFF_PATHS = ("/results", "/desk")
"""Pages to which the cookies are sent."""
SETTINGS_TOKEN = "the setting researcher_token"
"""How the log names whoever signs in with it."""
OFF = (
    "This page is off. Whoever runs heard turns it on by the setting researcher_token, or by a link with a role: "
    "heard study invite."
)
WRONG = "That is not the token. It is the value of researcher_token in this server's settings, or stands in your link."
LOCKED_OUT = "There were too many wrong tokens. Please try again in five minutes."
NO_STUDY = "There is no such study in this database."
LEADS_ONLY = "Your link lets you look and not change anything. Ask whoever leads the study."


async def turned_on(site: SiteDep) -> None:
    """Raise EarlyResponse (404) where there is no token at all."""
    if not site.researcher.enabled and not await site.desk.any_staff():
        raise EarlyResponse(error_page(404, "Not here", OFF))


async def staff_of(request: Request, site: SiteDep) -> Actor:
    """Return who is signed in. Raises EarlyResponse (401) for anybody else, who is not told what studies there are."""
    if site.researcher.is_signed_in(request.headers):
        return Actor(SETTINGS_TOKEN)
    sealed = site.identity.unseal(site.identity.cookie(request.headers, STAFF_COOKIE), STAFF_COOKIE)
    link_id, _, until = sealed.partition(" ") if isinstance(sealed, str) else ("", "", "")
    if until.isdecimal() and int(until) > site.researcher.clock():
        link = await site.desk.link(link_id)
        if link is not None and link.revoked_at is None and link.role.is_staff:
            return Actor(link.name, link.role, link.id, link.study_id)
    raise EarlyResponse(login_page(request, 401))


StaffDep = Annotated[Actor, Depends(staff_of)]


async def lead_of(staff: StaffDep) -> Actor:
    """Return who is signed in and may change things. Raises EarlyResponse (403) for a researcher."""
    if staff.role is not Role.LEAD:
        raise EarlyResponse(error_page(403, "For the lead only", LEADS_ONLY))
    return staff


LeadDep = Annotated[Actor, Depends(lead_of)]


async def study_named(site: SiteDep, staff: StaffDep, study: str) -> StudyRecord:
    """Return the study of the address. Raises EarlyResponse (404), also for one of others: it is not told apart."""
    found = await site.services.studies.study(study) if staff.may_see(study) else None
    if found is None:
        raise EarlyResponse(error_page(404, "Not here", NO_STUDY))
    return found


StudyDep = Annotated[StudyRecord, Depends(study_named)]


def login_page(request: Request, status: int, problem: str | None = None) -> Response:
    """Return the page that asks for the token, of the results or of the desk."""
    home = next((path for path in STAFF_PATHS if request.url.path.startswith(path)), STAFF_PATHS[0])
    return page("results_login.html", status, scripted=True, problem=problem, home=home)


async def sign_in(request: Request, site: Site, token: str, home: str) -> Response:
    """Take a token, for a cookie and the page `home`. A wrong one is counted by the browser that sent it, which gets a
    mark."""
    researcher, address = site.researcher, address_of(request.scope)
    guesser = researcher.guesser(request.headers)
    if researcher.locked_out(guesser or "", address):
        return login_page(request, 429, LOCKED_OUT)
    browser = guesser or secrets.token_hex(8)
    link = await site.desk.link_of_token(token)
    response: Response = RedirectResponse(home, 303)
    name, seconds = RESEARCHER_COOKIE, SESSION_SECONDS
    if link is not None and link.revoked_at is None and link.role.is_staff:
        until = int(researcher.clock()) + SESSION_SECONDS
        name, value = STAFF_COOKIE, site.identity.seal(f"{link.id} {until}", STAFF_COOKIE)
        await site.desk.note(Actor(link.name, link.role), "signed in", link.study_id)
    elif researcher.accepts(token, browser, address):
        value = researcher.cookie()
    else:
        response = login_page(request, 403, WRONG)
        name, value, seconds = GUESSER_COOKIE, site.identity.seal(browser, GUESSER_COOKIE), int(FAILURE_SECONDS)
    other = STAFF_COOKIE if name == RESEARCHER_COOKIE else RESEARCHER_COOKIE
    if name != GUESSER_COOKIE and site.identity.cookie(request.headers, other):
        for path in STAFF_PATHS:  # who signs in anew is nobody else any more
            response.delete_cookie(site.identity.cookie_name(other), path, httponly=True, samesite="strict")
    for path in STAFF_PATHS:
        named = site.identity.cookie_name(name)
        response.set_cookie(named, value, seconds, path=path, httponly=True, samesite="strict")
    return response
