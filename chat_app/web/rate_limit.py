"""How often one visitor, and one address, may send something.

An address is kept in memory for a minute, and nowhere else. This machine's own has no limit: behind a proxy that is not
in the setting `trusted_proxies` every visitor has it.
"""

import math

from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from heard.chat_app.common.identity import Identity
from heard.chat_app.common.settings import Settings
from heard.chat_app.common.token_buckets import TokenBuckets
from heard.chat_app.web.api import ScoreRoute
from heard.chat_app.web.pages.rendering import error_page, wants_page
from heard.chat_app.web.senders import address_of, is_loopback
from heard.chat_app.web.vote_routes import VoteRoute

COSTLY_PAGES = ("/you", "/you/export")
"""Pages that read all that is stored of a person."""
TOO_OFTEN = (
    "Too much came from this browser or its network at once, so this was not taken. Nothing is lost: please wait "
    "{seconds}, go back and send it again."
)
_KEYS = {"/api/score": ScoreRoute.sentence_key, "/vote": VoteRoute.sentence_key}
"""Paths of JSON routes, and where their callers look for the sentence."""


class RateLimit:
    """Refuse (429) what a visitor or an address sends too often; pages may be read as often as anybody likes."""

    def __init__(self, app: ASGIApp, *, identity: Identity, settings: Settings) -> None:
        self.app, self.identity = app, identity
        self.visitors = TokenBuckets(settings.visitor_per_minute)
        self.addresses = TokenBuckets(settings.address_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with 429."""
        wait = self._seconds_to_wait(scope) if _is_counted(scope) else 0.0
        app = too_often(scope, wait) if wait else self.app
        await app(scope, receive, send)

    def _seconds_to_wait(self, scope: Scope) -> float:
        address = address_of(scope)
        wait = 0.0 if is_loopback(address) else self.addresses.seconds_to_wait(address)
        visitor = self.identity.participant_from_headers(Headers(scope=scope))
        return wait or (self.visitors.seconds_to_wait(visitor) if visitor else 0.0)


def _is_counted(scope: Scope) -> bool:
    if scope["type"] == "websocket":
        return True
    return scope["type"] == "http" and (
        scope["method"] not in ("GET", "HEAD", "OPTIONS") or scope["path"] in COSTLY_PAGES
    )


def too_often(scope: Scope, wait: float) -> Response:
    """The response to a request that came `wait` seconds too early."""
    seconds = math.ceil(wait)
    sentence = TOO_OFTEN.format(seconds="a second" if seconds == 1 else f"{seconds} seconds")
    if wants_page(scope):
        response: Response = error_page(429, "Too often", sentence)
    else:
        key = _KEYS.get(scope["path"])
        body = {"status": "refused", key: sentence} if key else {"detail": sentence}
        response = JSONResponse(body, 429)
    response.headers["Retry-After"] = str(seconds)
    response.headers["Cache-Control"] = "no-store"
    return response
