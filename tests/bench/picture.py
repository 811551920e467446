"""The README's pictures, taken of the running product: `python -m tests.bench.picture`."""

import asyncio
import sys
from pathlib import Path

from tests.bench.served import served
from tests.browser import NARROW, WIDE, answered, chromium, enter, say

FOLDER = Path(__file__).parents[2] / "docs"
WORDS = "I have been putting off a decision about my job for months, and it wears me out."
ARMS = "listener/plain/smollm2, coach/plain/smollm2, quiet/plain/smollm2"
SHOTS = (("chat-wide.png", WIDE, "light"), ("chat-narrow.png", NARROW, "dark"))


async def main() -> None:
    """One reply with its card, at each width; then one ballot."""
    FOLDER.mkdir(exist_ok=True)
    with served() as server:
        for name, viewport, scheme in SHOTS:
            async with chromium(viewport, scheme) as browser:
                page = await enter(browser, server.url)
                await say(page, WORDS)
                await answered(page, 1, 180)
                await page.wait_for_timeout(1000)
                await page.screenshot(path=FOLDER / name)
                sys.stdout.write(f"{FOLDER / name}\n")
    with served(blind_arms=ARMS) as server:
        async with chromium({"width": 1280, "height": 1000}, "light") as browser:
            page = await enter(browser, server.url)
            await say(page, WORDS)
            await page.wait_for_selector(".hb-answers", timeout=240_000)
            await page.wait_for_timeout(1000)
            await page.locator(".hb-answers").scroll_into_view_if_needed()
            await page.screenshot(path=FOLDER / "ballot-wide.png")
            sys.stdout.write(f"{FOLDER / 'ballot-wide.png'}\n")


if __name__ == "__main__":
    asyncio.run(main())
