"""Tasks that stand and fall together."""

import asyncio
from collections.abc import Sequence


async def together(workers: Sequence["asyncio.Future[None]"]) -> None:
    """Wait for all of them. If one fails or this is cancelled, the others are cancelled and have ended when it raises.

    Unlike `asyncio.TaskGroup` it raises the first fault itself, so that a command can tell it in its own sentence.
    """
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
