"""The JSON routes: `/health` for whoever runs the server, `/api/score` for ratings without a chat, and a description of
the second for programs that make clients of one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from heard.chat_app.conversation.services import Services
from heard.chat_app.web.api_description import description
from heard.chat_app.web.score_calls import MOST_BYTES, RefusedCall, check_caller, read_call, too_large
from heard.chat_app.web.score_queue import CallerLeft, ScoreLine
from heard.scorer.score_json import as_json

FRESH = {"Cache-Control": "no-store"}
RETRY_SECONDS = 5
"""Told to a caller who found the line full."""


def api_routes(services: Services, health: Callable[[], dict[str, str]], line: ScoreLine) -> APIRouter:
    """`GET /health`, `POST /api/score` and `GET /api/openapi.json`.

    `health()` must answer from memory; `line` is where texts wait that are not of the chat.
    """
    router = APIRouter()
    limit = services.settings.message_limit

    @router.get("/health")
    async def how_are_you() -> Response:
        state = health()
        return JSONResponse(state, 503 if state["status"] == "degraded" else 200, FRESH)

    @router.post("/api/score")
    async def score(request: Request) -> Response:
        try:
            check_caller(request.headers, request.client.host if request.client else "")
            call = read_call(await body_of(request), limit)
            async with watched(request) as left:
                answers = [as_json(score) for score in await line.rate(call, left)]
        except RefusedCall as refused:
            again = {"Retry-After": str(RETRY_SECONDS)} if refused.status == 429 else {}
            return JSONResponse({"status": "refused", "reason": refused.sentence}, refused.status, FRESH | again)
        except CallerLeft:
            return Response(status_code=499)  # nobody reads it; 499 is what proxies call a request that was given up
        return JSONResponse({"items": answers} if call.many else answers[0], headers=FRESH)

    @router.get("/api/openapi.json")
    async def described() -> Response:
        return JSONResponse(description(limit))

    return router


async def body_of(request: Request) -> bytes:
    """The whole body. Raises RefusedCall (413) as soon as it is larger than MOST_BYTES."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise too_large()
    return body


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
