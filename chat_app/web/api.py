"""The JSON routes: `/health` for whoever runs the server, `/api/score` for ratings without a chat, and its description
in the OpenAPI format for programs that make clients of one.

Who may ask for scores. It needs no cookie, since it stores nothing and belongs to no participant; so the cookie of
somebody's chat is worth nothing here either. A program on this machine may call, and one on another machine with the
token of the settings. A page of another site may not: `OriginCheck` refuses it, JSON alone is taken (which a form
cannot send, and a script not without asking first), and no answer carries a header that would let a foreign page read
it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict

from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.web.dependencies import SenderDep, Site, SiteDep
from heard.chat_app.web.json_route import MOST_BYTES, NOT_CACHED, JsonRoute
from heard.chat_app.web.researcher import same_text
from heard.chat_app.web.score_queue import MOST_WAITING, PROGRAMS, CallerLeft
from heard.chat_app.web.score_request import MOST_ITEMS, Batch, Call, exchanges_of, refusal
from heard.chat_app.web.senders import from_this_machine
from heard.scorer.score_json import ScoreJson, score_json


class Scores(BaseModel):
    """The scores of a batch, in the order of its items."""

    model_config = ConfigDict(extra="forbid")

    items: list[ScoreJson]


class Refusal(BaseModel):
    """A call that is not answered."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["refused"]
    reason: str


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": why}
    for status, why in {
        400: "The body is not JSON.",
        401: "The caller is on another machine and brings no token, or a wrong one.",
        403: "The caller is a page of another site, or on another machine while no token is set.",
        413: f"More than {MOST_BYTES:,} bytes, more than {MOST_ITEMS} items, or too long a text.",
        415: "The header Content-Type is not application/json.",
        422: "The JSON has another shape.",
        429: f"{MOST_WAITING} calls are waiting already; the header Retry-After says how many seconds to wait.",
    }.items()
}


class ScoreRoute(JsonRoute):
    """`/api/score`: for programs of this machine, and of others with the token."""

    def check_caller(self, request: Request) -> None:
        """Raise RefusedCall (401, 403) for a program of another machine without the token, and 429 where the queue is
        full. A foreign Origin has been refused before."""
        site: Site = request.app.state.site
        if not from_this_machine(request.scope):
            _check_token(site.services.settings.api_token, request.headers.get("authorization", ""))
        site.score_queue.check_place(PROGRAMS)

    def refusal(self, fault: Mapping[str, Any]) -> RefusedCall:
        """Why a body is refused."""
        return refusal(fault)


def _check_token(token: str, given: str) -> None:
    if not token:
        raise RefusedCall(
            403,
            "Only programs on the server's own machine may ask for scores. For other machines, set api_token there, or "
            "open a tunnel to it, for example with ssh -L.",
        )
    scheme, _, sent = given.partition(" ")
    if scheme.lower() != "bearer" or not same_text(sent.strip(), token):
        raise RefusedCall(
            401, 'From another machine, send the token of this server (api_token): "Authorization: Bearer ...".'
        )


router = APIRouter()
described = APIRouter(route_class=ScoreRoute)


@router.get("/health")
async def health(site: SiteDep) -> Response:
    """The server's state, from memory."""
    state = site.health.state()
    return JSONResponse(state, 503 if state["status"] == "degraded" else 200, NOT_CACHED)


@described.post(
    "/api/score",
    operation_id="score",
    response_model=ScoreJson | Scores,
    response_description="The score, or the scores in the order of the items.",
    responses=REFUSALS,
)
async def rate(request: Request, site: SiteDep, sender: SenderDep, call: Annotated[Call, Body()]) -> Any:
    """Rate one reply, or a list of replies in order."""
    exchanges = exchanges_of(call, site.services.settings.message_limit)
    try:
        async with watched(request) as left:
            scores = await site.score_queue.score_all(exchanges, left, sender)
    except CallerLeft:
        return Response(status_code=499)  # nobody reads it; 499 is what proxies call a request that was given up
    items = [score_json(score, exchange.id) for score, exchange in zip(scores, exchanges, strict=True)]
    return Scores(items=items) if isinstance(call, Batch) else items[0]


@router.get("/api/openapi.json")
async def description(site: SiteDep) -> Response:
    """`/api/score` in the OpenAPI format."""
    return JSONResponse(_description(site.services.settings.message_limit))


@cache
def _description(limit: int) -> dict[str, Any]:
    return get_openapi(
        title="heard: scores of empathy",
        version="1",
        description="Rates replies for empathy. Nothing that is sent is stored or logged. "
        f"Each text may have {limit:,} characters.",
        routes=described.routes,
    )


@asynccontextmanager
async def watched(request: Request) -> AsyncIterator[Callable[[], bool]]:
    """Tells whether the caller of a request whose body has been read has gone away.

    By a task that listens all the time: uvicorn stops reading after a large body, so that a single look
    (`request.is_disconnected`) finds the end of the connection only at the second time.
    """

    async def listen() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    listening = asyncio.create_task(listen())
    try:
        yield listening.done
    finally:
        listening.cancel()
        await asyncio.wait([listening])
