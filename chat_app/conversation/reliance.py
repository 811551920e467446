"""Over-reliance: a kind note towards people, at most one a day for each person, and never in place of a reply.

It is asked for by words (`reliance_words.py`), by a talk without a break, or by many days in a row. What is kept of it
is the day, in the person's row, which an erasure deletes; which text came last is known to this process alone.
"""

import logging
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial

from heard.chat_app.common.fair_queue import FairQueue, QueueFull
from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.reliance_words import RelianceWords
from heard.chat_app.safety.assessment import assess
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.safety.reading_queue import reading_queue
from heard.db import nudge_days as stored
from heard.db.errors import StoreError
from heard.db.store import Store
from heard.prompts.nudge_files import NudgeKind, Nudges
from heard.scorer.errors import ScorerError

BREAK = timedelta(minutes=30)
"""Without a message, after which a talk counts as begun anew."""
REMEMBERED = 10_000
"""People whose last text is known; the oldest are forgotten first."""

log = logging.getLogger(__name__)


def utc_now() -> datetime:
    """Return the time; tests hand in another clock."""
    return datetime.now(UTC)


class Reliance:
    """Which note is due, and its text."""

    def __init__(
        self,
        nudges: Nudges,
        words: RelianceWords | None,
        store: Store,
        settings: Settings,
        reading: FairQueue | None = None,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Without `words` no message asks for a note by what it says. `reading`: where messages are read; default: a
        queue of its own."""
        self._nudges, self._words, self._store, self._settings, self._now = nudges, words, store, settings, now
        self._reading = reading or reading_queue()
        self._last: dict[str, tuple[NudgeKind, int]] = {}

    async def asked_for(self, participant_id: str, text: str) -> str | None:
        """Return the note that a message asks for by its words, taken for today; else None. Never raises.

        A message in a crisis asks for none.
        """
        if self._words is None:
            return None
        try:
            kind = await self._reading.run(participant_id, partial(self._kind, text))
            return await self._take(participant_id, kind) if kind else None
        except QueueFull:
            return None
        except (StoreError, ScorerError) as error:
            log.error("a message could not be read for over-reliance: %s", type(error).__name__)
            return None

    async def due(self, participant_id: str) -> str | None:
        """Return the note that the timers ask for after a reply, taken for today; else None. Never raises."""
        try:
            kind = await self._timed(participant_id)
            return await self._take(participant_id, kind) if kind else None
        except StoreError as error:
            log.error("the timers of over-reliance could not be read: %s", type(error).__name__)
            return None

    def _kind(self, text: str) -> NudgeKind | None:
        assert self._words is not None
        text = bounded_text(text, self._settings.message_limit)
        kind = self._words.kind(text)
        return None if kind is None or assess(text).crisis else kind

    async def _timed(self, participant_id: str) -> NudgeKind | None:
        minutes, days, now = self._settings.nudge_after_minutes, self._settings.nudge_after_days, self._now()
        if not minutes and not days:
            return None
        last = await self._store.nudged_on(participant_id)
        if last is not None and last >= now.date():
            return None
        if minutes:
            long = timedelta(minutes=minutes)
            times = await self._store.written_since(participant_id, now - long - BREAK)
            if stored.talked_without_break(times, now, BREAK) >= long:
                return NudgeKind.LONG_TALK
        # One for each such row of days, and not one for each day that it grows.
        rested = last is None or (now.date() - last).days >= days
        if days and rested and await self._store.wrote_daily(participant_id, now.date(), days):
            return NudgeKind.MANY_DAYS
        return None

    async def _take(self, participant_id: str, kind: NudgeKind) -> str | None:
        today = self._now().date()
        if not await self._store.take_nudge(participant_id, today):
            return None
        return self._text(participant_id, kind, today)

    def _text(self, participant_id: str, kind: NudgeKind, today: date) -> str:
        texts = self._nudges.kinds[kind].texts
        place = today.toordinal() % len(texts)  # so that two days in a row differ after a restart too
        if self._last.pop(participant_id, None) == (kind, place):
            place = (place + 1) % len(texts)
        self._last[participant_id] = (kind, place)
        if len(self._last) > REMEMBERED:
            del self._last[next(iter(self._last))]
        return " ".join(texts[place].split())
