"""The hand-off in a real browser on a phone's screen: numbers to tap without scrolling, the country picker, the way
out, what a screen reader hears, and the conversation that ends."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory

import pytest
from playwright.async_api import BrowserContext, Page, async_playwright, expect

from tests.browser import CHROMIUM, FLAGS, NARROW, enter, installed, say
from tests.journeys.dangers import READ, serving_dangers
from tests.journeys.talking import CRISIS, WARM, Served
from tests.servers import reply

pytestmark = pytest.mark.skipif(not installed(), reason="no Chromium")
OUTCOMES = "SELECT outcome, danger, language FROM message WHERE conversation_id = ? ORDER BY position"
GERMAN = "Ich will mich umbringen"
SLOW = 30_000
"""Milliseconds that a page may take to open on a machine that does much else."""


def country(cookies: Mapping[object, object]) -> object:
    """The chosen country; each server has its own name for the cookie."""
    return next(value for name, value in cookies.items() if str(name).startswith("heard_country_"))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving_dangers(tmp_path_factory.mktemp("handoff")) as served:
        yield served


@asynccontextmanager
async def phone(locale: str = "en-GB", *, scripted: bool = True) -> AsyncIterator[BrowserContext]:
    with TemporaryDirectory(prefix="heard-phone-") as profile:
        async with async_playwright() as playwright:
            context = await playwright.chromium.launch_persistent_context(
                profile, executable_path=CHROMIUM, args=FLAGS, headless=True, viewport=NARROW, locale=locale,
                java_script_enabled=scripted,
            )  # type: ignore[arg-type]  # fmt: skip
            try:
                yield context
            finally:
                await context.close()


async def told(page: Page, text: str) -> None:
    """Send a message, and wait for its hand-off."""
    known = await page.locator(".hh").count()
    await say(page, text)
    await expect(page.locator(".hh")).to_have_count(known + 1, timeout=SLOW)
    await page.wait_for_selector("#stop-button", state="detached")


async def whole_on_screen(page: Page, selector: str) -> None:
    """All of the elements stand between the header and the field to write in, without scrolling."""
    for one in await page.locator(selector).all():
        await expect(one).to_be_in_viewport(ratio=1)
        over = "e => { const b = e.getBoundingClientRect();"
        over += " return e.contains(document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2)); }"
        assert await one.evaluate(over), await one.inner_text()


@pytest.mark.parametrize(
    ("country", "text", "locale", "first"),
    [
        ("US", CRISIS, "en-US", "tel:988"),
        ("DE", GERMAN, "de-DE", "tel:08001110111"),
        ("GB", "my husband is beating me right now", "en-GB", "tel:999"),
        ("AU", "i just swallowed all my pills", "en-AU", "tel:000"),
        ("US", "im 13 and my dad hits me", "en-US", "tel:18004224453"),
        ("", CRISIS, "en-IE", "tel:112"),
    ],
)
async def test_the_numbers_are_on_the_screen_without_scrolling(
    shop: Served, country: str, text: str, locale: str, first: str
) -> None:
    async with phone(locale) as browser:
        page = await enter(browser, shop.url, country=country)
        await told(page, text)
        await whole_on_screen(page, ".hh-heading, .hh-way, .hh-country, .hh-guess button")
        assert await page.locator(".hh-way").first.get_attribute("href") == first
        for way in await page.locator(".hh-way[href^='tel:'], .hh-way[href^='sms:']").all():
            box = await way.bounding_box()
            assert box is not None
            assert box["height"] >= 44
        assert await page.locator(".hc-card").count() == 0
        assert shop.model.requests == []


async def test_all_of_it_fits_one_screen(shop: Served) -> None:
    async with phone() as browser:
        page = await enter(browser, shop.url, country="US")
        await told(page, CRISIS)
        await whole_on_screen(page, ".hh p")


async def test_what_a_screen_reader_hears_of_it(shop: Served) -> None:
    async with phone() as browser:
        page = await enter(browser, shop.url, country="US")
        await told(page, CRISIS)
        alert = page.get_by_role("alert")
        await expect(alert).to_have_count(1)
        assert await alert.aria_snapshot() == "\n".join(
            [
                "- alert:",
                '  - heading "You matter, and a person should hear this" [level=2]',
                "  - paragraph:",
                '    - link "Call 988 Suicide & Crisis Lifeline":',
                "      - /url: tel:988",
                "      - text: Call 988",
                '    - link "Text 988 Suicide & Crisis Lifeline":',
                "      - /url: sms:988",
                "      - text: Text 988",
                "  - paragraph: 988 Suicide & Crisis Lifeline · 24 hours, every day",
                "  - paragraph:",
                '    - link "Text MHA to 741741, Crisis Text Line":',
                "      - /url: sms:741741?&body=MHA",
                "      - text: Text MHA to 741741",
                "  - paragraph: Crisis Text Line · 24 hours, every day",
                "  - paragraph:",
                '    - link "In danger now? Call 911":',
                "      - /url: tel:911",
                "  - paragraph: \"Whether it is about you or somebody you care for: these people listen, and you don't "
                'need the right words."',
                "  - paragraph: If you can, move away from anything you could hurt yourself with, and stay near "
                "somebody.",
                "  - paragraph: I am an AI, and I can't keep you safe.",
                '  - paragraph: "If this was not meant that way: no harm done. Write again in other words and the chat '
                'goes on."',
                "  - paragraph:",
                "    - text: Numbers last checked on 2026-11-28.",
                '    - link "All countries":',
                "      - /url: /help?country=all",
            ]
        )


async def test_without_the_element_its_text_stands_and_is_an_alert(shop: Served) -> None:
    async with phone() as browser:
        page = await enter(browser, shop.url, country="GB")
        await page.route("**/HandOff.jsx", lambda route: route.abort())
        await say(page, CRISIS)
        alert = page.get_by_role("alert").filter(has_text="116 123")
        await expect(alert).to_contain_text("You matter")


async def test_the_browser_s_region_is_a_guess_and_taking_it_is_remembered(shop: Served) -> None:
    async with phone("en-GB") as browser:
        page = await enter(browser, shop.url)
        await told(page, CRISIS)
        guess = page.get_by_role("button", name="United Kingdom? (a guess from your browser)")
        assert "116 123" not in await page.locator(".hh").inner_text()
        await guess.click()
        await expect(page.locator(".hh")).to_contain_text("116 123")
        await whole_on_screen(page, ".hh-way")
        assert await page.evaluate("document.activeElement.getAttribute('href')") == "tel:116123"
        cookies = {one.get("name"): one.get("value") for one in await browser.cookies()}
        assert country(cookies) == "GB"
        await page.click("#chat-settings-open-modal")
        await expect(page.locator("#chat-settings")).to_contain_text("United Kingdom")
        await page.keyboard.press("Escape")
        await page.reload()
        await page.wait_for_selector(".hh", timeout=SLOW)
        await expect(page.locator(".hh")).to_contain_text("116 123")
        await expect(page.locator(".hh-country")).to_have_count(0)
        await told(page, CRISIS)
        await expect(page.locator(".hh").last).to_contain_text("116 123")


async def test_any_country_can_be_picked_by_its_name_in_the_message_s_language(shop: Served) -> None:
    async with phone("de-DE") as browser:
        page = await enter(browser, shop.url)
        await told(page, GERMAN)
        await expect(page.get_by_role("button", name="Deutschland? (aus Ihrem Browser geraten)")).to_be_visible()
        picker = page.get_by_label("Wo sind Sie?")
        await expect(picker).to_have_value("")
        await picker.select_option("Vereinigte Staaten")
        await expect(page.locator(".hh")).to_contain_text("988 anrufen")
        await expect(page.locator(".hh")).to_contain_text("Tag und Nacht, jeden Tag")
        assert "You matter" not in await page.locator("body").inner_text()


async def test_where_the_server_is_away_the_numbers_come_by_the_plain_way(shop: Served) -> None:
    async with phone("en-GB") as browser:
        page = await enter(browser, shop.url)
        await told(page, CRISIS)
        await page.route("**/help/country", lambda route: route.abort())
        await page.locator(".hh-guess button").click()
        await page.wait_for_url("**/help?country=GB")
        await expect(page.locator("main")).to_contain_text("116 123")


async def test_the_way_out_leads_away_and_not_back(shop: Served) -> None:
    async with phone() as browser:
        page = await enter(browser, shop.url, country="GB")
        await page.route("https://www.wikipedia.org/", lambda route: route.fulfill(body="neutral"))
        await told(page, "my husband is beating me right now")
        await page.get_by_role("link", name="Leave this page fast").click()
        await page.wait_for_url("https://www.wikipedia.org/")
        await page.go_back()
        assert "/thread/" not in page.url


@pytest.mark.parametrize("text", [text for text, danger in READ.items() if danger != "minor"])
async def test_after_another_danger_the_talk_goes_on_and_its_words_are_no_title(shop: Served, text: str) -> None:
    shop.play(reply(WARM))
    async with phone() as browser:
        page = await enter(browser, shop.url, country="GB")
        await told(page, text)
        assert shop.model.requests == []
        thread = page.url.rsplit("/", 1)[-1]
        await shop.settled([("crisis", READ[text], "en")], OUTCOMES, thread)
        await shop.settled([("Conversation",)], "SELECT name FROM threads WHERE id = ?", thread)
        heading = await page.locator(".hh-heading").inner_text()
        await page.reload()
        await page.wait_for_selector(".hh", timeout=SLOW)
        await expect(page.locator(".hh-heading")).to_have_text(heading)


async def test_for_a_child_the_conversation_ends(shop: Served) -> None:
    shop.play(reply(WARM))
    async with phone("en-US") as browser:
        page = await enter(browser, shop.url, country="US")
        await told(page, "im 13 and my dad hits me")
        await expect(page.locator(".hh")).to_contain_text("This chat is for adults")
        await told(page, "ok. can we play a game")
        await page.reload()
        await page.wait_for_selector(".hh", timeout=SLOW)
        await expect(page.locator(".hh")).to_have_count(2, timeout=SLOW)
        await told(page, "please?")
        thread = page.url.rsplit("/", 1)[-1]
        await shop.settled([("crisis", "minor", "en")] * 3, OUTCOMES, thread)
        said = [re.sub(r"\s+", " ", text) for text in await page.locator(".hh").all_inner_texts()]
        assert len(set(said)) == 1
        assert "1-800-422-4453" in said[0]
        assert shop.model.requests == []
        assert shop.rows("SELECT count(*) FROM reply r JOIN message m ON m.id = r.message_id"
                         " WHERE m.conversation_id = ?", thread) == [(0,)]  # fmt: skip


async def test_without_javascript_the_picker_is_a_form(shop: Served) -> None:
    async with phone("en-GB", scripted=False) as browser:
        page = browser.pages[0]
        await page.goto(f"{shop.url.rstrip('/')}/scorer")
        await page.fill("[name=reply]", CRISIS)
        await page.get_by_role("button", name="Score it").click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text("You matter")
        for number in ("112", "911", "999"):
            await expect(page.get_by_role("link", name=f"Call {number}")).to_be_in_viewport()
        await page.get_by_label("Where are you?").select_option("Germany")
        await page.get_by_role("button", name="Show the numbers").click()
        await expect(page.locator("main")).to_contain_text("0800 111 0 111")
        assert country({one.get("name"): one.get("value") for one in await browser.cookies()}) == "DE"
