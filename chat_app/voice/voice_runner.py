"""Say every message of a plan that its file lacks, as a person does in the chat, a few conversations at once.

Each message goes through `run_turn`, so that the crisis check, fixed answers, examples, the guard, endings and scores
are those of the chat, and a talk's earlier turns are what the database holds of them. The database is an empty one of
the run's own.
"""

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from heard.chat_app.common.text import has_visible
from heard.chat_app.common.workers import gather_or_cancel
from heard.chat_app.conversation.events import CrisisShown, Failed, Finished, NotSaved, Refused, Token, TurnRequest
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.voice.messages import Conversation
from heard.chat_app.voice.records import Shown, VoiceReply
from heard.chat_app.voice.reply_files import VoiceJournal
from heard.chat_app.voice.voice_plan import VoicePlan

MOST_FAILURES_IN_A_ROW = 5
"""After so many the other messages are left for the next run."""


@dataclass(slots=True)
class VoiceReport:
    """The result of a run, in messages."""

    already_there: int = 0
    written: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """The sentence of each failure, by the message's name. The rest of its talk is not tried."""
    not_tried: int = 0


class _NoReply(Exception):
    """A turn that ended without a reply; `str()` is its sentence."""


async def run_plan(
    services: Services,
    plan: VoicePlan,
    journal: VoiceJournal,
    progress: Callable[[str, int, int], None],
    *,
    at_once: int,
) -> VoiceReport:
    """Write the missing replies, `at_once` conversations at a time. Failures are in the report, and are tried again by
    the next run.

    A conversation is stored whole when it has ended, so that an interruption loses at most `at_once` of them.
    `progress` is called with the model, the number of replies there are, and that of all. Raises JournalError if a
    reply cannot be stored.
    """
    runner = _Runner(services, plan, journal, progress)
    await gather_or_cancel([asyncio.ensure_future(runner.work()) for _ in range(at_once)])
    return runner.report


class _Runner:
    """One run over the missing conversations."""

    def __init__(
        self, services: Services, plan: VoicePlan, journal: VoiceJournal, progress: Callable[[str, int, int], None]
    ) -> None:
        self._services, self._plan, self._journal, self._progress = services, plan, journal, progress
        self._missing = iter([one for one in plan.conversations if not set(one.names) <= journal.replies.keys()])
        self._failures_in_a_row = 0
        self.report = VoiceReport(already_there=len(journal.replies))
        self._tell()

    async def work(self) -> None:
        """Hold one conversation after the other until none is missing."""
        for one in self._missing:
            if self._failures_in_a_row >= MOST_FAILURES_IN_A_ROW:
                self.report.not_tried += len(one.names)
                continue
            replies = await self._converse(one)
            if len(replies) == len(one.names):
                self._failures_in_a_row = 0
                await self._store(replies)

    async def _store(self, replies: list[VoiceReply]) -> None:
        new = sum(reply.name not in self._journal.replies for reply in replies)
        storing = asyncio.ensure_future(asyncio.to_thread(self._journal.write, replies))
        try:
            await asyncio.shield(storing)
        except asyncio.CancelledError:
            await storing  # Ctrl-C must not lose a complete conversation
            raise
        self.report.written += new
        self._tell()

    async def _converse(self, one: Conversation) -> list[VoiceReply]:
        """Say the messages of a conversation in order, up to the first without a reply."""
        participant, conversation = str(uuid.uuid4()), str(uuid.uuid4())
        await self._services.store.ensure_participant(participant)
        replies: list[VoiceReply] = []
        for name, text in zip(one.names, one.turns, strict=True):
            try:
                replies.append(await self._say(name, self._request(participant, conversation, name, text)))
            except _NoReply as failure:
                self.report.failed[name] = str(failure)
                self.report.not_tried += len(one.names) - len(replies) - 1
                self._failures_in_a_row += 1
                break
        return replies

    def _request(self, participant: str, conversation: str, name: str, text: str) -> TurnRequest:
        settings = self._services.settings
        return TurnRequest(
            participant_id=participant,
            conversation_id=conversation,
            message_id=str(uuid.uuid4()),
            reply_id=str(uuid.uuid4()),
            text=text,
            persona=self._plan.persona,
            strategy=self._plan.strategy,
            model=replace(self._plan.model, seed=self._plan.seeds[name]),
            live_scores=settings.live_scores,
            auto_improve=settings.auto_improve,
            threshold=settings.auto_improve_threshold,
            country=None,
        )

    async def _say(self, name: str, request: TurnRequest) -> VoiceReply:
        """Run one turn to its end. Raises _NoReply."""
        began, first_word = time.perf_counter(), None
        async with aclosing(run_turn(request, self._services)) as events:
            async for event in events:
                seconds = time.perf_counter() - began
                match event:
                    case Token(text) if first_word is None and has_visible(text):
                        first_word = seconds
                    case CrisisShown():
                        return VoiceReply(name, "", Shown.HANDOFF, seconds=seconds)
                    case Finished(reply):
                        return VoiceReply(name, reply.kept.text.strip(), Shown.REPLY, reply.drafts, first_word, seconds)
                    case Refused(sentence) | Failed(sentence) | NotSaved(sentence):
                        raise _NoReply(sentence)
        raise AssertionError("a turn ends with one of these events")

    def _tell(self) -> None:
        self._progress(self._plan.model.id, len(self._journal.replies), len(self._plan.seeds))
