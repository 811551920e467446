"""Running turns, owned by the server and not by a browser tab.

A turn runs to its end whether or not anybody looks: a closed tab's reply still reaches the database, and a reloaded tab
finds the turn here and sees the rest. Each turn keeps one `View`, the sum of its events; any number of tabs follow it,
each at its own pace, and a tab that missed events simply draws the newest view.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from heard.chat_app.conversation.events import (
    AnswersBegun,
    BallotReady,
    BallotsFolded,
    CrisisShown,
    DraftStarted,
    Failed,
    FellBack,
    Finished,
    NotSaved,
    Refused,
    Scored,
    Token,
    TurnEvent,
    TurnRequest,
    Whole,
)
from heard.chat_app.models.records import Waiting
from heard.scorer.records import EmpathyScore

FLUSH_SECONDS = 0.1
"""Pause between two drawings of growing text. Unpaced, 2,000 tokens kept a browser busy for 32 s."""
RATING_SECONDS = 0.2
"""Longest that the last words wait for the score, to be drawn together with it: drawn on their own they would come a
blink sooner, and the score later, for the want of a free core or because the page is still busy with them."""
HEARTBEAT_SECONDS = 1.0
"""A follower wakes at least this often, to notice that its browser has reconnected."""

Events = AsyncGenerator[TurnEvent, None]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stopped:
    """The person pressed Stop; what had arrived is kept and stored as a stopped draft."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """A fault of our own. `reference` stands in the log beside the exception's type, and nothing else does."""

    reference: str


End = CrisisShown | Refused | Failed | Finished | NotSaved | BallotReady | Stopped | Crashed


@dataclass(slots=True)
class View:
    """What a page should show of one turn right now."""

    version: int = 0
    """Grows with every event."""
    stage: int = 0
    """Grows with every event that must be drawn at once: all but the second and later tokens of a draft, and its
    end."""
    ahead: int = 0
    """Calls that the model serves first; 0 once a draft has its first token."""
    number: int = 0
    """The current draft; 0 before the first."""
    other_model: bool = False
    """Whether another model than the chosen one writes, because that one failed."""
    guidance: str | None = None
    """Component that the current draft aims at; None for the first."""
    text: str = ""
    """The current draft's text so far."""
    rating: bool = False
    """Whether that text is whole and waits for its score."""
    scores: dict[int, EmpathyScore] = field(default_factory=dict)
    """By draft number, as they come."""
    texts: dict[int, str] = field(default_factory=dict)
    """The drafts that have been scored, by number."""
    writing: int = 0
    """How many answers of a ballot are being written; 0 for a reply. Says nothing of how many have ended."""
    folded: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Earlier ballots that this message has passed over: their props by the entry they stand under."""
    end: End | None = None

    @property
    def begun(self) -> bool:
        """Whether there is something to show in the reply's place."""
        return bool(self.number or self.ahead or self.writing)

    def take(self, event: TurnEvent) -> None:
        """Add one event."""
        self.version += 1
        match event:
            case Token(text):
                if not self.text:
                    self.stage += 1
                self.text += text
                self.ahead = 0
                return
            case Whole():
                self.rating = True
                return
            case Waiting(ahead):
                self.ahead = ahead
            case DraftStarted(number, guidance):
                self.number, self.guidance, self.text, self.ahead = number, guidance, "", 0
            case FellBack():
                self.other_model, self.ahead = True, 0
            case Scored(number, score):
                self.scores[number], self.texts[number], self.rating = score, self.text, False
            case AnswersBegun(number):
                self.writing = number
            case BallotsFolded(props):
                self.folded.update(props)
            case _:
                self.finish(event)
        self.stage += 1

    def finish(self, end: End) -> None:
        """Mark the turn as over."""
        self.version += 1
        self.stage += 1
        self.end, self.rating = end, False

    @property
    def pause(self) -> float:
        """Seconds between two drawings of its growing text."""
        return RATING_SECONDS if self.rating else FLUSH_SECONDS


