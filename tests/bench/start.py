"""From typing the command to a page where one can write, in a real Chromium, at the second and later starts."""

import tempfile
import time
from pathlib import Path

from tests.bench.served import served
from tests.bench.table import Row, at_most
from tests.browser import chromium, enter

STARTS = 4


async def start() -> list[Row]:
    """A returning visitor opens the chat the moment the server answers; only the browser is open beforehand."""
    seconds: list[float] = []
    memory: list[float] = []
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as scratch:
        async with chromium() as browser:
            with served(Path(scratch)) as server:
                await enter(browser, server.url)
            for _ in range(STARTS):
                with served(Path(scratch)) as server:
                    page = await browser.new_page()
                    await page.goto(server.url)
                    await page.wait_for_selector("#chat-input")
                    seconds.append(time.perf_counter() - server.started_at)
                    memory.append(server.memory_mb())
                    await page.close()
    return [
        at_most("second start to a page where one can write", seconds, "s", 8),
        at_most("memory of the server just after its start", memory, "MB", 900),
    ]
