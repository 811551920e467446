"""What the server does once a day: delete what is older than the site keeps, and count hand-offs where a rule asks."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, time, timedelta

from heard.chat_app.common.places import in_force
from heard.chat_app.conversation.retention_run import apply_retention
from heard.chat_app.conversation.services import Services
from heard.db.errors import StoreError

FIRST_SECONDS = 60.0
"""After the start, when the model has loaded and the first page is there."""
DAY_SECONDS = 24 * 3600.0
AGAIN_SECONDS = 3600.0
"""After a fault of the database."""

log = logging.getLogger(__name__)
log.setLevel(logging.INFO)  # the counts are the record that a rule asks for


def utc_now() -> datetime:
    """Return the time; tests hand in another clock."""
    return datetime.now(UTC)


class Daily:
    """The daily run of one server. SQLite's files are not cleared here, which would hold up turns: that is done at the
    next start, by an erasure, or by `heard retention`."""

    def __init__(
        self,
        services: Services,
        *,
        now: Callable[[], datetime] = utc_now,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._services, self._now, self._pause = services, now, pause

    async def once(self) -> None:
        """Do a day's work. Raises StoreError."""
        settings, store, now = self._services.settings, self._services.store, self._now()
        if "hand_offs" in in_force(settings).counts:  # before their messages are deleted
            midnight = datetime.combine(now.date(), time(), UTC)
            day = midnight - timedelta(days=1)
            number = await store.count_hand_offs(day, midnight)
            log.info("hand-offs shown on %s: %d", day.date(), number)
        if settings.retention_days:
            await apply_retention(store, settings.retention_days, now, pause=self._pause)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run while the server does."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        wait = FIRST_SECONDS
        while True:
            await self._pause(wait)
            try:
                await self.once()
                wait = DAY_SECONDS
            except StoreError as error:
                log.error("the daily run was broken off and comes again in an hour: %s", type(error).__name__)
                wait = AGAIN_SECONDS
