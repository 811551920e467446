"""The routes of the pages around the chat. Each takes the participant from the signed cookie and from nowhere else."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from heard.chat_app.common.identity import (
    CHAT_COOKIE,
    COOKIE_SECONDS,
    COUNTRY_COOKIE,
    SESSION_COOKIE,
    VISITOR_COOKIE,
    Identity,
    country_from_headers,
    new_participant,
)
from heard.chat_app.common.notice import notice, templates
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety import crisis_check
from heard.chat_app.studies.survey_links import onward
from heard.db.records import ConsentRecord
from heard.prompts.safety_files import Hotlines, load_hotlines

CHAT = "/chat/"
Next = Annotated[str, Query(alias="next")]
"""Where to go on after the questions: a survey's entry (`survey_links.onward` lets nothing else pass), or the chat."""


class OpenChats(Protocol):
    """The chats that a participant has open right now, in any number of tabs."""

    async def stop(self, participant_id: str) -> None:
        """Stop their running replies, and return when what had arrived is stored."""

    async def dismiss(self, participant_id: str) -> None:
        """Send their pages to load anew, which ends at the first page for somebody without consent."""


ADULT = "Please tick that you are 18 or older. If you are younger, do not use the chat; the crisis lines are yours too."
RESEARCH = "Please answer the question about research. Both answers open the chat."
COUNTRY = "Please choose a country from the list, or none."
ANSWER = "Please use one of the two buttons to say whether you want to use the chat."
STALE = "The notice changed while this page was open. Please read it again and answer once more."


SCRIPT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of a page with a script of ours: as the gate sets it for the others, and scripts with their
calls to this server."""


def page(name: str, status: int = 200, *, here: str = "", scripted: bool = False, **values: Any) -> HTMLResponse:
    """One rendered template, which runs scripts of ours if `scripted`. Never cached: each depends on a cookie."""
    html = templates().get_template(name).render(here=here, **values)
    policy = {"Content-Security-Policy": SCRIPT_POLICY} if scripted else {}
    return HTMLResponse(html, status, headers={"Cache-Control": "no-store"} | policy)


def fault_page(status: int, title: str, sentence: str) -> HTMLResponse:
    """A plain page for something that went wrong."""
    return page("fault.html", status, title=title, sentence=sentence)


@cache
def _hotlines() -> Hotlines:
    return load_hotlines()


def chosen_country(request: Request) -> str | None:
    """The country that the person chose for crisis numbers, or None."""
    return country_from_headers(request.headers, dict(crisis_check.countries()))


def numbers(country: str | None) -> dict[str, Any]:
    """What the template `numbers.html` needs: one country's numbers, or all without a choice."""
    chosen = [each for each in _hotlines().countries if each.code == country]
    return {"shown": chosen or _hotlines().countries, "directories": _hotlines().directories}