class LiveTurn:
    """One running turn and those who follow it."""

    def __init__(self, request: TurnRequest) -> None:
        self.request = request
        self.view = View()
        self._wakers: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self, events: Callable[[TurnRequest], Events], done: Callable[[], None]) -> None:
        """Begin; `done` is called once, when the last event has been taken and stored."""
        self._task = asyncio.get_running_loop().create_task(self._run(events))
        self._task.add_done_callback(lambda _: done())

    async def stop(self) -> None:
        """Stop writing, and return when what had arrived is stored. Harmless on a turn that is over."""
        # Once only: a second cancellation would cut the wait for the write that the first one has begun.
        if self._task is not None and not self._task.done() and not self._task.cancelling():
            self._task.cancel()
        await self.wait()

    async def wait(self) -> None:
        """Return when the turn is over; never raises what ended it."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def views(self) -> AsyncIterator[View]:
        """The newest view, again and again: the first token, scores and the end at once, growing text in steps of
        FLUSH_SECONDS (its last step, of RATING_SECONDS, gives the score time to come with it), and an unchanged view
        every HEARTBEAT_SECONDS. Ends after the view whose `end` is set.
        """
        wake = asyncio.Event()
        self._wakers.add(wake)
        try:
            while True:
                wake.clear()
                version, stage = self.view.version, self.view.stage
                yield self.view
                if self.view.end is not None:
                    if self.view.version != version:
                        yield self.view
                    return
                await self._pause(wake, version, stage)
        finally:
            self._wakers.discard(wake)

    async def _pause(self, wake: asyncio.Event, version: int, stage: int) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        while self.view.stage == stage:
            limit = self.view.pause if self.view.version != version else HEARTBEAT_SECONDS
            remaining = started + limit - loop.time()
            if remaining <= 0:
                return
            try:
                await asyncio.wait_for(wake.wait(), remaining)
            except TimeoutError:
                continue
            wake.clear()

    async def _run(self, events: Callable[[TurnRequest], Events]) -> None:
        try:
            async with aclosing(events(self.request)) as stream:
                async for event in stream:
                    self.view.take(event)
                    self._wake()
        except asyncio.CancelledError:
            # Stop, or the server going down. The generator has stored what had arrived before it let this through.
            if self.view.end is None:
                self.view.finish(Stopped())
        except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours must end on the page, without its text
            reference = secrets.token_hex(4)
            log.error("turn failed, reference %s: %s", reference, type(error).__name__)
            self.view.finish(Crashed(reference))
        else:
            if self.view.end is None:
                self.view.finish(Stopped())
        finally:
            self._wake()

    def _wake(self) -> None:
        for wake in self._wakers:
            wake.set()


class Hub:
    """All running turns, at most one per conversation."""

    def __init__(self) -> None:
        self._turns: dict[str, LiveTurn] = {}
        self._open: set[LiveTurn] = set()

    def running(self, conversation_id: str) -> LiveTurn | None:
        """The turn that is being written in a conversation, if any."""
        turn = self._turns.get(conversation_id)
        return turn if turn is not None and turn.view.end is None else None

    @property
    def writing(self) -> bool:
        """Whether any reply is being written or scored."""
        return any(turn.view.end is None for turn in self._open)

    def begin(self, request: TurnRequest, events: Callable[[TurnRequest], Events]) -> LiveTurn | None:
        """Start a turn, or return None when the conversation already has one (the lock of a second tab).

        A turn whose end is on the page no longer counts, even if it still writes: a hand-off is shown before it is
        written down, and the person may go on at once.
        """
        key = request.conversation_id
        if self.running(key) is not None:
            return None
        turn = self._turns[key] = LiveTurn(request)
        self._open.add(turn)
        turn.start(events, lambda: self._forget(key, turn))
        return turn

    def beside(self, request: TurnRequest, events: Callable[[TurnRequest], Events]) -> LiveTurn:
        """Start what ends without a reply. It takes nobody's place, and an erasure waits for it like for any turn."""
        turn = LiveTurn(request)
        self._open.add(turn)
        turn.start(events, lambda: self._open.discard(turn))
        return turn

    async def written(self, conversation_id: str) -> None:
        """Return when the turns whose end is on the page are written down, so that a page opened now reads them too."""
        ended = [turn for turn in self._open if turn.view.end is not None]
        await asyncio.gather(*(turn.wait() for turn in ended if turn.request.conversation_id == conversation_id))

    async def stop(self, conversation_id: str, participant_id: str) -> None:
        """Stop a person's own turn; anybody else's, or none, is left alone."""
        turn = self.running(conversation_id)
        if turn is not None and turn.request.participant_id == participant_id:
            await turn.stop()

    async def stop_participant(self, participant_id: str) -> None:
        """Stop all turns of one person, so that an erasure is not followed by one more row."""
        await _stop_all([turn for turn in self._open if turn.request.participant_id == participant_id])

    async def aclose(self) -> None:
        """Stop every turn and wait until each has stored what had arrived."""
        await _stop_all(list(self._open))

    def _forget(self, key: str, turn: LiveTurn) -> None:
        self._open.discard(turn)
        if self._turns.get(key) is turn:
            del self._turns[key]


async def _stop_all(turns: list[LiveTurn]) -> None:
    # A turn whose end is already shown is only writing it down: it is waited for and not cut.
    await asyncio.gather(*(turn.stop() if turn.view.end is None else turn.wait() for turn in turns))
