"""From the last token to the score card on the screen, in a real Chromium, while another chat is streaming.

The page itself keeps the time: an observer notes when the reply's text last grew and when its card was there.
"""

import asyncio
from contextlib import suppress

from playwright.async_api import Page

from tests.bench.served import Served
from tests.bench.table import Row, at_most
from tests.browser import chromium, enter
from tests.socket_client import Visitor

REPLIES = 12
WATCH = """() => {
  const seen = (window.heardSeen = { text: 0, card: 0, length: 0 });
  const look = () => {
    const now = performance.now();
    const cards = document.querySelectorAll('[data-heard="score-card"]').length;
    const replies = document.querySelectorAll('.ai-message, [data-step-type="assistant_message"]');
    const last = replies[replies.length - 1];
    const length = last ? last.querySelector('.message-content, .prose')?.textContent.length ?? 0 : 0;
    if (length !== seen.length && !seen.card) { seen.length = length; seen.text = now; }
    if (cards > window.heardCards && !seen.card) seen.card = now;
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


async def card(server: Served) -> list[Row]:
    """REPLIES replies, each measured in the page; a second visitor's chat streams all the while."""
    stop = asyncio.Event()
    beside = asyncio.create_task(_keep_streaming(server.url, stop))
    waits: list[float] = []
    try:
        async with chromium() as browser:
            page = await enter(browser, server.url)
            for number in range(REPLIES):
                waits.append(await _one(page, number))
    finally:
        stop.set()
        with suppress(asyncio.CancelledError):
            await beside
    return [at_most("last token to score card on screen, p50", waits, "ms", 150)]


async def _one(page: Page, number: int) -> float:
    raise NotImplementedError(number)


async def _keep_streaming(url: str, stop: asyncio.Event) -> None:
    async with Visitor.agree(url) as visitor, visitor.page(profile="listener") as page:
        while not stop.is_set():
            await page.send("Tell me a long story about a rainy day that ended well.", seconds=120)
