"""`/you`: what is stored of a person, to see, download and erase."""

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from heard.chat_app.common.identity import CHAT_COOKIE, COUNTRY_COOKIE, SESSION_COOKIE, VISITOR_COOKIE
from heard.chat_app.web.dependencies import ParticipantDep, Site, SiteDep
from heard.chat_app.web.pages.rendering import error_page, page

NOT_TICKED = "Nothing was erased. Tick the box below first, then press the button."

router = APIRouter()


@router.get("/you")
async def your_data(site: SiteDep, participant: ParticipantDep) -> Response:
    """How much of what is stored."""
    return await _your_data(site, participant)


@router.get("/you/export")
async def export(site: SiteDep, participant: ParticipantDep) -> Response:
    """Everything that is stored, as a JSON file."""
    store = site.services.store
    if not participant or not await store.participant(participant):
        return error_page(404, "Nothing to download", "Nothing is stored for this browser.")
    stored = await store.export_participant(participant)
    body = await run_in_threadpool(json.dumps, stored, ensure_ascii=True, indent=2)
    name = f"heard-my-data-{datetime.now(UTC):%Y-%m-%d}.json"
    return Response(
        body,
        media_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


@router.post("/you/erase")
async def erase(
    request: Request, site: SiteDep, participant: ParticipantDep, sure: Annotated[str, Form()] = ""
) -> Response:
    """Erase everything, if the box is ticked, and forget the browser."""
    if not participant or sure != "yes":
        return await _your_data(site, participant, NOT_TICKED if participant else None)
    # First, because nothing should be written that is erased a moment later; the store refuses what still comes.
    await site.chats.stop(participant)
    erased = await site.services.store.erase_participant(participant)
    await site.chats.dismiss(participant)
    removed = {name: number for name, number in erased.items() if number}
    response = page("erased.html", here="/you", scripted=True, removed=removed, total=sum(removed.values()))
    _forget_browser(request, site, response)
    return response


@router.post("/you/leave")
async def leave(request: Request, site: SiteDep, participant: ParticipantDep) -> Response:
    """Forget this browser, and erase nothing: for a device that others use too."""
    response = page("left.html", here="/you", scripted=True)
    _forget_browser(request, site, response)
    if participant:
        await site.chats.dismiss(participant)  # open pages load anew; those of other devices are known again at once
    return response


def _forget_browser(request: Request, site: Site, response: Response) -> None:
    names = [*map(site.identity.cookie_name, (VISITOR_COOKIE, COUNTRY_COOKIE, CHAT_COOKIE)), SESSION_COOKIE]
    if site.identity.participant(request.cookies.get(VISITOR_COOKIE)):
        names += [VISITOR_COOKIE, COUNTRY_COOKIE]  # ours, of before names had a digest, and not another server's
    for name in names:
        response.delete_cookie(name)
    chat = site.identity.cookie_name(CHAT_COOKIE)
    for name in request.cookies:
        if name.startswith(f"{chat}_"):
            response.delete_cookie(name)


async def _your_data(site: Site, participant: str | None, problem: str | None = None) -> Response:
    known = await site.services.store.participant(participant) if participant else None
    if not participant or not known:
        return page("you.html", here="/you", counts=[])
    counts = counts_by_kind(await site.services.store.export_participant(participant))
    status, settings = 422 if problem else 200, site.services.settings
    days = settings.retention_days
    goes = await site.services.store.kept_conversations(participant) if days else []
    return page(
        "you.html",
        status,
        here="/you",
        counts=counts,
        consent=known.consent,
        problem=problem,
        settings=settings,
        kept=goes,
        after=timedelta(days=days),
    )


def counts_by_kind(stored: dict[str, Any]) -> list[tuple[str, int]]:
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
        ("Thumbs on replies", len(stored["thumbs"])),
        ("Talks after which you were asked whether you felt heard", len(stored["felt_heard"])),
        ("Ballots that you were given", len(ballots)),
        ("Your votes", sum(1 for ballot in ballots if ballot["vote"])),
        ("Rows of the chat's history list", sum(len(rows) for rows in stored["page_history"].values())),
    ]
    return [(name, number) for name, number in numbers if number]
