"""The chat's page in a real Chromium: touch, input methods, Back, the limit, refusals, faults and a blank page."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Error, Page, Route, expect

from heard.chat_app.models.downloads import Weights
from tests.browser import NARROW, WIDE, answered, chromium, enter, installed, say
from tests.journeys.talking import WARM, Served, serving
from tests.servers import cut, refusal, reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]
PERSON = '[data-step-type="user_message"]'
KEYS = """(events) => {
  const box = document.getElementById("chat-input");
  for (const [kind, more] of events) {
    const made = kind.startsWith("composition")
      ? new CompositionEvent(kind, { bubbles: true, ...more })
      : new KeyboardEvent(kind, { bubbles: true, cancelable: true, key: "Enter", ...more });
    box.dispatchEvent(made);
  }
}"""
CHROME = [
    ["compositionstart", {}],
    ["keydown", {"keyCode": 229, "isComposing": True}],
    ["compositionend", {"data": "日本"}],
    ["keyup", {"keyCode": 13}],
]
SAFARI = [
    ["compositionstart", {}],
    ["compositionend", {"data": "日本"}],
    ["keydown", {"keyCode": 229, "isComposing": False}],
    ["keyup", {"keyCode": 13}],
]
UNMARKED = [["compositionstart", {}], ["compositionend", {"data": "日本"}], ["keydown", {"keyCode": 13}]]
PROCESS = [["compositionstart", {}], ["keydown", {"key": "Process", "keyCode": 229, "isComposing": True}]]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("input"), default_model="talker", message_limit="100") as made:
        made.play(reply(WARM))
        yield made


@pytest.fixture
async def browser() -> AsyncIterator[BrowserContext]:
    async with chromium(WIDE) as context:
        yield context


async def write(page: Page, text: str) -> None:
    await page.fill("#chat-input", "")
    await page.click("#chat-input")
    await page.keyboard.insert_text(text)


@pytest.mark.parametrize("order", [CHROME, SAFARI, UNMARKED, PROCESS], ids=["chrome", "safari", "unmarked", "process"])
async def test_the_enter_of_an_input_method_never_sends(shop: Served, browser: BrowserContext, order: Any) -> None:
    shop.play(reply(WARM))
    page = await enter(browser, shop.url)
    await write(page, "日本")
    await page.evaluate(KEYS, order)
    await page.wait_for_timeout(300)
    assert await page.locator(PERSON).count() == 0
    assert await page.input_value("#chat-input") == "日本"
    if order is not PROCESS:  # there the composition goes on
        await page.keyboard.press("Enter")
        await expect(page.locator(PERSON)).to_have_count(1)


async def test_return_makes_a_line_on_a_touch_screen_and_sends_with_a_keyboard(shop: Served) -> None:
    shop.play(reply(WARM))
    async with chromium(NARROW, is_mobile=True, has_touch=True) as context:
        page = await enter(context, shop.url)
        await write(page, "One")
        await page.keyboard.press("Enter")
        await page.keyboard.insert_text("two")
        assert await page.input_value("#chat-input") == "One\ntwo"
        assert await page.get_attribute("#chat-input", "enterkeyhint") == "enter"
        await page.tap("#chat-submit")
        await answered(page, 1)
        assert await page.locator(PERSON).count() == 1
        await write(page, "Three")
        await page.keyboard.press("Control+Enter")
        await answered(page, 2)


async def test_shift_and_return_make_a_line_everywhere(shop: Served, browser: BrowserContext) -> None:
    page = await enter(browser, shop.url)
    await write(page, "One")
    await page.keyboard.press("Shift+Enter")
    assert await page.input_value("#chat-input") == "One\n"


async def test_back_shows_the_chat_of_the_address(shop: Served, browser: BrowserContext) -> None:
    shop.play(reply(WARM))
    page = await enter(browser, shop.url)
    words = page.locator(f"{PERSON} .message-content")
    await say(page, "The first chat.")
    await answered(page, 1)
    first = page.url
    await page.click("#new-chat-button")
    await expect(page.locator(PERSON)).to_have_count(0)
    empty = page.url
    await say(page, "The second chat.")
    await answered(page, 1)
    second = page.url
    assert len({first, second, empty}) == 3
    await page.go_back()
    await expect(words).to_have_text("The first chat.")
    assert page.url == first
    await page.go_forward()
    await expect(words).to_have_text("The second chat.")
    assert page.url == second
    await page.get_by_role("link", name="The first chat.").click()
    await expect(words).to_have_text("The first chat.")
    await page.go_back()
    await expect(words).to_have_text("The second chat.")
    await page.click("#new-chat-button")
    await expect(page.locator(PERSON)).to_have_count(0)
    await page.go_back()
    await expect(words).to_have_text("The second chat.")
    await page.go_forward()
    await expect(page.locator(PERSON)).to_have_count(0)
    await expect(page.locator("#welcome-screen")).to_be_visible()


async def test_a_counter_from_four_fifths_of_the_limit_and_nothing_lost_over_it(
    shop: Served, browser: BrowserContext
) -> None:
    shop.play(reply(WARM))
    page = await enter(browser, shop.url)
    count = page.locator("#heard-count")
    await write(page, "a" * 79)
    await expect(count).to_have_count(0)
    await write(page, "a" * 80)
    await expect(count).to_have_text("80 of 100 characters")
    await write(page, "\U0001f642" * 100)  # two units each in the browser, one character each here and in Python
    await expect(count).to_have_text("100 of 100 characters")
    for send in ("Enter", "#chat-submit"):
        await write(page, "b" * 103)
        await expect(count).to_have_text("103 of 100 characters: 3 too many")
        await (page.keyboard.press(send) if send == "Enter" else page.click(send))
        await expect(page.get_by_role("alert").filter(has_text="Not sent")).to_be_visible()
        assert await page.input_value("#chat-input") == "b" * 103
    assert await page.locator(PERSON).count() == 0
    await write(page, "c" * 100)
    await page.keyboard.press("Enter")
    await answered(page, 1)
    await expect(count).to_have_count(0)


async def test_what_the_server_refuses_comes_back_into_the_box(shop: Served, browser: BrowserContext) -> None:
    shop.play(reply(WARM))
    page = await enter(browser, shop.url)

    async def older(route: Route) -> None:
        """The page as it was before the settings had a lower limit."""
        response = await route.fetch()
        body = (await response.text()).replace('limit" content="100"', 'limit" content="1000"')
        await route.fulfill(response=response, body=body)

    await page.route(re.compile(r"/chat/(thread/[^/]*)?$"), older)
    await page.reload()
    await page.wait_for_selector("#chat-input")
    for number, words in enumerate(("d" * 101, "e" * 102), 1):
        await say(page, words)
        await expect(page.locator(".ai-message")).to_have_count(number)
        await expect(page.locator("#chat-input")).to_have_value(words)
    await write(page, "Short enough.")
    await page.keyboard.press("Enter")
    await answered(page, 1)
    assert await page.input_value("#chat-input") == ""


@pytest.mark.parametrize("fault", [refusal(400), cut("That sounds.")], ids=["refused", "cut"])
async def test_a_fault_has_a_button_that_tries_again(shop: Served, browser: BrowserContext, fault: Any) -> None:
    page = await enter(browser, shop.url)
    shop.play(fault)
    await say(page, "Words for two tries.")
    again = page.get_by_role("button", name="Try again")
    await expect(again).to_be_visible(timeout=30_000)
    await page.reload()
    await expect(again).to_be_visible()
    shop.play(reply(WARM))
    await again.click()
    await answered(page, 1)
    await expect(again).to_have_count(0)
    assert await page.locator(f"{PERSON} .message-content").all_inner_texts() == ["Words for two tries."] * 2
    assert shop.model.requests[-1]["messages"][-1]["content"].count("Words for two tries.") == 1


PRESS = """() => {
  const notice = document.getElementById("heard-blank");
  notice?.querySelector("button").click();
  return notice?.querySelector("a").getAttribute("href");
}"""
"""Presses "Load it again" where it stands; gives where its link leads."""


@pytest.mark.parametrize("missing", [r"/assets/index-.*\.js", "/project/translations", "/project/settings"])
async def test_a_page_that_stays_blank_says_so(shop: Served, browser: BrowserContext, missing: str) -> None:
    page = await enter(browser, shop.url)
    await page.clock.install()
    withheld = True  # to the press of the button: the page asks again by itself, and would come up before it

    async def withhold(route: Route) -> None:
        await (route.abort() if withheld else route.continue_())

    await page.route(re.compile(missing), withhold)
    await page.reload(wait_until="commit")
    await page.wait_for_function("document.readyState === 'complete'")
    notice, pressed = page.locator("#heard-blank"), None
    for _ in range(100):
        with suppress(Error):  # without its settings the page may load anew by itself, and the notice comes again
            await page.clock.run_for(5_000)
            pressed = await page.evaluate(PRESS)
        if pressed is not None:
            break
    withheld = False
    assert pressed == "/help"
    await expect(page.locator("#chat-input")).to_be_visible()
    await page.clock.run_for(20_000)
    await expect(notice).to_have_count(0)
