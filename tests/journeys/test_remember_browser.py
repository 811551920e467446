"""What a conversation remembers, in a real Chromium on a phone's page: the bar, the fixed turns, the check-in, and what
of it reaches a model, a score or a ballot: nothing."""

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Locator, Page, expect

from heard.chat_app.models.downloads import Weights
from heard.prompts.safety_turn_files import load_after_handoff, load_check_in
from tests.browser import NARROW, Console, answered, chromium, contrast, enter, installed, say
from tests.journeys.talking import CRISIS, WARM, Served, serving
from tests.servers import reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]
AFTER = load_after_handoff()["en"]
CHECK_IN = load_check_in()["en"]
GIVEN, CALM = "i gave my guitar to my little brother today", "i feel strangely calm now"
expect.set_options(timeout=30_000)
PICTURES = os.environ.get("PICTURES")
"""A folder for screenshots, for whoever wants to look at them."""
TURNS = (
    "SELECT m.text, m.outcome, m.safety, d.model, s.status FROM message m LEFT JOIN reply r ON r.message_id = m.id"
    " LEFT JOIN draft d ON d.reply_id = r.id AND d.kept LEFT JOIN score s ON s.draft_id = d.id"
    " JOIN conversation c ON c.id = m.conversation_id WHERE m.conversation_id = ? ORDER BY m.position"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("remember"), default_model="talker") as made:
        made.play(reply(WARM))
        yield made


@pytest.fixture
async def browser(request: pytest.FixtureRequest) -> AsyncIterator[BrowserContext]:
    async with chromium(NARROW, getattr(request, "param", "light")) as context:
        yield context


def bar_of(page: Page) -> Locator:
    return page.get_by_role("region", name=AFTER.bar.name)


def texts_of(intent: str) -> list[str]:
    return [text.says.partition("{")[0] for text in AFTER.intents[intent].texts]


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def replied(page: Page, number: int) -> str:
    """Wait until there are so many replies, and return the last one's text."""
    await expect(page.locator(".ai-message")).to_have_count(number, timeout=60_000)
    await page.wait_for_selector("#stop-button", state="detached", timeout=60_000)
    return await page.locator(".ai-message").last.inner_text()


def thread_of(page: Page) -> str:
    return page.url.rsplit("/", 1)[-1].split("?")[0]


def sent(shop: Served) -> str:
    return json.dumps([request["messages"] for request in shop.model.requests], ensure_ascii=False)


@pytest.mark.parametrize("browser", ["light", "dark"], indirect=True)
async def test_from_the_hand_off_to_i_am_safe_now(shop: Served, browser: BrowserContext) -> None:
    shop.play(reply(WARM))
    console = Console(browser.pages[0])
    page = await enter(browser, shop.url, country="US")
    await expect(bar_of(page)).to_have_count(0)
    await say(page, CRISIS)
    await replied(page, 1)
    bar = bar_of(page)
    await expect(bar).to_be_visible()
    for name, link in (("Call 988", "tel:988"), ("Text 988", "sms:988")):
        await expect(bar.get_by_role("link", name=name)).to_have_attribute("href", link)
    box = await bar.bounding_box()
    assert box is not None
    assert box["height"] < 48, "one line"
    assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert await bar.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    await picture(page, f"bar-{await page.evaluate('matchMedia(`(prefers-color-scheme: dark)`).matches')}")
    assert await contrast(page, "body", ".hs-bar a") >= 4.5

    await say(page, "i called but hung up")
    text = await replied(page, 2)
    assert any(start in text for start in texts_of("hung_up")), text
    await say(page, "ok. i just feel so alone")
    text = await replied(page, 3)
    assert any(start in text for start in texts_of("alone")), text
    assert shop.model.requests == []
    await picture(page, "fixed-turns")

    await page.reload()
    await expect(bar_of(page).get_by_role("link", name="Call 988")).to_be_visible()
    assert await page.locator(".hc-card").count() == 0
    await bar_of(page).get_by_role("button", name=AFTER.bar.safe).click()
    text = await replied(page, 4)
    assert any(start in text for start in texts_of("safe")), text
    await expect(bar_of(page).get_by_role("button")).to_have_count(0)
    await expect(bar_of(page).get_by_role("link", name="Text 988")).to_be_visible()
    await picture(page, "safe")

    await say(page, "Work was a lot this week.")
    await answered(page, 1)
    assert len(shop.model.requests) == 1
    for words in (CRISIS, "hung up", "so alone", "safe now", "988"):
        assert words not in sent(shop), words
    await shop.settled(
        [
            (CRISIS, "crisis", None, None, None),
            ("i called but hung up", "answered", "supported", "fixed text", None),
            ("ok. i just feel so alone", "answered", "supported", "fixed text", None),
            (AFTER.bar.message, "answered", "safe", "fixed text", None),
            ("Work was a lot this week.", "answered", None, "talker", "scored"),
        ],
        TURNS,
        thread_of(page),
    )
    assert shop.rows("SELECT count(*) FROM ballot") == [(0,)]
    assert console.errors == []

    await page.locator("#new-chat-button").click()
    if await page.get_by_role("button", name="Confirm").count():
        await page.get_by_role("button", name="Confirm").click()
    await expect(bar_of(page)).to_have_count(0)


