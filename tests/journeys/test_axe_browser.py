"""Every page of a running server under axe, in both themes and both widths: no violation."""

from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.async_api import BrowserContext, Page, expect

from heard.chat_app.models.downloads import Weights
from tests.browser import NARROW, WIDE, answered, chromium, enter, installed, say
from tests.journeys.balloting import Blind, blind_chat
from tests.journeys.surveying import make_in
from tests.journeys.talking import CRISIS, CURT, WARM, Served, serving
from tests.servers import refusal, reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RUN = """async (part) => (await axe.run(part ? document.querySelector(part) : document,
  { resultTypes: ["violations"] })).violations
  .map(({ id, nodes }) => [id, nodes[0].html.slice(0, 200)])"""
NESTED = "document.querySelectorAll('button button, button a, a button, a a').length"
TOKEN = "a-token-of-more-than-twenty"
VIEWS = [
    (WIDE, "light"),
    (NARROW, "dark"),
    pytest.param(WIDE, "dark", marks=pytest.mark.slow),
    pytest.param(NARROW, "light", marks=pytest.mark.slow),
]
"""Both themes and both widths each time; all four together when slow tests run."""
PAGES = ("/", "/consent", "/help", "/scorer", "/you", "/safety", "/results", "/nothing-here", "/survey/none")
LONG = "# A title\n\n### And a part\n\n" + "More words come here, one after the other. " * 60


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    settings = {"default_model": "talker", "auto_improve": "true", "researcher_token": TOKEN}
    with serving(tmp_path_factory.mktemp("axe"), **settings) as made:
        yield made


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Blind]:
    with blind_chat(tmp_path_factory.mktemp("axe-blind")) as made:
        yield made


async def clean(page: Page, what: str, part: str | None = None) -> None:
    """No violation on what stands there now, one heading of the first level, and nothing to press in another.

    `part`: of an open menu that alone, for the page's headings and landmarks are hidden behind it.
    """
    await page.locator("main, [role=main]").first.wait_for(state="attached")
    await page.wait_for_timeout(500)  # until nothing fades in any more: half a colour has half a contrast
    await page.evaluate(AXE)
    assert await page.evaluate(RUN, part) == [], what
    assert await page.evaluate("document.querySelectorAll('h1:not([aria-level])').length") == 1, what
    assert await page.evaluate(NESTED) == 0, what


@pytest.mark.parametrize(("view", "scheme"), VIEWS)
async def test_the_chat(shop: Served, view: dict[str, int], scheme: str) -> None:
    shop.play(reply(CURT), reply(WARM))
    async with chromium(view, scheme) as context:
        page = await enter(context, shop.url)
        await clean(page, "welcome")
        await say(page, "שלום. My friends left me out.")
        await answered(page, 1)
        await clean(page, "a reply")
        for toggle in (".hc-line", ".hc-words .hc-toggle", ".hc-drafts .hc-toggle"):
            await page.locator(toggle).click()
        await clean(page, "its card")
        shop.play(refusal(400))
        await say(page, "Again.")
        await expect(page.get_by_role("button", name="Try again")).to_be_visible(timeout=30_000)
        await clean(page, "a fault")
        shop.play(reply(LONG))
        await say(page, "A long one.")
        await answered(page, 2)
        await page.locator(".ai-message").first.scroll_into_view_if_needed()
        await expect(page.get_by_role("button", name="Go to the end of the conversation")).to_be_visible()
        await clean(page, "a long reply, scrolled")
        await opened(page)
        await say(page, CRISIS)
        await expect(page.get_by_role("alert").first).to_be_visible()
        await clean(page, "a hand-off")


async def opened(page: Page) -> None:
    """What opens over the chat."""
    await page.reload()  # the search knows the chats of the page's beginning
    for button in ("Settings", "About"):
        await page.get_by_role("button", name=button, exact=True).click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await clean(page, button)
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.locator("#chat-profiles").click()
    await expect(page.get_by_role("option").first).to_be_visible()
    await clean(page, "the personas", "[role=listbox]")
    while await page.get_by_role("option").count():  # the first press takes a persona's description away
        await page.keyboard.press("Escape")
        await page.wait_for_timeout(200)
    listed = page.get_by_role("button", name="Search in your chats", exact=True)
    folded = not await listed.is_visible()  # on a phone
    if folded:
        await page.get_by_role("button", name="Show or hide the list of chats").click()
        await expect(listed).to_be_visible()
        await clean(page, "the list of chats")
    await listed.click()
    await expect(page.get_by_role("option").first).to_be_visible()
    await clean(page, "the search")
    while await page.get_by_role("dialog").count():
        await page.keyboard.press("Escape")
        await page.wait_for_timeout(200)


@pytest.mark.parametrize(("view", "scheme"), VIEWS)
async def test_the_other_pages(shop: Served, view: dict[str, int], scheme: str) -> None:
    study = await make_in(shop.data_dir, id=f"axe-{view['width']}-{scheme}")
    async with chromium(view, scheme) as context:
        page = context.pages[0]
        for path in PAGES:
            await page.goto(shop.url + path)
            await clean(page, path)
        await enter(context, shop.url)
        await page.goto(shop.url + "/scorer")
        await page.fill("#reply", WARM)
        await page.click("#submit")
        await clean(page, "a score")
        await survey(context, shop, study.name)
        await page.goto(shop.url + "/results")
        await page.fill("input[name=token]", TOKEN)
        await page.get_by_role("main").get_by_role("button").first.click()
        await clean(page, "results")
        await page.goto(f"{shop.url}/results/{study.name}")
        await clean(page, "results of a study")
        for path in ("/desk", f"/desk/{study.name}", f"/desk/{study.name}/access"):
            await page.goto(shop.url + path)
            await clean(page, path)
        await page.goto(f"{shop.url}/desk/{study.name}")
        await page.locator("th[scope=row] a").first.click()
        await clean(page, "a person at the desk")


async def survey(context: BrowserContext, shop: Served, study: str) -> None:
    """The survey's pages from its link to a ballot with marks."""
    page = context.pages[0]
    await context.clear_cookies()  # a new person
    await page.goto(f"{shop.url}/survey?study={study}&PROLIFIC_PID=axe")
    await clean(page, "consent of a survey")
    await page.check("#adult")
    await page.check("#research")
    await page.get_by_role("button", name="I agree, go on to the study").click()
    await clean(page, "start of a survey")
    await page.get_by_role("button", name="Start").click()
    await clean(page, "a ballot of a survey")


@pytest.mark.parametrize(("view", "scheme"), VIEWS)
async def test_a_ballot_in_the_chat(blind: Blind, view: dict[str, int], scheme: str) -> None:
    async with chromium(view, scheme) as context:
        page = await enter(context, blind.served.url)
        await clean(page, "welcome")
        await say(page, "This week has been too much.")
        await expect(page.locator(".hb-answers")).to_be_visible(timeout=60_000)
        await clean(page, "a ballot")
        await page.get_by_role("radio", name="Answer A is the most empathetic").check()
        await page.get_by_role("radio", name="Answer B is the least empathetic").check()
        await page.get_by_role("button", name="Vote", exact=True).click()
        await expect(page.locator(".hb-over")).to_be_visible()
        await clean(page, "a ballot that is over")
