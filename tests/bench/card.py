"""From the last token to the score card on the screen, in a real Chromium, while another chat is streaming.

The end of the stream is what the server stored with the draft; the moment of the card is taken by an observer in the
page. Both are the same machine's clock, so the figure holds the scorer, the socket and the browser's drawing.
"""

import asyncio
import sqlite3
import statistics
from contextlib import suppress
from datetime import UTC, datetime

from playwright.async_api import Page

from tests.bench.served import Served
from tests.bench.speed import message
from tests.bench.table import Row, at_most
from tests.browser import answered, chromium, enter, say
from tests.socket_client import Visitor

REPLIES = 11
WATCH = """() => {
  window.heardCards = [];
  const note = () => {
    while (document.querySelectorAll('.hc-card').length > window.heardCards.length) window.heardCards.push(Date.now());
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true });
}"""


async def card(server: Served) -> list[Row]:
    """REPLIES replies of the default persona; a second visitor's chat streams all the while."""
    stop = asyncio.Event()
    beside = asyncio.create_task(_keep_streaming(server.url, stop))
    try:
        async with chromium() as browser:
            page = await enter(browser, server.url)
            await page.evaluate(WATCH)
            for number in range(REPLIES):
                await say(page, message(number))
                await answered(page, number + 1, 180)
            shown = await page.evaluate("window.heardCards")
            conversation = await _conversation(page)
    finally:
        stop.set()
        with suppress(asyncio.CancelledError):
            await beside
    ends, tokens = _stored(server, conversation)
    assert len(shown) == len(ends) == REPLIES, (len(shown), len(ends))
    waits = [at - end for at, end in zip(shown, ends, strict=True)]
    length = statistics.median(tokens)
    what = f"last token to score card on screen, another chat streaming (replies of {length:.0f} tokens)"
    return [at_most(what, waits, "ms", 150)]


async def _conversation(page: Page) -> str:
    await page.wait_for_function("location.pathname.includes('/thread/')")
    return page.url.rstrip("/").rsplit("/", 1)[-1]


def _stored(server: Served, conversation: str) -> tuple[list[float], list[int]]:
    """When each stream ended, in milliseconds since 1970, and how many tokens it had."""
    database = sqlite3.connect(server.data_dir / "heard.db")
    try:
        rows = database.execute(
            "SELECT d.created_at, d.total_seconds, d.completion_tokens FROM draft d"
            " JOIN reply r ON r.id = d.reply_id JOIN message m ON m.id = r.message_id"
            " WHERE m.conversation_id = ? ORDER BY m.position",
            (conversation,),
        ).fetchall()
    finally:
        database.close()
    begun = [datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() for at, _, _ in rows]
    return [(at + row[1]) * 1000 for at, row in zip(begun, rows, strict=True)], [row[2] for row in rows]


async def _keep_streaming(url: str, stop: asyncio.Event) -> None:
    async with Visitor.agree(url) as visitor:
        while not stop.is_set():
            async with visitor.page(profile="listener") as page:
                await page.send("Tell me a long story about a rainy day that ended well.", seconds=180)
