"""Background tasks that write the summaries, one for each conversation."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from heard.chat_app.models.records import ModelFailure
from heard.db.errors import StoreError

log = logging.getLogger(__name__)


class SummaryTasks:
    """The summaries that are being written, at most one for each conversation. For one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, conversation_id: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start `work` in the background, unless a summary of the conversation is being written already."""
        if conversation_id in self._tasks:
            return
        task = self._tasks[conversation_id] = asyncio.get_running_loop().create_task(_log_faults(work))
        task.add_done_callback(lambda _: self._tasks.pop(conversation_id, None))

    def cancel(self, conversations: set[str]) -> None:
        """Cancel the summaries of these conversations, which have been erased."""
        for conversation_id in conversations & self._tasks.keys():
            self._tasks[conversation_id].cancel()

    async def wait(self) -> None:
        """Return when no summary is being written."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def aclose(self) -> None:
        """Cancel all summaries, and return when they have ended. They are made after a later reply instead."""
        self.cancel(set(self._tasks))
        await self.wait()


async def _log_faults(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        await work()
    except (ModelFailure, StoreError) as error:
        log.warning("a conversation could not be summed up: %s", type(error).__name__)
    except Exception as error:  # noqa: BLE001 - a task's boundary: nobody awaits it
        log.error("a conversation could not be summed up, by a fault of ours: %s", type(error).__name__)
