"""What people say of a talk, in a real Chromium: the thumbs under a reply, the button
that has it written again, the question after several turns, and the pencil on the last message."""

import asyncio
from collections.abc import Iterator

import pytest
from playwright.async_api import Route, expect

from heard.chat_app.models.downloads import Weights
from heard.chat_app.page.wording import FELT_HEARD, FELT_HEARD_THANKS
from heard.db.feedback import HEARD_AFTER
from tests.browser import NARROW, WIDE, Console, answered, chromium, enter, installed, say
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
        await expect(page.get_by_role("button", name="Marked helpful", exact=True)).to_be_focused()
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


async def test_a_button_is_heard_although_the_cookie_of_an_overtaken_socket_came_last(shop: Served) -> None:
    later, asked = asyncio.Event(), 0

    async def overtaken(route: Route) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            await later.wait()
            await asyncio.sleep(0.5)  # the page has had time to open the newer socket
        await route.continue_()
        if asked > 1:
            later.set()

    async with chromium(WIDE) as browser:
        page = await enter(browser, shop.url)
        await say(page, "My week was too much.")
        await answered(page, 1)
        await page.route("**/set-session-cookie", overtaken)
        await page.reload()
        await asyncio.wait_for(later.wait(), 30)
        await asyncio.sleep(1)
        await page.get_by_role("button", name="Not helpful", exact=True).click()
        await expect(page.get_by_role("button", name="Marked not helpful", exact=True)).to_have_count(1)


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
        await page.locator(".hc-line").click()
        await page.get_by_role("button", name="Show 1 other draft").click()
        await expect(page.locator(".hc-draft-text")).to_have_text(WARM)
        await page.reload()
        await expect(page.locator(".ai-message").get_by_text(CURT)).to_be_visible()
        assert console.errors == []


async def test_the_last_message_is_edited_in_its_place(shop: Served) -> None:
    async with chromium(WIDE) as browser:
        console = Console(browser.pages[0])
        page = await enter(browser, shop.url)
        await say(page, "Hello, it was a long day.")
        await answered(page, 1)
        await say(page, "It is raining here today.")
        await answered(page, 2)
        await expect(page.locator(".edit-message")).to_have_count(2)
        messages = page.locator('[data-step-type="user_message"]')
        await messages.nth(0).hover()
        await expect(page.locator(".edit-message").nth(0)).to_be_hidden()  # only the last one
        await messages.nth(1).hover()
        await page.locator(".edit-message").nth(1).click()
        await page.fill("#edit-chat-input", "It is snowing here today.")
        await page.locator(".confirm-edit").click()
        await expect(messages.nth(1)).to_contain_text("It is snowing here today.")
        await expect(page.locator(".hc-card")).to_have_count(2)
        await expect(messages).to_have_count(2)
        await page.reload()
        await expect(messages.nth(1)).to_contain_text("It is snowing here today.")
        await expect(messages).to_have_count(2)
        assert console.errors == []
