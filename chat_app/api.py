"""The two JSON routes: `/health` for whoever runs the server, `/api/score` for one rating without a chat."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from chat_app import safety
from chat_app.services import Services
from scorer.records import EmpathyScore

MOST_BYTES = 262_144
"""Of a request to `/api/score`; the limit in characters is the setting `message_limit`."""
MOST_WAITING = 8
"""Ratings that may wait at once; the chat's own ratings use the same thread and must not queue behind a crowd."""
LOOPBACK = ("127.0.0.1", "::1")


class RefusedCall(Exception):
    """A call that gets a status and a plain sentence; never the caller's own text."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def api_routes(services: Services, health: Callable[[], dict[str, str]]) -> APIRouter:
    """`GET /health` and `POST /api/score`. `health()` must answer from memory."""
    router = APIRouter()
    turn = asyncio.Semaphore(1)
    waiting = 0

    @router.get("/health")
    async def how_are_you() -> Response:
        state = health()
        return JSONResponse(state, 503 if state["status"] == "degraded" else 200, {"Cache-Control": "no-store"})

    @router.post("/api/score")
    async def score(request: Request) -> Response:
        nonlocal waiting
        try:
            seeker, reply = await texts_of(request, services.settings.message_limit)
            if waiting >= MOST_WAITING:
                raise RefusedCall(429, "Too many texts are waiting for a score. Try again in a few seconds.")
        except RefusedCall as refused:
            return JSONResponse({"status": "refused", "reason": refused.sentence}, refused.status)
        if safety.check(seeker).crisis or safety.check(reply).crisis:
            return JSONResponse(crisis_answer())
        waiting += 1
        try:
            async with turn:
                loop = asyncio.get_running_loop()
                rated = await loop.run_in_executor(services.scoring, services.scorer.score, seeker, reply)
        finally:
            waiting -= 1
        return JSONResponse(as_json(rated))

    return router


def as_json(score: EmpathyScore) -> dict[str, Any]:
    """A score as JSON: components and empathy are numbers on 1..3, or null together with a `reason`."""
    return {
        "status": score.status.value,
        "cognitive": score.cognitive,
        "emotional": score.emotional,
        "behavioral": score.behavioral,
        "empathy": score.empathy,
        "reason": score.reason,
        "head_name": score.head_name,
        "head_sha256": score.head_sha256,
        "encoder_sha256": score.encoder_sha256,
    }


def crisis_answer() -> dict[str, Any]:
    """In place of a score: a text with suicidal or self-harm meaning never reaches the scorer."""
    return {
        "status": "crisis",
        "cognitive": None,
        "emotional": None,
        "behavioral": None,
        "empathy": None,
        "reason": "This text is not scored, because it reads like a crisis. Please turn to people: see the help page.",
        "help": "/help",
    }


async def texts_of(request: Request, limit: int) -> tuple[str, str]:
    """The two texts of a call. Raises RefusedCall for a stranger, a wrong type, bad JSON, or more than `limit`."""
    # The gate has already refused a foreign Origin; without one, only a program on this machine may ask.
    client = request.client.host if request.client else ""
    if "origin" not in request.headers and client not in LOOPBACK:
        raise RefusedCall(403, "This address answers its own pages and programs on the same machine only.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedCall(415, 'Send JSON with the header "Content-Type: application/json".')
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise RefusedCall(413, f"The request has more than {MOST_BYTES:,} bytes. Send a shorter text.")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedCall(422, 'The body is not valid JSON. Send {"seeker": "...", "reply": "..."}.') from error
    if not isinstance(given, dict) or not set(given) <= {"seeker", "reply"}:
        raise RefusedCall(422, 'Send one JSON object with the two keys "seeker" and "reply" and no others.')
    for key in ("seeker", "reply"):
        text = given.get(key)
        if not isinstance(text, str):
            raise RefusedCall(422, f'"{key}" is missing or not a text. Send it as a string; it may be empty.')
        if len(text) > limit:
            raise RefusedCall(413, f'"{key}" has more than {limit:,} characters. Send a shorter text.')
    return given["seeker"], given["reply"]
