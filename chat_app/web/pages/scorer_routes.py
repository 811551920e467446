"""`/scorer`: paste a reply, see its four scores, and flag the case if it is worth a look. Works as a plain form.

Pasted texts are never stored, unless somebody who may use the chat flags them. A text that reads like a crisis gets the
hand-off: it is neither scored nor stored.
"""

from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel

from heard.chat_app.common.fair_queue import QueueFull
from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.common.text import clean_unicode
from heard.chat_app.conversation.drafts import score_record
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.assessment import assess
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.web.body_limit import SMALL_FORM
from heard.chat_app.web.dependencies import CountryDep, ParticipantDep, SenderDep, Site, SiteDep
from heard.chat_app.web.pages.crisis_help import handoff_card
from heard.chat_app.web.pages.rendering import EarlyResponse, page
from heard.chat_app.web.pages.score_view import LIMITS, ScoreView, view_of
from heard.chat_app.web.score_queue import FORMS
from heard.chat_app.web.sender_lines import LineFull
from heard.chat_app.web.senders import sender_of
from heard.db.errors import StoreError
from heard.db.records import FlagRecord
from heard.scorer.records import EmpathyScore

NOTE_LIMIT = 1_000
"""Characters of a note."""

NO_REPLY = "There is no reply yet. Paste one into the first field, then press Score it."
BUSY = "Many texts are waiting for a score just now. Your text is still here: please try again in a few seconds."
MAY_NOT_FLAG = "Nothing was flagged: a flag is stored, and you have not agreed to that. The first page asks you."


def _tidy(text: str) -> str:
    # Line ends are "\n", whatever the browser made of them; what no text can carry (NULs, halves of characters) goes.
    return clean_unicode(text).replace("\r\n", "\n").replace("\r", "\n")


Tidy = Annotated[str, AfterValidator(_tidy)]
Problems = Sequence[tuple[str, str]]
"""(field, sentence) for each field that cannot be taken."""


class Case(BaseModel):
    """What a person filled in, as it will be scored."""

    reply: Tidy = ""
    seeker: Tidy = ""
    note: Annotated[Tidy, AfterValidator(str.strip)] = ""

    def problems(self, limit: int) -> list[tuple[str, str]]:
        """What is wrong with the fields; `limit` is the longest text in characters."""
        found = [] if self.reply.strip() else [("reply", NO_REPLY)]
        for field, what, text, most in (
            ("reply", "The reply", self.reply, limit),
            ("seeker", "The message", self.seeker, limit),
            ("note", "The note", self.note, NOTE_LIMIT),
        ):
            if len(text) > most:
                found.append((field, f"{what} has {len(text):,} characters, and {most:,} fit. Please shorten it."))
        return found


class ScorerRoute(APIRoute):
    """A page that reads and scores a form: one at a time of each sender. Those that wait are not even read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, when it is the sender's turn."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            site: Site = request.app.state.site
            if request.method != "POST":
                return await handler(request)
            try:
                async with site.lines.turn(sender_of(request.scope, site.identity)):
                    return await handler(request)
            except LineFull:
                return _scorer_page(site, await _small_case(request), 429, problems=[("reply", BUSY)])

        return handle


async def _small_case(request: Request) -> Case:
    """The form as it was sent, so that no text is lost; empty if it is long, as reading that would cost too much."""
    if not 0 < int(request.headers.get("content-length", "0")) <= SMALL_FORM:
        return Case()
    form = await request.form()
    return Case.model_validate({name: text for name in Case.model_fields if isinstance(text := form.get(name), str)})


async def checked_case(
    request: Request, site: SiteDep, case: Annotated[Case, Form()], country: CountryDep, sender: SenderDep
) -> Case:
    """The form. Raises EarlyResponse with the crisis page if any field calls for it: first of all, whatever else is
    wrong with the form."""
    limit = _limit(site)
    for text, reader in ((case.reply, crisis_check.check), (case.seeker, assess), (case.note, crisis_check.check)):
        try:
            verdict = await site.services.reading.run(sender, partial(reader, bounded_text(text, limit)))
        except QueueFull:
            raise EarlyResponse(_scorer_page(site, case, 429, problems=[("reply", BUSY)])) from None
        if verdict.crisis:
            shown = handoff_card(request, verdict.language, country, verdict.danger)
            raise EarlyResponse(page("handoff.html", here="/scorer", scripted=True, **shown))
    return case


async def flagger(site: SiteDep, participant: ParticipantDep) -> str | None:
    """The participant, if flags of theirs may be stored."""
    return participant if participant and await site.may_chat(participant) else None


CaseDep = Annotated[Case, Depends(checked_case)]
FlaggerDep = Annotated[str | None, Depends(flagger)]

router = APIRouter(route_class=ScorerRoute)


@router.get("/scorer")
async def empty(site: SiteDep) -> Response:
    """The empty form."""
    return _scorer_page(site, Case())


@router.post("/scorer")
async def score(site: SiteDep, case: CaseDep, flagger: FlaggerDep) -> Response:
    """The form with its scores."""
    if problems := case.problems(_limit(site)):
        return _scorer_page(site, case, 422, problems=problems)
    try:
        rated = await _explained(site, case)
    except RefusedCall:
        return _scorer_page(site, case, 429, problems=[("reply", BUSY)])
    return _scorer_page(site, case, result=view_of(rated, case.reply), may_flag=flagger is not None)


@router.post("/scorer/flag")
async def flag(site: SiteDep, case: CaseDep, flagger: FlaggerDep) -> Response:
    """Store the case with its scores and a note."""
    problems = case.problems(_limit(site))
    if flagger is None:
        return _scorer_page(site, case, 403, problems=[("main", MAY_NOT_FLAG)])
    if any(field != "note" for field, _ in problems):
        return _scorer_page(site, case, 422, problems=problems)
    try:
        # Scored anew, which gives the same numbers: those that came with a form could be anybody's.
        rated = await _explained(site, case)
    except RefusedCall:
        return _scorer_page(site, case, 429, problems=[("reply", BUSY)])
    result = view_of(rated, case.reply)
    if problems:
        return _scorer_page(site, case, 422, problems=problems, result=result, may_flag=True)
    flagged = FlagRecord(flagger, case.seeker, case.reply, case.note or None, score_record(rated), datetime.now(UTC))
    try:
        await site.services.store.save_flag(flagged)
    except StoreError as error:
        return _scorer_page(site, case, 503, problems=[("flag", str(error))], result=result, may_flag=True)
    return _scorer_page(site, case, result=result, may_flag=True, flagged=True)


async def _explained(site: Site, case: Case) -> EmpathyScore:
    """The score with its evidence. Raises RefusedCall when too many are waiting."""
    with site.score_queue.place(FORMS):
        return await site.score_queue.run(
            lambda scorer: scorer.explain(case.seeker, case.reply), len(case.seeker) + len(case.reply)
        )


def _limit(site: Site) -> int:
    return site.services.settings.message_limit


def _scorer_page(
    site: Site,
    case: Case,
    status: int = 200,
    *,
    problems: Problems = (),
    result: ScoreView | None = None,
    may_flag: bool = False,
    flagged: bool = False,
) -> Response:
    return page(
        "scorer.html",
        status,
        here="/scorer",
        case=case,
        problems=problems,
        result=result,
        may_flag=may_flag,
        flagged=flagged,
        limit=_limit(site),
        note_limit=NOTE_LIMIT,
        limits=LIMITS,
    )
