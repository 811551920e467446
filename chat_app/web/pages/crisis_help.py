"""`/help`: whom to call, and the hand-off that other pages show in place of what was asked for."""

from functools import cache
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from heard.chat_app.safety import crisis_check
from heard.chat_app.web.dependencies import CountryDep
from heard.chat_app.web.pages.rendering import page
from heard.prompts.child_line_files import ChildLines, load_child_lines
from heard.prompts.safety_files import HandoffText, Hotlines, load_handoff, load_hotlines

router = APIRouter()


@cache
def _hotlines() -> Hotlines:
    return load_hotlines()


@cache
def _handoff_texts() -> dict[str, HandoffText]:
    return load_handoff()


def phone_numbers(country: str | None) -> dict[str, Any]:
    """What the template `numbers.html` needs: one country's numbers, or all without a choice."""
    chosen = [each for each in _hotlines().countries if each.code == country]
    return {"shown": chosen or _hotlines().countries, "directories": _hotlines().directories}


def handoff(language: str | None, country: str | None) -> dict[str, Any]:
    """What the template `handoff.html` needs: the text in a message's language, then in English, and the numbers."""
    english = _handoff_texts()["en"]
    own = _handoff_texts().get(language or "en", english)
    return {"texts": list(dict.fromkeys((own, english))), "country": country, **phone_numbers(country)}


@cache
def _child_lines() -> tuple[ChildLines, ...]:
    return load_child_lines()


def child_lines(country: str | None) -> list[ChildLines]:
    """Lines for children: one country's and those for several, or all without a choice or where there are none."""
    return [one for one in _child_lines() if one.code in (country, "")] if country in _codes() else [*_child_lines()]


def _codes() -> set[str]:
    return {one.code for one in _child_lines() if one.code}


@router.get("/help")
async def crisis_help(chosen: CountryDep, country: str = "") -> Response:
    """The numbers of a country: the one of the address, else the one that the person chose, else of all."""
    known = dict(crisis_check.countries())
    shown = country if country in known else None if country else chosen
    return page("help.html", here="/help", country=shown, countries=crisis_check.countries(), **phone_numbers(shown))
