"""Quiet notes in a talk: that it is an AI, before a reply where a place's rules ask for it, and one towards people.

The first kind is drawn from the times of the stored messages, so that it stands in the same places however often a page
is opened, and counts from the last one. The second is shown once, on the page on which its message was sent, and is in
no history. In a blind study there is no note towards people: beside answers that are compared it would tell how to read
them. That it is an AI is said there too: of all answers alike, before any of them.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from heard.chat_app.common.places import DISCLOSURE, InForce, in_force
from heard.chat_app.conversation.events import BallotReady, CrisisShown, Finished
from heard.chat_app.conversation.reliance import Reliance
from heard.chat_app.conversation.running_turns import RunningTurn, TurnView
from heard.chat_app.conversation.services import Services
from heard.chat_app.page.reopen import Step, avatar, derived_id, reply_step, timestamp
from heard.chat_app.page.runtime import Runtime
from heard.chat_app.page.tiny_note import note_under, with_tiny_note
from heard.chat_app.page.wording import NOTE_AVATAR, SYSTEM_AUTHOR
from heard.db.errors import StoreError
from heard.db.records import Outcome, ReplyRecord

_UNANSWERED = (Outcome.CRISIS, Outcome.REFUSED)
"""Nothing of an AI answers these: the hand-off stands alone."""


class Written(Protocol):
    """A message, as far as the time of it goes."""

    @property
    def id(self) -> str:
        """Its UUID."""
        ...

    @property
    def created_at(self) -> datetime:
        """When it was written."""
        ...

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        ...


def disclosed_at(messages: Iterable[Written], rules: InForce) -> dict[str, datetime]:
    """Return the ids of the messages after which it is said that this is an AI, with their times."""
    told: dict[str, datetime] = {}
    last: datetime | None = None
    for message in messages if rules.in_talk else ():
        if message.outcome in _UNANSWERED:
            continue
        if last is None or (rules.every is not None and message.created_at - last >= rules.every):
            last = told[message.id] = message.created_at
    return told


def with_notes(
    steps: list[Step],
    thread_id: str,
    messages: Iterable[Written],
    replies: Mapping[str, ReplyRecord],
    page: Runtime,
) -> list[Step]:
    """Return the entries of a reopened page with the notes in their places; `replies` are by message id."""
    services = page.services
    told = disclosed_at(messages, in_force(services.settings))
    notes = {id_: _disclosure(id_, thread_id, at) for id_, at in told.items()}
    steps = [entry for step in steps for entry in ((step, notes[step["id"]]) if step["id"] in notes else (step,))]
    return steps if page.live_study else with_tiny_note(steps, thread_id, replies, services.models.specs)


async def disclosure_before(turn: RunningTurn, services: Services, rules: InForce) -> Step | None:
    """Return the note that stands before the reply of a turn whose message is stored, or None."""
    if not rules.in_talk:
        return None
    request = turn.request
    try:
        told = disclosed_at(await services.store.message_times(request.conversation_id), rules)
    except StoreError:
        return None  # it comes when the page is opened again
    at = told.get(request.message_id)
    return None if at is None else _disclosure(request.message_id, request.conversation_id, at)


class TalkNotes:
    """The notes of one turn on one page. No reply waits for a note towards people, and none is changed by it."""

    def __init__(self, turn: RunningTurn, page: Runtime, emitter: Callable[[], Any], *, nudges: bool) -> None:
        """`emitter` returns what sends events to the browser. With `nudges` this page may show one."""
        self._turn, self._page, self._emitter = turn, page, emitter
        self._begun = False
        self._asked: asyncio.Task[str | None] | None = None
        reliance = page.services.reliance
        if nudges and page.live_study is None and reliance is not None and turn.view.end is None:
            self._reliance: Reliance | None = reliance
            self._asked = asyncio.create_task(reliance.asked_for(turn.request.participant_id, turn.request.text))
        else:
            self._reliance = None

    async def before(self, view: TurnView) -> None:
        """Send what stands before the reply, when it begins. A hand-off or a refusal has nothing before it."""
        if self._begun or not (view.started or isinstance(view.end, Finished | BallotReady)):
            return
        self._begun = True
        services = self._page.services
        note = await disclosure_before(self._turn, services, in_force(services.settings))
        await self._send(note)
        if self._asked is not None and self._asked.done() and view.scored and not isinstance(view.end, CrisisShown):
            await self._send(self._nudge(self._asked.result()))
            self._asked = None

    async def after(self) -> bool:
        """Send what stands under a reply; a note towards people only under a model's whole one, not a fixed text.

        Returns whether there was such a note.
        """
        end = self._turn.view.end
        if self._page.live_study is None:
            await self._send(await note_under(self._turn, self._page.services))
        if self._reliance is None or not (isinstance(end, Finished) and end.votable):
            return False
        text = await self._asked if self._asked is not None else None
        nudge = self._nudge(text or await self._reliance.due(self._turn.request.participant_id))
        await self._send(nudge)
        return nudge is not None

    def _nudge(self, text: str | None) -> Step | None:
        return None if text is None else nudge_note(text, self._turn, datetime.now(UTC))

    async def _send(self, note: Step | None) -> None:
        if note is not None:
            await self._emitter().send_step(note)


def nudge_note(text: str, turn: RunningTurn, at: datetime) -> Step:
    """Return a note towards people for the page of a turn."""
    return _note(derived_id(turn.request.message_id, "nudge"), turn.request.conversation_id, text, at)


def _disclosure(message_id: str, thread_id: str, at: datetime) -> Step:
    # Right after its message also where entries are sorted by time.
    return _note(derived_id(message_id, "disclosure"), thread_id, DISCLOSURE, at + timedelta(microseconds=1))


def _note(id_: str, thread_id: str, text: str, at: datetime) -> Step:
    step = reply_step(id_, thread_id, author=SYSTEM_AUTHOR, text=text, created_at=timestamp(at))
    return step | avatar(NOTE_AVATAR)
