"""Running turns, owned by the server and not by a browser tab.

A turn runs to its end whether or not a tab is open: a closed tab's reply still reaches the database, and a reloaded tab
finds the turn here and shows the rest. Each turn keeps one `TurnView`, the state after all events so far. Any number of
tabs follow it, each at its own pace; a tab that missed events draws the newest view.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from heard.chat_app.conversation.events import (
    AnswersStarted,
    BallotReady,
    BallotsSkipped,
    CrisisShown,
    DraftComplete,
    DraftStarted,
    Failed,
    FellBack,
    Finished,
    ModelThinks,
    NotSaved,
    Refused,
    Scored,
    StoppedUnsaved,
    Token,
    TurnEvent,
    TurnRequest,
)
from heard.chat_app.models.records import Waiting
from heard.prompts.records import Watched
from heard.scorer.records import EmpathyScore

FLUSH_SECONDS = 0.1
"""Pause between two drawings of growing text. Unpaced, 2,000 tokens kept a browser busy for 32 s."""
RATING_SECONDS = 0.2
"""Longest time that the last words wait for the score, to be drawn together with it. Drawn on their own they would come
slightly sooner, and the score later, because the core or the page is busy with them."""
HEARTBEAT_SECONDS = 1.0
"""A follower wakes at least this often, to notice that its browser has reconnected."""

Events = AsyncGenerator[TurnEvent, None]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stopped:
    """The person pressed Stop; what had arrived is stored as a stopped draft, unless there is a `fault`, a sentence."""

    fault: str = ""


@dataclass(frozen=True, slots=True)
class Crashed:
    """An internal error. The log holds `reference` and the exception's type, and nothing else."""

    reference: str


TurnEnd = CrisisShown | Refused | Failed | Finished | NotSaved | BallotReady | Stopped | Crashed


@dataclass(slots=True)
class TurnView:
    """The present state of one turn, as a page should show it."""

    version: int = 0
    """Grows with every event."""
    stage: int = 0
    """Grows with every event that must be drawn at once: all but DraftComplete and the second and later tokens of a
    draft."""
    ahead: int = 0
    """Calls that the model serves before this one; 0 once a draft has its first token."""
    number: int = 0
    """Number of the current draft; 0 before the first."""
    by_fallback: bool = False
    """Whether a fallback writes, because the chosen model failed."""
    guidance: str | None = None
    """Component that the current draft aims at; None for the first."""
    text: str = ""
    """The current draft's text so far."""
    thinking: bool = False
    """Whether the model thinks, and has not begun the current draft's text."""
    scored: bool = True
    """Whether a score follows the current draft."""
    rating: bool = False
    """Whether that text is complete and waits for its score."""
    scores: dict[int, EmpathyScore] = field(default_factory=dict)
    """By draft number."""
    watches: Watched = "empathy"
    """The number of a score by which the best draft is kept."""
    texts: dict[int, str] = field(default_factory=dict)
    """Texts of the scored drafts, by number."""
    writing: int = 0
    """Number of answers on the ballot that is being written, ended ones included; 0 for a reply."""
    skipped_ballots: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Earlier ballots that count as skipped since this message: their props by the id of the page's entry."""
    end: TurnEnd | None = None

    @property
    def started(self) -> bool:
        """Whether there is anything to show in the reply's place."""
        return bool(self.number or self.ahead or self.writing)

    def apply(self, event: TurnEvent) -> None:
        """Update the view with one event."""
        self.version += 1
        match event:
            case Token(text):
                if not self.text:
                    self.stage += 1
                self.text += text
                self.ahead, self.thinking = 0, False
                return
            case ModelThinks(withdrawn):
                self.thinking, self.ahead = withdrawn or not self.text, 0
                if withdrawn:
                    self.text = ""
            case DraftComplete():
                self.rating = self.scored
                return
            case Waiting(ahead):
                self.ahead = ahead
            case DraftStarted(number, guidance, scored):
                self.number, self.guidance, self.text, self.ahead, self.scored = number, guidance, "", 0, scored
                self.thinking = False
            case FellBack():
                self.by_fallback, self.ahead, self.thinking = True, 0, False
            case Scored(number, score, watches):
                self.scores[number], self.texts[number], self.rating = score, self.text, False
                self.watches = watches
            case AnswersStarted(number):
                self.writing = number
            case BallotsSkipped(props):
                self.skipped_ballots.update(props)
            case _:
                self.finish(event)
        self.stage += 1

    def finish(self, end: TurnEnd) -> None:
        """Mark the turn as over."""
        self.version += 1
        self.stage += 1
        self.end, self.rating = end, False

    @property
    def pause(self) -> float:
        """Seconds between two drawings of growing text."""
        return RATING_SECONDS if self.rating else FLUSH_SECONDS


