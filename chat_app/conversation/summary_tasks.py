"""Summaries that are being written beside the chat: one task for each conversation, which nobody waits for."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from heard.chat_app.models.records import ModelFailure
from heard.db.errors import StoreError

log = logging.getLogger(__name__)


class Summaries:
    """The summaries that are being written, at most one for each conversation. Belongs to one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, conversation_id: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `work` without waiting for it, unless a summary of the conversation is being written already."""
        if conversation_id in self._tasks:
            return
        task = self._tasks[conversation_id] = asyncio.get_running_loop().create_task(_quietly(work))
        task.add_done_callback(lambda _: self._tasks.pop(conversation_id, None))

    def cancel(self, conversations: set[str]) -> None:
        """End the summaries of these conversations: they have been erased."""
        for conversation_id in conversations & self._tasks.keys():
            self._tasks[conversation_id].cancel()

    async def wait(self) -> None:
        """Return when none is being written."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def aclose(self) -> None:
        """End all of them, and return when they have ended. What is unwritten is made after a later reply."""
        self.cancel(set(self._tasks))
        await self.wait()


async def _quietly(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        await work()
    except (ModelFailure, StoreError) as error:
        log.warning("a conversation could not be summed up: %s", type(error).__name__)
    except Exception as error:  # noqa: BLE001 - a task's boundary: nobody awaits it
        log.error("a conversation could not be summed up, by a fault of ours: %s", type(error).__name__)
