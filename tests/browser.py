"""A real Chromium on the running product, and the way in: the first page, agreed to, then the chat."""

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from playwright.async_api import BrowserContext, ConsoleMessage, Page, TimeoutError, async_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}
TYPED = 10
"""Times that a message is typed before a test gives up."""


def installed() -> bool:
    """Whether there is a Chromium to drive."""
    return Path(CHROMIUM).exists()


@asynccontextmanager
async def chromium(
    viewport: dict[str, int] | None = None, scheme: str = "light", **device: bool
) -> AsyncIterator[BrowserContext]:
    """A browser with a profile of its own; `scheme` is "light" or "dark", `device` is_mobile and has_touch."""
    with tempfile.TemporaryDirectory(prefix="heard-chromium-") as profile:
        async with async_playwright() as playwright:
            context = await playwright.chromium.launch_persistent_context(
                profile,
                executable_path=CHROMIUM,
                args=FLAGS,
                headless=True,
                viewport=viewport or WIDE,  # type: ignore[arg-type]
                color_scheme=scheme,  # type: ignore[arg-type]
                **device,  # type: ignore[arg-type]
            )
            try:
                yield context
            finally:
                await context.close()


async def enter(context: BrowserContext, url: str, *, research: bool = False, country: str = "") -> Page:
    """Read the notice as a first visitor, agree, and wait until a message can be typed."""
    page = context.pages[0] if context.pages else await context.new_page()
    await page.goto(url)
    await page.check("#adult")
    await page.check("#research" if research else "#research-no")
    if country:
        await page.select_option("#country", country)
    await page.click("#agree")
    await page.wait_for_selector("#chat-input")
    return page


async def say(page: Page, text: str) -> None:
    """Type a message and send it. The page draws its input anew while it starts, and what was typed before is lost."""
    for _ in range(TYPED):
        await page.fill("#chat-input", "")
        await page.click("#chat-input")
        await page.keyboard.insert_text(text)
        with suppress(TimeoutError):
            await page.click("#chat-submit", timeout=3000)
            return
    raise AssertionError(f"the page kept its Send button disabled although a message was typed {TYPED} times")


async def answered(page: Page, cards: int, seconds: float = 60) -> None:
    """Wait until the page shows so many score cards and the input is unlocked."""
    await page.wait_for_function(
        "n => document.querySelectorAll('.hc-card').length >= n", arg=cards, timeout=seconds * 1000
    )
    await page.wait_for_selector("#stop-button", state="detached", timeout=seconds * 1000)


CONTRAST = """([back, words]) => {
  const numbers = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (color) => numbers(color)
    .map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = light(getComputedStyle(document.querySelector(back)).backgroundColor);
  return Math.min(...[...document.querySelectorAll(words)].map((word) => {
    const front = light(getComputedStyle(word).color);
    return (Math.max(front, behind) + 0.05) / (Math.min(front, behind) + 0.05);
  }));
}"""


async def contrast(page: Page, back: str, words: str) -> float:
    """The lowest contrast of the elements `words` on the background of `back`, both selectors (WCAG 2.2, 1.4.3)."""
    await page.wait_for_load_state("load")  # its style sheets are there
    return float(await page.evaluate(CONTRAST, [back, words]))


class Console:
    """What the page complained about and which hosts it asked for; attach before the first page is opened."""

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", self._message)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2] if "//" in request.url else ""))

    def _message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)
