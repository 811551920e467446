"""Templates as responses, and a response that stands in for the one a route would have given."""

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.datastructures import Headers
from starlette.types import Scope

from heard.chat_app.common.notice import templates

SCRIPT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of a page with a script of ours: as the gate sets it for the others, and scripts with their
calls to this server."""


def page(name: str, status: int = 200, *, here: str = "", scripted: bool = False, **values: Any) -> HTMLResponse:
    """One rendered template, which runs scripts of ours if `scripted`. Never cached: each depends on a cookie."""
    html = templates().get_template(name).render({"words": None, "in_survey": False, "about": None} | values, here=here)
    policy = {"Content-Security-Policy": SCRIPT_POLICY} if scripted else {}
    return HTMLResponse(html, status, headers={"Cache-Control": "no-store"} | policy)


def error_page(status: int, title: str, sentence: str) -> HTMLResponse:
    """A plain page for something that went wrong."""
    return page("error.html", status, title=title, sentence=sentence)


def wants_page(scope: Scope) -> bool:
    """Whether the caller is a browser that opens a page, rather than a script or another program."""
    return scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")


def error_response(scope: Scope, status: int, title: str, sentence: str) -> Response:
    """A plain page for a browser, JSON for a program."""
    return error_page(status, title, sentence) if wants_page(scope) else JSONResponse({"detail": sentence}, status)


class EarlyResponse(Exception):
    """Raised where a route shall not go on, with what the visitor gets instead of its page."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def on_early_response(_: Request, error: Exception) -> Response:
    """FastAPI's handler for EarlyResponse."""
    assert isinstance(error, EarlyResponse)
    return error.response
