"""`POST /vote`: a vote from a page of this server, by the signed cookie of whoever sits before it."""

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from heard.chat_app.common.identity import Identity
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.votes import BROKEN, take_vote
from heard.chat_app.web.api import FRESH, RETRY_SECONDS, body_of
from heard.chat_app.web.pages.routes import chosen_country
from heard.chat_app.web.score_calls import RefusedCall, check_json

NOBODY = "This page does not know you any more, so the vote was not taken. Open the first page and begin again there."


def vote_routes(services: Services, identity: Identity) -> APIRouter:
    """The route. The gate has already refused a foreign Origin, and JSON alone is taken, which a form cannot send.

    Answers with what `take_vote` gives, and with `handoff` in Markdown where that has `crisis`; or with {"status":
    "refused", "sentence": ...}: 401 without a valid cookie, 400, 413 and 415 for another body, and what `take_vote`
    refuses with.
    """
    router = APIRouter()

    @router.post("/vote")
    async def vote(request: Request) -> Response:
        try:
            check_json(request.headers)
            participant = identity.participant_from_headers(request.headers)
            if participant is None:
                raise RefusedCall(401, NOBODY)
            told = await take_vote(services, participant, _object(await body_of(request)))
            if "crisis" in told:  # people first: the page shows this above everything that the vote has told
                told["handoff"] = crisis_check.handoff(chosen_country(request), told["crisis"])
        except RefusedCall as refused:
            again = {"Retry-After": str(RETRY_SECONDS)} if refused.status == 503 else {}
            return JSONResponse({"status": "refused", "sentence": refused.sentence}, refused.status, FRESH | again)
        return JSONResponse(told, headers=FRESH)

    return router


def _object(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise RefusedCall(400, BROKEN)
    return given
