"""A conversation with the study's persona in a real Chromium, where research mode has been turned off since."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from heard.chat_app.models.downloads import Weights
from tests.browser import NARROW, Console, answered, chromium, enter, installed, say
from tests.journeys.talking import WARM, serving
from tests.servers import reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]


async def panel(page: Page) -> list[str]:
    """The fields to choose from in the settings, which are confirmed as they are."""
    await page.get_by_role("button", name="Settings").click()
    shown = [
        name for name in ("Model", "Strategy") if await page.get_by_role("combobox", name=name, exact=True).count()
    ]
    await page.get_by_role("button", name="Confirm").click()
    return shown


async def test_it_opens_with_its_face_and_goes_on(tmp_path: Path, weights: Weights) -> None:
    values = {"default_model": "talker", "data_dir": str(tmp_path / "data")}
    async with chromium(NARROW) as context:
        with serving(tmp_path, research_mode="true", **values) as before:
            before.play(reply(WARM))
            page = await enter(context, before.url)
            assert await panel(page) == ["Model", "Strategy"]
            await page.click("#chat-profiles")
            await page.get_by_role("option", name="Study prompt").click()
            await expect(page.locator("#chat-profiles")).to_have_text("Study prompt")
            await say(page, "It hurts.")
            await answered(page, 1)
            thread = page.url.rpartition("/")[2]
            await before.settled([(1,)], "SELECT count(*) FROM threads WHERE metadata LIKE '%study%'")
        (tmp_path / "models.toml").unlink()
        with serving(tmp_path, **values) as after:
            after.play(reply(WARM))
            console = Console(page)
            await page.goto(f"{after.url}/chat/thread/{thread}")
            await expect(page.get_by_alt_text("Avatar for persona study")).to_have_count(1)
            await expect(page.locator("#chat-profiles")).to_have_text("Study prompt")
            assert await panel(page) == ["Model"]
            await say(page, "It still hurts.")
            await answered(page, 2)
            assert after.rows("SELECT persona, count(*) FROM reply GROUP BY 1") == [("study", 2)]
            assert console.errors == []
