"""Run tasks as a group."""

import asyncio
from collections.abc import Sequence


async def gather_or_cancel(workers: Sequence["asyncio.Future[None]"]) -> None:
    """Wait for all tasks. If one fails or this is cancelled, the others are cancelled, and have ended when it raises.

    Unlike `asyncio.TaskGroup` it raises the first exception itself and not a group.
    """
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