@pytest.mark.parametrize("country", ["AU", "NZ", ""])
async def test_the_numbers_of_a_country_stand_whole_on_one_line(
    shop: Served, browser: BrowserContext, country: str
) -> None:
    page = await enter(browser, shop.url, country=country)
    await say(page, CRISIS)
    await replied(page, 1)
    await expect(bar_of(page).get_by_role("link")).to_have_count(2 if country else 1)
    cut = "links => links.filter((link) => link.scrollWidth > link.clientWidth + 1).map((link) => link.textContent)"
    assert await bar_of(page).get_by_role("link").evaluate_all(cut) == []
    box = await bar_of(page).bounding_box()
    assert box is not None
    assert box["height"] < 48
    await picture(page, f"bar-{country or 'none'}")


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_the_check_in_asks_once_and_takes_both_answers(
    shop: Served, browser: BrowserContext, answer: str
) -> None:
    shop.play(reply(WARM))
    page = await enter(browser, shop.url, country="GB")
    await say(page, GIVEN)
    await answered(page, 1)
    await say(page, CALM)
    text = await replied(page, 2)
    assert CHECK_IN.question in text
    assert "116 123" in text
    group = page.get_by_role("group", name=CHECK_IN.question)
    await expect(group.get_by_role("button")).to_have_count(2)
    await picture(page, "check-in")
    await page.reload()
    await expect(group.get_by_role("button")).to_have_count(2)
    await group.get_by_role("button", name=answer.capitalize()).click()
    text = await replied(page, 3)
    said = CHECK_IN.affirmed.message if answer == "yes" else CHECK_IN.denied.message
    if answer == "yes":
        await expect(bar_of(page).get_by_role("link", name="Call 116 123")).to_be_visible()
        await picture(page, "bar-gb")
        last = (said, "crisis", None, None, None)
    else:
        assert any(line.partition("{")[0] in text for line in CHECK_IN.thanks), text
        await expect(bar_of(page)).to_have_count(0)
        await picture(page, "check-in-no")
        last = (said, "answered", "denied", "fixed text", None)
    first, asked = (GIVEN, "answered", None, "talker", "scored"), (CALM, "answered", "checked_in", "fixed text", None)
    await shop.settled([first, asked, last], TURNS, thread_of(page))
    assert len(shop.model.requests) == 1
    if answer == "no":
        await say(page, "i said goodbye to my friends at the lake")  # a second reason to ask
        await answered(page, 2)
        await expect(group).to_have_count(0)
        assert GIVEN in sent(shop)
        for words in (CALM, said, CHECK_IN.question):
            assert words not in sent(shop)
