"""`/safety`: what the chat does in a crisis, published for everybody, with what it is known to miss."""

from fastapi import APIRouter
from fastapi.responses import Response

from heard.chat_app.common.notice import named_operator, researchers_look
from heard.chat_app.common.places import in_force
from heard.chat_app.web.dependencies import CountryDep, SiteDep
from heard.chat_app.web.pages.crisis_help import phone_numbers
from heard.chat_app.web.pages.rendering import page

MEASURED = "80 of 100 among 254 messages in a crisis that were written to test it, and 82 of 100 among 117 more"
"""How many it finds, from tests/safety_cases/README.md: first readings, before it was tuned on them."""

router = APIRouter()


@router.get("/safety")
async def safety(site: SiteDep, country: CountryDep) -> Response:
    """The protocol as the page tells it; open to everybody, before any consent."""
    settings = site.services.settings
    rules = in_force(settings)
    return page(
        "safety.html",
        here="/safety",
        measured=MEASURED,
        settings=settings,
        operator=named_operator(settings),
        rules=rules,
        places=list(dict.fromkeys(one.place for one in rules.because)),
        researchers_look=researchers_look(settings),
        **phone_numbers(country),
    )