def page_routes(services: Services, identity: Identity, chats: OpenChats) -> APIRouter:
    """`/`, `/consent`, `/help`, `/you`, `/you/export`, `/you/erase`."""
    router = APIRouter()
    store = services.store
    shown = notice(services.settings.persona_word)
    countries = dict(crisis_check.countries())

    async def consent_of(request: Request) -> ConsentRecord | None:
        participant = identity.participant_from_headers(request.headers)
        return await store.latest_consent(participant) if participant else None

    def questions(
        stored: ConsentRecord | None, answers: dict[str, Any], to: str, problems: Sequence[tuple[str, str]] = ()
    ) -> HTMLResponse:
        return page(
            "consent.html",
            422 if problems else 200,
            here="/",
            scripted=stored is None,
            notice=shown.html,
            version=shown.version,
            persona_word=services.settings.persona_word,
            countries=crisis_check.countries(),
            stored=stored,
            changing=stored is not None,
            current=stored is not None and stored.version == shown.version,
            answers=answers,
            survey=onward(to),
            problems=problems,
        )

    @router.get("/")
    async def first_page(request: Request, to: Next = "") -> Response:
        stored = await consent_of(request)
        if stored and stored.chat and stored.version == shown.version:
            return RedirectResponse(onward(to) or CHAT, 303)
        return questions(stored, {"adult": False, "research": "", "country": chosen_country(request)}, to)

    @router.get("/consent")
    async def change_answers(request: Request, to: Next = "") -> Response:
        stored = await consent_of(request)
        # Nothing is ticked at the first visit; later the page shows what was answered.
        research = "" if stored is None else "yes" if stored.research else "no"
        given = stored is not None and stored.chat
        return questions(stored, {"adult": given, "research": research, "country": chosen_country(request)}, to)

    @router.post("/consent")
    async def answer(
        request: Request,
        chat: Annotated[str, Form()] = "",
        research: Annotated[str, Form()] = "",
        adult: Annotated[str, Form()] = "",
        country: Annotated[str, Form()] = "",
        version: Annotated[str, Form()] = "",
        to: Annotated[str, Form(alias="next")] = "",
    ) -> Response:
        stored = await consent_of(request)
        if chat == "no":
            response = await refuse(request, stored, to)
        else:
            problems = [
                (field, sentence)
                for field, wrong, sentence in (
                    ("agree", chat != "yes", ANSWER),
                    ("main", version != shown.version, STALE),
                    ("adult", adult != "yes", ADULT),
                    ("research", research not in ("yes", "no"), RESEARCH),
                    ("country", bool(country) and country not in countries, COUNTRY),
                )
                if wrong
            ]
            if problems:
                given = {"adult": adult == "yes", "research": research, "country": country}
                return questions(stored, given, to, problems)
            response = await accept(request, research == "yes", to)
        if country in countries:
            response.set_cookie(COUNTRY_COOKIE, country, COOKIE_SECONDS, httponly=True, samesite="lax")
        elif chat == "yes":
            response.delete_cookie(COUNTRY_COOKIE)
        return response

    async def accept(request: Request, research: bool, to: str) -> Response:
        participant = identity.participant_from_headers(request.headers) or new_participant()
        await store.ensure_participant(participant)
        await store.save_consent(ConsentRecord(participant, shown.version, True, research, datetime.now(UTC)))
        response = RedirectResponse(onward(to) or CHAT, 303)
        response.set_cookie(VISITOR_COOKIE, identity.sign(participant), COOKIE_SECONDS, httponly=True, samesite="lax")
        return response

    async def refuse(request: Request, stored: ConsentRecord | None, to: str) -> Response:
        # Somebody who never agreed leaves no trace. A withdrawal is stored, since it must outlive this request.
        if stored:
            await store.save_consent(
                ConsentRecord(stored.participant_id, shown.version, False, False, datetime.now(UTC))
            )
            await chats.stop(stored.participant_id)
            await chats.dismiss(stored.participant_id)
        # Not the chat's hand-off: its words answer a message, and here nobody has written one.
        return page("declined.html", stored=stored is not None, survey=onward(to), **numbers(chosen_country(request)))

    @router.get("/help")
    async def crisis_help(request: Request, country: str = "") -> Response:
        chosen = country if country in countries else None if country else chosen_country(request)
        return page("help.html", here="/help", country=chosen, countries=crisis_check.countries(), **numbers(chosen))

    async def own_data(request: Request, problem: str | None = None) -> Response:
        participant = identity.participant_from_headers(request.headers)
        known = participant and await store.participant(participant)
        if not participant or not known:
            return page("you.html", here="/you", counts=[])
        counts = counted(await store.export_participant(participant))
        return page(
            "you.html",
            422 if problem else 200,
            here="/you",
            counts=counts,
            consent=known.consent,
            problem=problem,
        )

    @router.get("/you")
    async def your_data(request: Request) -> Response:
        return await own_data(request)

    @router.get("/you/export")
    async def export(request: Request) -> Response:
        participant = identity.participant_from_headers(request.headers)
        if not participant or not await store.participant(participant):
            return fault_page(404, "Nothing to download", "Nothing is stored for this browser.")
        stored = await store.export_participant(participant)
        body = await run_in_threadpool(json.dumps, stored, ensure_ascii=True, indent=2)
        name = f"heard-my-data-{datetime.now(UTC):%Y-%m-%d}.json"
        return Response(
            body,
            media_type="application/json",
            headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
        )

    @router.post("/you/erase")
    async def erase(request: Request, sure: Annotated[str, Form()] = "") -> Response:
        participant = identity.participant_from_headers(request.headers)
        if not participant:
            return await own_data(request)
        if sure != "yes":
            return await own_data(request, "Nothing was erased. Tick the box below first, then press the button.")
        # First, because nothing should be written that is erased a moment later; the store refuses what still comes.
        await chats.stop(participant)
        removed = {name: number for name, number in (await store.erase_participant(participant)).items() if number}
        await chats.dismiss(participant)
        response = page("erased.html", here="/you", scripted=True, removed=removed, total=sum(removed.values()))
        for name in (VISITOR_COOKIE, COUNTRY_COOKIE, SESSION_COOKIE):
            response.delete_cookie(name)
        for name in request.cookies:
            if name == CHAT_COOKIE or name.startswith(f"{CHAT_COOKIE}_"):
                response.delete_cookie(name)
        return response

    return router


def counted(stored: dict[str, Any]) -> list[tuple[str, int]]:
    """How many rows of each kind an export holds, without the kinds that have none."""
    conversations = stored["conversations"]
    messages = [message for conversation in conversations for message in conversation["messages"]]
    replies = [message["reply"] for message in messages if message["reply"]]
    drafts = [draft for reply in replies for draft in reply["drafts"]]
    ballots = [ballot for study in stored["studies"] for ballot in study["ballots"]]
    numbers = [
        ("Your random id, with the day it was made", 1 if stored["participant"] else 0),
        ("Answers to the questions on the first page", len(stored["consents"])),
        ("Conversations", len(conversations)),
        ("Your messages", len(messages)),
        ("Replies", len(replies)),
        ("Drafts of replies", len(drafts)),
        ("Scores", sum(1 for draft in drafts if draft["score"])),
        ("Cases flagged on the scorer's page", len(stored["flags"])),
        ("Ballots that you were given", len(ballots)),
        ("Your votes", sum(1 for ballot in ballots if ballot["vote"])),
        ("Rows of the chat's history list", sum(len(rows) for rows in stored["page_history"].values())),
    ]
    return [(name, number) for name, number in numbers if number]
