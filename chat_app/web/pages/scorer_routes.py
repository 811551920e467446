"""`/scorer`: paste a reply, see its four scores, and flag the case if it is worth a look. Works as a plain form.

Pasted texts are never stored, unless somebody who may use the chat flags them. A text that reads like a crisis gets the
hand-off: it is neither scored nor stored.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from heard.chat_app.common.identity import Identity
from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.common.text import readable
from heard.chat_app.conversation.drafts import score_record
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety import crisis_check
from heard.chat_app.web.pages.routes import chosen_country, numbers, page
from heard.chat_app.web.pages.score_view import LIMITS, view_of
from heard.chat_app.web.score_queue import ScoreQueue
from heard.db.errors import StoreError
from heard.db.records import FlagRecord
from heard.prompts.safety_files import load_handoff
from heard.scorer.records import EmpathyScore

NOTE_LIMIT = 1_000
"""Characters of a note."""

NO_REPLY = "There is no reply yet. Paste one into the first field, then press Score it."
BUSY = "Many texts are waiting for a score just now. Your text is still here: please try again in a few seconds."
CLOSED = "Nothing was flagged: a flag is stored, and you have not agreed to that. The first page asks you."


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


def scorer_routes(
    services: Services, identity: Identity, may_chat: Callable[[str], Awaitable[bool]], queue: ScoreQueue
) -> APIRouter:
    """`/scorer` and `/scorer/flag`. `may_chat` is the chat's own gate: whether a participant's answer allows it.

    `queue` is where texts wait that are not of the chat.
    """
    router = APIRouter()
    texts = load_handoff()
    limit = services.settings.message_limit

    async def explained(case: Case) -> EmpathyScore:
        size = len(case.seeker) + len(case.reply)
        with queue.place():
            return await queue.run(lambda scorer: scorer.explain(case.seeker, case.reply), size)

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
            verdict = await run_in_threadpool(crisis_check.check, text)  # a form may be longer than any message
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
            rated = await explained(case)
        except RefusedCall:
            return shown(case, 429, problems=[("reply", BUSY)])
        result = view_of(rated, case.reply)
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
            rated = await explained(case)
        except RefusedCall:
            return shown(case, 429, problems=[("reply", BUSY)])
        result = view_of(rated, case.reply)
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
