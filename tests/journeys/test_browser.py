"""The whole product in a real Chromium: `heard chat` as its own process, from the first page to the row in SQL."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from heard.chat_app.models.downloads import Weights
from tests.browser import NARROW, WIDE, Console, answered, chromium, contrast, enter, installed, say
from tests.journeys.talking import CURT, OUTCOME, WARM, Served, serving, slow
from tests.servers import reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]
NAMELESS = re.compile(r"^\s*- (?:button|link|textbox|combobox|slider|switch|checkbox)(?:\s*\[.*\])?:?$", re.M)
SPOKEN = re.compile(r"Estimated empathy\. Empathy [123]\.\d+ of 3, (Low|Moderate|High); Cognitive .+ Behavioral .+\.")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    """A server of its own, whose visitors start with the scripted model and with rewriting on."""
    settings = {"default_model": "talker", "auto_improve": "true", "auto_improve_threshold": "1.7"}
    with serving(tmp_path_factory.mktemp("browser"), **settings) as made:
        made.play(reply(WARM))
        yield made


@pytest.fixture
async def browser() -> AsyncIterator[BrowserContext]:
    async with chromium(WIDE) as context:
        yield context


async def choose(page: Page, field: str, option: str) -> None:
    await page.get_by_role("button", name="Settings").click()
    await page.get_by_role("combobox", name=field).click()
    await page.get_by_role("option", name=option).click()
    await page.get_by_role("button", name="Confirm").click()


async def overflow(page: Page) -> int:
    return int(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


async def test_from_consent_to_a_scored_reply_to_the_row(shop: Served, browser: BrowserContext) -> None:
    """The embedded model writes, the real scorer rates, and nothing but this machine is asked for anything."""
    console = Console(browser.pages[0])
    page = await enter(browser, shop.url, research=True, country="DE")
    await choose(page, "Model", "SmolLM2")
    await page.locator("#chat-input").focus()
    await page.keyboard.type("My cat is ill and I am worried.")
    await page.keyboard.press("Enter")
    await answered(page, 1, 150)

    card = page.get_by_role("group", name=SPOKEN)
    await expect(card).to_be_in_viewport()
    shown = (await card.get_attribute("aria-label") or "").split("Empathy ")[1].split(" ")[0]
    words = await page.locator(".ai-message .message-content [role=article]").first.inner_text()
    ((outcome, stored, model, empathy, head),) = shop.rows(
        "SELECT m.outcome, d.text, d.model, s.empathy, length(s.head_sha256) FROM message m"
        " JOIN reply r ON r.message_id = m.id JOIN draft d ON d.reply_id = r.id JOIN score s ON s.draft_id = d.id"
        " WHERE m.text = 'My cat is ill and I am worried.' AND d.kept"
    )
    assert (outcome, model, head) == ("answered", "smollm2", 64)
    assert stored.split()[:3] == words.split()[:3]
    assert abs(float(shown) - empathy) < 0.06
    assert shop.rows("SELECT chat, research FROM consent") == [(1, 1)]
    await expect(page.get_by_role("status").filter(has_text="Estimated empathy")).to_have_count(1)
    assert console.errors == []
    assert console.hosts == {shop.url.split("//")[1]}


async def test_a_screen_reader_hears_the_note_on_a_tiny_model_after_its_reply(
    shop: Served, browser: BrowserContext
) -> None:
    page = await enter(browser, shop.url)
    await choose(page, "Model", "SmolLM2")
    note = page.get_by_text("These replies come from a very small model")
    for cards, message in enumerate(("My cat is ill.", "She sleeps all day.", "I sit beside her."), 1):
        await say(page, message)
        await answered(page, cards, 150)
        if await note.count():  # the guard may have let no reply of it through
            break
    heard = page.get_by_role("status").filter(has_text=SPOKEN)
    await expect(heard).to_have_text(re.compile("very small model .* settings file.$"))


async def test_by_keyboard_alone_to_an_earlier_draft(shop: Served, browser: BrowserContext) -> None:
    shop.play(reply(CURT), reply(WARM))
    page = await enter(browser, shop.url)
    await tab_to(page, "#chat-input")
    await page.keyboard.type("My friends left me out.")
    await tab_to(page, "#chat-submit")
    await page.keyboard.press("Enter")
    await answered(page, 1)
    await expect(page.get_by_text("Rewritten; this draft scored highest")).to_be_visible()
    assert await page.get_by_text(CURT).count() == 0 or not await page.get_by_text(CURT).first.is_visible()
    await expect(page.locator(".hc-rows")).to_be_hidden()
    await tab_to(page, ".hc-line", back=True)
    await page.keyboard.press("Enter")
    await expect(page.locator(".hc-rows")).to_be_visible()
    await tab_to(page, ".hc-drafts .hc-toggle")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("region", name="Draft 1")).to_contain_text(CURT)
    await page.keyboard.press("Space")
    await expect(page.get_by_role("region", name="Draft 1")).to_have_count(0)
    marks = page.locator(".hc-words mark").first
    await expect(marks).to_be_hidden()
    await tab_to(page, ".hc-words .hc-toggle", back=True)
    await page.keyboard.press("Enter")
    await expect(marks).to_be_visible()


@pytest.mark.parametrize("view", [NARROW, WIDE])
async def test_a_folded_card_is_small_and_what_was_opened_stays_open(shop: Served, view: dict[str, int]) -> None:
    async with chromium(view, "light") as context:
        page = await enter(context, shop.url)
        scripts = (
            (reply(WARM),),
            (reply(CURT), reply(WARM)),
            (reply("the of of sky ran why table so the jump 12 of it"),),
        )
        for cards, script in enumerate(scripts, 1):
            shop.play(*script)
            await say(page, f"My friends left me out {cards} times.")
            await answered(page, cards)
        lines, sizes = page.locator(".hc-line"), []
        for card in await page.locator(".hc-card").all():
            sizes.append((await card.bounding_box() or {})["height"])
        assert max(sizes) <= 48
        await expect(lines.nth(0)).to_contain_text(re.compile(r"^Empathy [123]\.\d, (low|moderate|high)"))
        await expect(lines.nth(2)).to_contain_text("Not scored: this text does not hang together")
        await lines.nth(0).click()
        rows = page.locator(".hc-card").nth(0).locator(".hc-rows")
        await expect(rows).to_be_visible()
        shop.play(reply(WARM))
        await say(page, "And one more thing.")
        await answered(page, 4)
        await expect(rows).to_be_visible()
        await expect(page.locator(".hc-rows").nth(1)).to_be_hidden()


async def tab_to(page: Page, selector: str, *, back: bool = False) -> None:
    for _ in range(40):
        if await page.evaluate("s => document.activeElement?.matches(s) ?? false", selector):
            return
        await page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{selector} cannot be reached by Tab")


async def test_every_button_and_field_has_a_name(shop: Served, browser: BrowserContext) -> None:
    shop.play(reply(CURT), reply(WARM))
    page = await enter(browser, shop.url)
    await say(page, "My friends left me out.")
    await answered(page, 1)
    for opened in (None, "Settings"):
        if opened:
            await page.get_by_role("button", name=opened).click()
            await expect(page.get_by_role("dialog")).to_be_visible()
        tree = await page.locator("body").aria_snapshot()
        nameless = re.findall(
            r"^\s*- (?:button|link|textbox|combobox|slider|switch|checkbox)(?:\s*\[.*\])?:?$", tree, re.M
        )
        assert nameless == [], tree


async def test_a_crisis_shows_numbers_at_once_and_no_card(shop: Served, browser: BrowserContext) -> None:
    shop.play(reply(WARM))
    await browser.pages[0].set_viewport_size(NARROW)  # type: ignore[arg-type]
    page = await enter(browser, shop.url, country="DE")
    await say(page, "Ich will mich umbringen")
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("0800 111 0 111")
    await expect(alert.get_by_role("link", name="112 anrufen")).to_be_in_viewport()
    await expect(page.locator(".hc-card")).to_have_count(0)
    await page.wait_for_selector("#stop-button", state="detached")
    assert shop.model.requests == []
    await shop.settled([("crisis",)], "SELECT outcome FROM message WHERE text = 'Ich will mich umbringen'")
    await page.reload()
    await expect(page.get_by_role("alert")).to_contain_text("0800 111 0 111")
    assert "umbringen" not in (await page.title())
    assert await page.locator(".positive-feedback").count() == 0


@pytest.mark.parametrize(("view", "scheme"), [(NARROW, "dark"), (WIDE, "light")])
async def test_it_fits_the_screen_in_both_themes_and_comes_back_after_a_reload(
    shop: Served, view: dict[str, int], scheme: str
) -> None:
    shop.play(reply(f"{WARM} Or is it {'x' * 300}? " + " ".join(f"What was day {n} like?" for n in range(9))))
    async with chromium(view, scheme) as context:
        page = context.pages[0]
        console = Console(page)
        await page.goto(shop.url)
        assert await overflow(page) <= 0
        await enter(context, shop.url)
        assert ("dark" in (await page.locator("html").get_attribute("class") or "")) == (scheme == "dark")
        await say(page, "<b>Long</b> " + "y" * 300)
        await answered(page, 1)
        await expect(page.get_by_role("group", name=SPOKEN)).to_be_in_viewport(ratio=0.9)
        assert await overflow(page) <= 0
        assert await contrast(page, ".hc-card", ".hc-level, .hc-limits, .hc-label, .hc-toggle") >= 4.5
        before = await page.locator(".message-content").all_inner_texts()
        address = page.url
        assert "/chat/thread/" in address
        await page.reload()
        await page.wait_for_selector(".hc-card")
        assert page.url == address
        assert await page.locator(".message-content").all_inner_texts() == before
        assert await overflow(page) <= 0
        for path in ("/you", "/help", "/consent"):
            await page.goto(shop.url + path)
            assert await overflow(page) <= 0, path
        assert console.errors == []
        assert console.hosts == {shop.url.split("//")[1]}


async def test_stop_and_a_reload_in_the_middle(shop: Served, browser: BrowserContext) -> None:
    shop.play(slow(1000))
    page = await enter(browser, shop.url)
    await say(page, "Tell me a long story.")
    await expect(page.get_by_text("word3")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("word12")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("Stopped. What had arrived is kept.", exact=True)).to_be_visible()
    await expect(page.locator("#chat-submit")).to_be_visible()
    await shop.settled([("stopped",)], "SELECT outcome FROM message WHERE text = 'Tell me a long story.'")


async def test_export_then_erase(shop: Served, browser: BrowserContext, tmp_path: Path) -> None:
    shop.play(reply(WARM))
    page = await enter(browser, shop.url)
    await say(page, "Words of my own.")
    await answered(page, 1)
    ((person, message),) = shop.rows(
        "SELECT c.participant_id, m.id FROM message m JOIN conversation c ON c.id = m.conversation_id"
        " WHERE m.text = 'Words of my own.'"
    )
    await page.get_by_role("link", name="Your data").click()
    async with page.expect_download() as started:
        await page.click("#export")
    await (await started.value).save_as(tmp_path / "mine.json")
    mine = json.loads((tmp_path / "mine.json").read_text(encoding="utf-8"))
    assert mine["conversations"][0]["messages"][0]["text"] == "Words of my own."
    assert mine["conversations"][0]["messages"][0]["reply"]["drafts"][0]["text"] == WARM
    await page.check("#sure")
    await page.click("#erase")
    await expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("erased", re.I))
    assert shop.rows(OUTCOME, message) == []
    for table in ("participant", "users"):
        key = "id" if table == "participant" else "identifier"
        assert shop.rows(f"SELECT * FROM {table} WHERE {key} = ?", person) == []  # noqa: S608 - names of this test
    assert shop.rows("SELECT count(*) FROM steps WHERE output LIKE '%of my own%'") == [(0,)]
    await page.goto(shop.url + "/chat/")
    assert page.url.rstrip("/") == shop.url


async def test_who_says_no_gets_help_and_leaves_nothing(shop: Served, browser: BrowserContext) -> None:
    before = shop.rows("SELECT count(*) FROM participant")
    page = browser.pages[0]
    await page.goto(shop.url)
    await page.click("#decline")
    await expect(page.get_by_role("main")).to_contain_text("112")
    await page.goto(shop.url + "/chat/")
    await expect(page.locator("#agree")).to_be_visible()
    assert shop.rows("SELECT count(*) FROM participant") == before
