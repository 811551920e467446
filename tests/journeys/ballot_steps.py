"""Steps of somebody who votes in the chat, in a real browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.browser import chromium

WORDS = "=It listened, calmly."
"""What is written as the reason."""
LINE = """(words) => {
  const style = getComputedStyle(words), canvas = document.createElement("canvas").getContext("2d");
  canvas.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const sample = "You carry so much this week, and it makes sense that you feel worn out. ";
  return words.clientWidth / canvas.measureText(sample).width * sample.length;
}"""
KEPT = "Object.entries(sessionStorage).filter(([key]) => key.startsWith('heard-'))"


@asynccontextmanager
async def patient(viewport: dict[str, int] | None = None, scheme: str = "light") -> AsyncIterator[BrowserContext]:
    """A browser that waits for a busy machine."""
    async with chromium(viewport, scheme) as browser:
        browser.set_default_timeout(90_000)
        yield browser


async def balloted(page: Page, ballots: int = 1) -> None:
    """Wait until so many ballots are on the page and the input is unlocked."""
    await expect(page.locator(".hb-ballot")).to_have_count(ballots)
    await page.wait_for_selector("#stop-button", state="detached")


async def mark(page: Page, letter: str, what: str) -> None:
    """Mark an answer as the "most" or the "least" empathetic."""
    await page.get_by_role("radio", name=f"Answer {letter} is the {what} empathetic").check()


async def line_of(answer: Locator, words: str) -> float:
    """How many characters of English fit on a line of an answer; `words` is the selector of its text."""
    found: float = await answer.locator(words).evaluate(LINE)
    return found


async def fill(page: Page, most: str, least: str, reason: str = WORDS) -> None:
    """Everything but the last click."""
    await mark(page, most, "most")
    await mark(page, least, "least")
    await page.get_by_label("Why?").fill(reason)


async def filled(page: Page, most: str, least: str, reason: str = WORDS) -> None:
    """What `fill` has chosen is there, and can be changed and sent."""
    for letter, what in ((most, "most"), (least, "least")):
        marked = page.get_by_role("radio", name=f"Answer {letter} is the {what} empathetic")
        await expect(marked).to_be_checked()
        await expect(marked).to_be_enabled()
    await expect(page.get_by_label("Why?")).to_have_value(reason)
    await expect(page.get_by_label("Why?")).to_be_editable()
    await expect(page.get_by_role("button", name="Vote", exact=True)).to_be_enabled()


async def vote(page: Page) -> None:
    """The last click."""
    await page.get_by_role("button", name="Vote", exact=True).click()


async def kept(page: Page) -> Any:
    """What this tab keeps of ballots, as (key, text) pairs."""
    return await page.evaluate(KEPT)


async def hasty(browser: BrowserContext) -> None:
    """Let the ballot's own script wait for the server for a moment only."""

    async def shorter(route: Any) -> None:
        response = await route.fetch()
        script = await response.text()
        assert "PATIENCE = 30_000;" in script
        await route.fulfill(response=response, body=script.replace("PATIENCE = 30_000;", "PATIENCE = 1_500;"))

    await browser.route("**/static/ballot.js", shorter)


async def lose(route: Any) -> None:
    """Let the call reach the server, and its answer nobody."""
    await route.fetch()
    await route.abort()
