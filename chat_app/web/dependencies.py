"""What FastAPI gives to the routes: the parts of this server, and what a request says of its visitor.

All are coroutines, because FastAPI takes a plain function for one that blocks and calls it in another thread.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from fastapi import Depends, Request

from heard.chat_app.common.identity import Identity, country_from_headers
from heard.chat_app.common.token_buckets import TokenBuckets
from heard.chat_app.conversation.services import Services
from heard.chat_app.safety.crisis_numbers import countries
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.survey import NOT_OPEN, PageRefused, Surveys
from heard.chat_app.web.health import Health
from heard.chat_app.web.researcher import Researcher
from heard.chat_app.web.score_queue import ScoreQueue
from heard.chat_app.web.sender_lines import SenderLines
from heard.chat_app.web.senders import address_of, from_this_machine, is_loopback, sender_of
from heard.db.desk_store import DeskStore
from heard.db.study_records import FlowReason
from heard.sentences import sentence

MANY_FROM_HERE = sentence(
    "Many people have taken part in this study from your network today, so nobody new can just now. If you take part "
    "already, use the browser in which you began; else please come again tomorrow."
)


class OpenChats(Protocol):
    """The chats that a participant has open right now, in any number of tabs."""

    async def stop(self, participant_id: str) -> None:
        """Stop their running replies, and return when what had arrived is stored."""

    async def dismiss(self, participant_id: str) -> None:
        """Send their pages to load anew, which ends at the first page for somebody without consent."""


@dataclass(frozen=True, slots=True)
class Site:
    """The parts of one server; `create_parent` builds them and keeps them in the app's state."""

    services: Services
    identity: Identity
    chats: OpenChats
    may_chat: Callable[[str], Awaitable[bool]]
    """Whether a participant's answer allows the chat."""
    health: Health
    surveys: Surveys
    researcher: Researcher
    score_queue: ScoreQueue
    """Where texts wait for a score that are not of the chat."""
    lines: SenderLines = field(default_factory=SenderLines)
    """Where the scorer's forms of one sender wait for each other."""
    newcomers: TokenBuckets = field(default_factory=lambda: TokenBuckets(0))
    """How many people of one address a study without a list may still take."""
    one_study: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Results of one study at a time: a large one takes a core for seconds, and people are chatting."""

    @property
    def desk(self) -> DeskStore:
        """Where the desk reads and writes."""
        return DeskStore(self.services.studies.engine)


async def site_of(request: Request) -> Site:
    """The server that a request has reached."""
    site: Site = request.app.state.site
    return site


SiteDep = Annotated[Site, Depends(site_of)]


def check_newcomer(request: Request, site: Site, study: StudyFile) -> None:
    """Raise PageRefused (429) where an open study has taken many people of this address: one whose cookies are gone
    counts as new, and could have ballots without end. An address that a proxy hides is not counted."""
    address = address_of(request.scope)
    if study.allow or (is_loopback(address) and not from_this_machine(request.scope)):
        return
    if site.newcomers.seconds_to_wait(f"{study.id} {address}"):
        raise PageRefused(429, NOT_OPEN, MANY_FROM_HERE, FlowReason.ADDRESS_LIMIT)


async def participant_of(request: Request, site: SiteDep) -> str | None:
    """The participant of the signed cookie, which is taken from nowhere else; None without a valid one."""
    return site.identity.participant_from_headers(request.headers)


async def sender(request: Request, site: SiteDep) -> str:
    """Who sends a request, as far as limits go."""
    return sender_of(request.scope, site.identity)


async def country_of(request: Request, site: SiteDep) -> str | None:
    """The country that the person chose for crisis numbers, or None."""
    return country_from_headers(request.headers, dict(countries()), site.identity)


SenderDep = Annotated[str, Depends(sender)]
ParticipantDep = Annotated[str | None, Depends(participant_of)]
CountryDep = Annotated[str | None, Depends(country_of)]