class RunningTurn:
    """One running turn, and the pages that follow it."""

    def __init__(self, request: TurnRequest) -> None:
        self.request = request
        self.view = TurnView()
        self._wakers: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self, events: Callable[[TurnRequest], Events], done: Callable[[], None]) -> None:
        """Run the turn in a task of its own. `done` is called once, after the last event."""
        self._task = asyncio.get_running_loop().create_task(self._run(events))
        self._task.add_done_callback(lambda _: done())

    async def stop(self) -> None:
        """Cancel the turn, and return when what had arrived is stored. Does nothing to a turn that is over."""
        # Once only: a second cancellation would cut the wait for the write that the first one has begun.
        if self._task is not None and not self._task.done() and not self._task.cancelling():
            self._task.cancel()
        await self.wait()

    async def wait(self) -> None:
        """Return when the turn is over. Never raises."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def views(self) -> AsyncIterator[TurnView]:
        """Yield the newest view whenever it should be drawn; the last one has its `end` set.

        The first token, scores and the end come at once, growing text every FLUSH_SECONDS (the last of it within
        RATING_SECONDS, so that the score may come with it), and an unchanged view every HEARTBEAT_SECONDS.
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
                    self.view.apply(event)
                    self._wake()
        except asyncio.CancelledError as stop:
            # Stop, or the server going down. The generator has stored what had arrived before it let this through.
            if self.view.end is None:
                self.view.finish(Stopped(stop.sentence if isinstance(stop, StoppedUnsaved) else ""))
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


class RunningTurns:
    """All running turns of the server, at most one per conversation."""

    def __init__(self) -> None:
        self._turns: dict[str, RunningTurn] = {}
        self._open: set[RunningTurn] = set()

    def running(self, conversation_id: str) -> RunningTurn | None:
        """Return the turn that is running in a conversation, or None."""
        turn = self._turns.get(conversation_id)
        return turn if turn is not None and turn.view.end is None else None

    @property
    def writing(self) -> bool:
        """Whether any reply is being generated or scored."""
        return any(turn.view.end is None for turn in self._open)

    def begin(self, request: TurnRequest, events: Callable[[TurnRequest], Events]) -> RunningTurn | None:
        """Start a turn and return it; None if the conversation already has one, begun in another tab.

        A turn whose end is on the page no longer counts, even while it is being stored: a hand-off is shown before it
        is stored, and the person may go on at once.
        """
        key = request.conversation_id
        if self.running(key) is not None:
            return None
        turn = self._turns[key] = RunningTurn(request)
        self._open.add(turn)
        turn.start(events, lambda: self._forget(key, turn))
        return turn

    def begin_unanswered(self, request: TurnRequest, events: Callable[[TurnRequest], Events]) -> RunningTurn:
        """Start a turn that ends without a reply. It does not occupy its conversation; an erasure waits for it too."""
        turn = RunningTurn(request)
        self._open.add(turn)
        turn.start(events, lambda: self._open.discard(turn))
        return turn

    async def wait_until_stored(self, conversation_id: str) -> None:
        """Return when the conversation's turns whose end is on the page are stored, for a page that is reopened now."""
        ended = [turn for turn in self._open if turn.view.end is not None]
        await asyncio.gather(*(turn.wait() for turn in ended if turn.request.conversation_id == conversation_id))

    async def stop(self, conversation_id: str, participant_id: str) -> None:
        """Stop the conversation's turn if it belongs to this participant; else do nothing."""
        turn = self.running(conversation_id)
        if turn is not None and turn.request.participant_id == participant_id:
            await turn.stop()

    async def stop_participant(self, participant_id: str) -> None:
        """Stop all turns of one participant, so that nothing is stored after an erasure."""
        await _stop_all([turn for turn in self._open if turn.request.participant_id == participant_id])

    async def aclose(self) -> None:
        """Stop every turn, and return when each has stored what had arrived."""
        await _stop_all(list(self._open))

    def _forget(self, key: str, turn: RunningTurn) -> None:
        self._open.discard(turn)
        if self._turns.get(key) is turn:
            del self._turns[key]


async def _stop_all(turns: list[RunningTurn]) -> None:
    # A turn whose end is already shown is only being stored: it is waited for and not cancelled.
    await asyncio.gather(*(turn.stop() if turn.view.end is None else turn.wait() for turn in turns))
