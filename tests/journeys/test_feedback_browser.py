"""What people say of a talk, in a real Chromium: the thumbs under a reply, the button
that has it written again, and the question after several turns."""

from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from heard.chat_app.models.downloads import Weights
from heard.chat_app.page.wording import FELT_HEARD, FELT_HEARD_THANKS
from heard.db.feedback import HEARD_AFTER
from tests.browser import NARROW, Console, answered, chromium, enter, installed, say
from tests.journeys.talking import CURT, WARM, Served, serving
from tests.servers import reply

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not installed(), reason="no Chromium")]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("feedback"), default_model="talker") as made:
        made.play(reply(WARM))
        yield made


async def test_a_thumb_and_an_answer_with_the_keyboard_on_a_phone(shop: Served) -> None:
    async with chromium(NARROW) as browser:
        console = Console(browser.pages[0])
        page = await enter(browser, shop.url)
        await say(page, "My week was too much.")
        await answered(page, 1)
        await page.get_by_role("button", name="Helpful", exact=True).press("Enter")
        await expect(page.get_by_role("button", name="Marked helpful", exact=True)).to_have_count(1)
        assert shop.rows("SELECT up FROM thumb") == [(1,)]
        await page.reload()
        await expect(page.get_by_role("button", name="Marked helpful", exact=True)).to_have_count(1)
        for number in range(2, HEARD_AFTER + 1):
            await say(page, f"It is raining here today, page {number} of my book is wet.")
            await answered(page, number)
        await expect(page.get_by_role("button", name="Helpful", exact=True)).to_have_count(HEARD_AFTER - 1)
        await expect(page.locator(".ai-message").get_by_text(FELT_HEARD)).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        await page.get_by_role("button", name="4", exact=True).press("Enter")
        await expect(page.locator(".ai-message").get_by_text(FELT_HEARD_THANKS.format(answer=4))).to_be_visible()
        await expect(page.get_by_role("button", name="Skip", exact=True)).to_have_count(0)
        assert shop.rows("SELECT answer FROM felt_heard") == [(4,)]
        assert console.errors == []


async def test_a_reply_is_written_again_in_its_place(shop: Served) -> None:
    async with chromium(NARROW) as browser:
        console = Console(browser.pages[0])
        page = await enter(browser, shop.url)
        await say(page, "My week was too much.")
        await answered(page, 1)
        shop.play(reply(CURT))
        try:
            await page.get_by_role("button", name="Write another", exact=True).click()
            await expect(page.locator(".ai-message").get_by_text(CURT)).to_be_visible()
            await expect(page.get_by_role("button", name="Write another", exact=True)).to_be_enabled()
        finally:
            shop.play(reply(WARM))
        await expect(page.locator(".ai-message")).to_have_count(1)
        await page.get_by_role("button", name="Show 1 other draft").click()
        await expect(page.locator(".hc-draft-text")).to_have_text(WARM)
        await page.reload()
        await expect(page.locator(".ai-message").get_by_text(CURT)).to_be_visible()
        assert console.errors == []
