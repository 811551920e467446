"""The notice, the question about age and the notes of a talk in a real Chromium, on a phone."""

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import BrowserContext, Page, expect

from heard.chat_app.common.places import DISCLOSURE
from heard.chat_app.models.downloads import Weights
from heard.prompts.nudge_files import NudgeKind
from tests.browser import NARROW, Console, answered, chromium, contrast, enter, installed, say
from tests.journeys.talking import WARM, Served, serving
from tests.journeys.test_places_socket import LEFT, NUDGES
from tests.servers import reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]
SETTINGS = {
    "places": "US-NY,US-CA,EU",
    "operator_name": "Empathy Lab, University of Somewhere",
    "contact": "lab@example.org",
    "purpose": "Research on kind replies; nothing is sold.",
    "legal_basis": "your explicit consent (GDPR, articles 6(1)(a) and 9(2)(a))",
    "complaint_authority": "the Data Protection Office, Main Street 1, Somewhere",
    "retention_days": "30",
    "default_model": "talker",
}
WORDS = "#main p, #main li, #main label, #main td"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("placed-browser"), **SETTINGS) as made:
        made.play(reply(WARM))
        yield made


@pytest.fixture
async def phone() -> AsyncIterator[BrowserContext]:
    async with chromium(NARROW) as context:
        yield context


async def fits(page: Page) -> None:
    """Nothing is wider than the screen, and every word can be read on its ground."""
    assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, page.url
    assert await contrast(page, "body", WORDS) >= 4.5, page.url


async def test_the_notice_and_the_pages_it_leads_to_fit_a_phone(site: Served, phone: BrowserContext) -> None:
    page = phone.pages[0]
    console = Console(page)
    await page.goto(site.url)
    for said in ("Empathy Lab", "lab@example.org", "GDPR, article 9", "deleted 30 days after", "Main Street 1"):
        await expect(page.locator("#main")).to_contain_text(said)
    await fits(page)
    await page.get_by_role("link", name="Safety", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("what this chat does in a crisis")
    await fits(page)
    assert console.errors == []


async def test_somebody_younger_finds_whom_to_call_in_one_step(site: Served, phone: BrowserContext) -> None:
    page = phone.pages[0]
    await page.goto(site.url)
    group = page.get_by_role("group", name="How old are you?")
    await expect(group.get_by_role("radio")).to_have_count(2)
    await expect(group.get_by_role("radio", checked=True)).to_have_count(0)
    await group.get_by_text("I am younger.").click()
    await page.select_option("#country", "GB")
    await page.click("#agree")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you for saying so")
    await expect(page.get_by_role("link", name="0800 1111")).to_have_attribute("href", "tel:08001111")
    await fits(page)
    assert [cookie["name"] for cookie in await phone.cookies() if "visitor" in str(cookie["name"])] == []
    await page.get_by_role("link", name="Back to the questions").click()
    await expect(page.locator("#agree")).to_be_visible()


async def test_the_notes_stand_in_the_talk_and_are_heard(site: Served, phone: BrowserContext) -> None:
    page = await enter(phone, site.url)
    await expect(page.locator("#welcome-screen")).to_contain_text(DISCLOSURE)
    await say(page, LEFT)
    await answered(page, 1)
    notes = page.locator('.ai-message:has([alt="Avatar for note"])')
    await expect(notes.first).to_contain_text(DISCLOSURE)
    await expect(notes).to_have_count(2)
    assert any([await page.get_by_text(text).count() for text in NUDGES[NudgeKind.REPLACED_PEOPLE]])
    await expect(page.locator("[role=status]").filter(has_text=DISCLOSURE)).to_have_count(1)
    assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    await page.reload()
    await expect(notes).to_have_count(1)
    await expect(notes).to_contain_text(DISCLOSURE)

    await page.goto(f"{site.url}/you")
    await expect(page.locator("#retention")).to_contain_text("1 message")
    await fits(page)
