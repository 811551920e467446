"""`/help`: whom to call; the country that a hand-off's picker chooses; and the hand-off that other pages show in place
of what was asked for."""

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from markupsafe import Markup
from pydantic import BaseModel

from heard.chat_app.common.identity import COOKIE_SECONDS, COUNTRY_COOKIE
from heard.chat_app.common.region import region_from_headers
from heard.chat_app.safety.crisis_numbers import countries, hotlines
from heard.chat_app.safety.handoff import handoff, texts
from heard.chat_app.safety.handoff_pages import as_html
from heard.chat_app.web.dependencies import CountryDep, SiteDep
from heard.chat_app.web.pages.rendering import error_response, page, wants_page
from heard.prompts.child_line_files import ChildLines, load_child_lines
from heard.prompts.hours import hours_in_words
from heard.prompts.phone_numbers import dialled, numbers_in
from heard.prompts.safety_files import DANGERS, GENERAL

NO_SUCH_COUNTRY = "There are no numbers for that country here. Choose one from the list."

router = APIRouter()
SAY = {
    "numbers_in": numbers_in,
    "dialled": dialled,
    "hours": lambda hours: hours_in_words(hours, texts()["en"].hours),
}
"""What the template needs beside the file's own values."""


def phone_numbers(country: str | None) -> dict[str, Any]:
    """What the template `numbers.html` needs: one country's numbers, or all without a choice."""
    chosen = [each for each in hotlines().countries if each.code == country]
    return {"shown": chosen or hotlines().countries, "directories": hotlines().directories, "say": SAY}


def handoff_card(request: Request, language: str | None, country: str | None, danger: str = GENERAL) -> dict[str, Any]:
    """What the template `handoff.html` needs: the hand-off, with the region that the browser asks for as a guess."""
    shown = handoff(country, language, danger)
    guess = region_from_headers(request.headers, dict(countries()))
    return {"heading": shown.heading, "card": Markup(as_html(shown, guess=guess, own_page=True))}


@cache
def _child_lines() -> tuple[ChildLines, ...]:
    return load_child_lines(hotlines())


def child_lines(country: str | None) -> list[ChildLines]:
    """Lines for children: one country's and those for several, or all without a choice or where there are none."""
    return [one for one in _child_lines() if one.code in (country, "")] if country in _codes() else [*_child_lines()]


def _codes() -> set[str]:
    return {one.code for one in _child_lines() if one.code}


@router.get("/help")
async def crisis_help(chosen: CountryDep, country: str = "") -> Response:
    """The numbers of a country: the one of the address, else the one that the person chose, else of all."""
    known = dict(countries())
    shown = country if country in known else None if country else chosen
    return page("help.html", here="/help", country=shown, countries=countries(), **phone_numbers(shown))


class CountryChoice(BaseModel):
    """What a hand-off's picker sends: a country, and which hand-off it stands in."""

    country: str = ""
    language: str = ""
    danger: str = GENERAL


@router.post("/help/country")
async def choose_country(request: Request, site: SiteDep, choice: Annotated[CountryChoice, Form()]) -> Response:
    """Keep the country for crisis numbers. A script gets the hand-off with its numbers, a plain form their page."""
    if choice.country not in dict(countries()):
        return error_response(request.scope, 422, "No such country", NO_SUCH_COUNTRY)
    response: Response
    if wants_page(request.scope):
        response = RedirectResponse(f"/help?country={choice.country}", 303)
    else:
        danger = choice.danger if choice.danger in DANGERS else GENERAL
        response = JSONResponse({"html": as_html(handoff(choice.country, choice.language, danger))})
    name = site.identity.cookie_name(COUNTRY_COOKIE)
    response.set_cookie(name, choice.country, COOKIE_SECONDS, httponly=True, samesite="lax")
    return response
