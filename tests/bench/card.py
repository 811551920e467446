"""From the last token to the score card on the screen, in a real Chromium, while another chat is streaming.

Replies are of TOKENS tokens: the default persona with that bound, asked for a story that is longer. Each is a
conversation of its own, so that the prompt does not grow. The end of the stream is what the server stored with the
draft; the moment of the card is taken by an observer in the page. Both are the same machine's clock, so the figure
holds the scorer, the socket and the browser's drawing.
"""

import asyncio
import re
import shutil
import sqlite3
import statistics
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from playwright.async_api import Page

from heard.prompts.library import BUILT_IN
from tests.bench.served import Served, served
from tests.bench.speed import message
from tests.bench.table import Row, at_most
from tests.browser import answered, chromium, enter, say
from tests.socket_client import Visitor

REPLIES = 11
TOKENS = 150
PROMPTS = BUILT_IN
STORY = "Tell me a long story with every detail. It begins like this: {0}"
WATCH = """() => {
  window.heardCard = null;
  const watcher = new MutationObserver(() => {
    if (!document.querySelector(".hc-card")) return;
    window.heardCard = Date.now();
    watcher.disconnect();
  });
  watcher.observe(document.body, { childList: true, subtree: true });
}"""


async def card() -> list[Row]:
    """REPLIES replies to one visitor; a second visitor's chat streams all the while."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-prompts-") as scratch:
        folder = Path(scratch) / "prompts"
        shutil.copytree(PROMPTS, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        for persona in (folder / "personas").glob("*.yaml"):
            text = persona.read_text(encoding="utf-8")
            persona.write_text(re.sub(r"max_tokens: \d+", f"max_tokens: {TOKENS}", text), encoding="utf-8")
        with served(prompts_dir=str(folder)) as server:
            return await _card(server)


async def _card(server: Served) -> list[Row]:
    waits: list[float] = []
    lengths: list[int] = []
    stop = asyncio.Event()
    beside = asyncio.create_task(_keep_streaming(server.url, stop))
    try:
        async with chromium() as browser:
            page = await enter(browser, server.url)
            for number in range(REPLIES):
                await page.evaluate(WATCH)
                await say(page, STORY.format(message(number)))
                await answered(page, 1, 180)
                end, tokens = _stored(server, await _conversation(page))
                waits.append(await page.evaluate("window.heardCard") - end)
                lengths.append(tokens)
                await page.click("#new-chat-button")
                await page.wait_for_selector(".hc-card", state="detached")
    finally:
        stop.set()
        with suppress(asyncio.CancelledError):
            await beside
    what = (
        f"last token to score card on screen, another chat streaming (replies of {statistics.median(lengths)} tokens)"
    )
    return [at_most(what, waits, "ms", 150)]


async def _conversation(page: Page) -> str:
    await page.wait_for_function("location.pathname.includes('/thread/')")
    return page.url.rstrip("/").rsplit("/", 1)[-1]


def _stored(server: Served, conversation: str) -> tuple[float, int]:
    """When the stream of the only reply ended, in milliseconds since 1970, and how many tokens it had."""
    with sqlite3.connect(server.data_dir / "heard.db") as database:
        at, seconds, tokens = database.execute(
            "SELECT d.created_at, d.total_seconds, d.completion_tokens FROM draft d"
            " JOIN reply r ON r.id = d.reply_id JOIN message m ON m.id = r.message_id WHERE m.conversation_id = ?",
            (conversation,),
        ).fetchone()
    database.close()
    return (datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() + seconds) * 1000, tokens


async def _keep_streaming(url: str, stop: asyncio.Event) -> None:
    async with Visitor.agree(url) as visitor:
        while not stop.is_set():
            async with visitor.page(profile="listener") as page:
                await page.send("Tell me a long story about a rainy day that ended well.", seconds=180)
