"""Background work."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)
_tasks: set[asyncio.Task[None]] = set()


def in_background(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` in a background task. An exception of it is logged by type and not raised."""

    async def run() -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - a task's boundary: nobody awaits it
            log.error("background work failed: %s", type(error).__name__)

    task = asyncio.get_running_loop().create_task(run())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
