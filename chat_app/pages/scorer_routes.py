"""`/scorer`: paste a reply, see its four scores, and flag the case if it is worth a look. Works as a plain form.

Pasted texts are never stored, unless somebody who may use the chat flags them. A text that reads like a crisis gets the
hand-off: it is neither scored nor stored.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from chat_app import safety
from chat_app.drafts import score_record
from chat_app.identity import Identity
from chat_app.pages.routes import chosen_country, numbers, page
from chat_app.pages.score_view import LIMITS, view_of
from chat_app.services import Services
from chat_app.text import readable
from db.errors import StoreError
from db.records import FlagRecord
from prompts.safety_files import load_handoff
from scorer.records import EmpathyScore, Span

NOTE_LIMIT = 1_000
"""Characters of a note."""
MOST_WAITING = 8
"""Ratings of this page that may wait at once; only one at a time takes its turn among the chat's own."""

NO_REPLY = "There is no reply yet. Paste one into the first field, then press Score it."
BUSY = "Many texts are waiting for a score just now. Your text is still here: please try again in a few seconds."
CLOSED = "Nothing was flagged: a flag is stored, and you have not agreed to that. The first page asks you."

Evidence = Mapping[str, Sequence[Span]]


class Crowded(Exception):
    """Too many ratings wait already."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a person filled in, as it will be scored: line ends are "\n", whatever the browser made of them."""

    reply: str = ""
    seeker: str = ""
    note: str = ""

    @classmethod
    def of(cls, reply: str, seeker: str, note: str = "") -> "Case":
        """Tidy the fields of a form; what no text can carry (NULs, halves of characters) goes."""
        return cls(*(readable(text).replace("\r\n", "\n").replace("\r", "\n") for text in (reply, seeker, note)))

    def problems(self, limit: int) -> list[tuple[str, str]]:
        """(field, sentence) for each field that cannot be taken; `limit` is the longest text in characters."""
        found = [] if self.reply.strip() else [("reply", NO_REPLY)]
        for field, text, most in (
            ("reply", self.reply, limit),
            ("seeker", self.seeker, limit),
            ("note", self.note, NOTE_LIMIT),
        ):
            if len(text) > most:
                what = {"reply": "The reply", "seeker": "The message", "note": "The note"}[field]
                found.append((field, f"{what} has {len(text):,} characters, and {most:,} fit. Please shorten it."))
        return found


class Desk:
    """Ratings one after the other on the scorer's own thread."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    async def rate(self, case: Case) -> tuple[EmpathyScore, Evidence]:
        """The score and its evidence. Raises Crowded."""
        if self._waiting >= MOST_WAITING:
            raise Crowded
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.get_running_loop().run_in_executor(self._services.scoring, self._rated, case)
        finally:
            self._waiting -= 1

    def _rated(self, case: Case) -> tuple[EmpathyScore, Evidence]:
        scorer = self._services.scorer
        score = scorer.score(case.seeker, case.reply)
        return score, scorer.evidence(case.seeker, case.reply)


def scorer_routes(services: Services, identity: Identity, may_chat: Callable[[str], Awaitable[bool]]) -> APIRouter:
    """`/scorer` and `/scorer/flag`. `may_chat` is the chat's own gate: whether a participant's answer allows it."""
    router = APIRouter()
    desk = Desk(services)
    texts = load_handoff()
    limit = services.settings.message_limit

    async def flagger(request: Request) -> str | None:
        """The participant, if flags of theirs may be stored."""
        participant = identity.participant_from_headers(request.headers)
        return participant if participant and await may_chat(participant) else None

    def shown(case: Case, status: int = 200, *, problems: Sequence[tuple[str, str]] = (), **values: Any) -> Response:
        given: dict[str, Any] = {"result": None, "may_flag": False, "flagged": False, **values}
        return page(
            "scorer.html",
            status,
            here="/scorer",
            case=case,
            problems=problems,
            limit=limit,
            note_limit=NOTE_LIMIT,
            limits=LIMITS,
            **given,
        )

    async def hand_off(request: Request, case: Case) -> Response | None:
        """The crisis page if any field calls for it. First of all, whatever else is wrong with the form."""
        for text in (case.reply, case.seeker, case.note):
            verdict = await run_in_threadpool(safety.check, text)  # a form may be longer than any message
            if verdict.crisis:
                english = texts["en"]
                own = texts.get(verdict.language or "en", english)
                country = chosen_country(request)
                shown_texts = list(dict.fromkeys((own, english)))
                return page("handoff.html", here="/scorer", texts=shown_texts, country=country, **numbers(country))
        return None

    @router.get("/scorer")
    async def empty() -> Response:
        return shown(Case())

    @router.post("/scorer")
    async def score(
        request: Request, reply: Annotated[str, Form()] = "", seeker: Annotated[str, Form()] = ""
    ) -> Response:
        case = Case.of(reply, seeker)
        if (crisis := await hand_off(request, case)) is not None:
            return crisis
        if problems := case.problems(limit):
            return shown(case, 422, problems=problems)
        try:
            rated, evidence = await desk.rate(case)
        except Crowded:
            return shown(case, 429, problems=[("reply", BUSY)])
        result = view_of(rated, case.reply, evidence)
        return shown(case, result=result, may_flag=await flagger(request) is not None)

    @router.post("/scorer/flag")
    async def flag(
        request: Request,
        reply: Annotated[str, Form()] = "",
        seeker: Annotated[str, Form()] = "",
        note: Annotated[str, Form()] = "",
    ) -> Response:
        case = Case.of(reply, seeker, note.strip())
        if (crisis := await hand_off(request, case)) is not None:
            return crisis
        participant = await flagger(request)
        if participant is None:
            return shown(case, 403, problems=[("main", CLOSED)])
        if [field for field, _ in case.problems(limit) if field != "note"]:
            return shown(case, 422, problems=case.problems(limit))
        try:
            # Scored anew, which gives the same numbers: those that came with a form could be anybody's.
            rated, evidence = await desk.rate(case)
        except Crowded:
            return shown(case, 429, problems=[("reply", BUSY)])
        result = view_of(rated, case.reply, evidence)
        if problems := case.problems(limit):
            return shown(case, 422, problems=problems, result=result, may_flag=True)
        stored = FlagRecord(
            participant, case.seeker, case.reply, case.note or None, score_record(rated), datetime.now(UTC)
        )
        try:
            await services.store.save_flag(stored)
        except StoreError as error:
            return shown(case, 503, problems=[("flag", str(error))], result=result, may_flag=True)
        return shown(case, result=result, may_flag=True, flagged=True)

    return router
