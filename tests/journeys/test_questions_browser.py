"""A page of questions in a real Chromium: by keyboard alone, kept over a reload, and without a script."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.async_api import Page, expect

from heard.chat_app.common.identity import Identity
from heard.chat_app.common.settings import Settings
from heard.db.store import Store
from heard.db.study_store import StudyStore
from tests.browser import NARROW, chromium, installed
from tests.journeys.surveying import make
from tests.journeys.test_survey_questions import ABOUT
from tests.journeys.web import Sessions, parent
from tests.journeys.web import store as store

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]


class _Telling(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listens.set()


@pytest.fixture
async def url(tmp_path: Path, store: Store) -> AsyncIterator[str]:
    page = {**ABOUT["pages"][1], "items": ABOUT["pages"][1]["items"][1:]}  # without the one that branches
    await make(StudyStore(store.engine), questions=[{**ABOUT, "pages": [page]}])
    app = parent(Settings(data_dir=tmp_path), store, Identity.load(tmp_path), Sessions())
    server = _Telling(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    running = asyncio.create_task(server.serve())
    await server.listens.wait()
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await running


async def come(page: Page, url: str) -> None:
    await page.goto(f"{url}/survey/blind")
    await page.check("#adult")
    await page.check("#research")
    await page.get_by_role("button", name="I agree, go on to the study").click()
    await page.get_by_role("button", name="Start").click()
    await expect(page).to_have_title("What you do · heard")


async def test_by_keyboard_and_kept_over_a_reload(url: str) -> None:
    async with chromium(NARROW) as context:
        page = context.pages[0]
        await come(page, url)
        slider, shown = page.get_by_role("slider", name="How tired are you just now?"), page.locator("output")
        await expect(shown).to_have_text("No answer yet")
        await page.get_by_role("radio", name="not at all").first.focus()
        await page.keyboard.press("ArrowDown")
        await slider.focus()
        await page.keyboard.press("ArrowRight")
        await expect(shown).to_have_text("51")
        await page.get_by_role("textbox", name="What does a good answer").fill("Time.")
        await page.reload()
        await expect(shown).to_have_text("51")
        await expect(page.get_by_role("radio", name="a little").first).to_be_checked()
        await expect(page.get_by_role("textbox", name="What does a good answer")).to_have_value("Time.")
        await page.get_by_role("button", name="Go on").press("Enter")
        alert = page.get_by_role("alert")
        await alert.get_by_role("link", name="I would rather leave it to others to comfort somebody.").click()
        assert await page.evaluate("document.activeElement.name") == "q-hard"
        assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
