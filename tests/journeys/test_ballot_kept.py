"""What is chosen on the chat's ballot is not lost before it is stored, nor kept for longer: in a real Chromium."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from heard.chat_app.models.downloads import Weights
from tests.browser import NARROW, WIDE, enter, installed, say
from tests.journeys.ballot_steps import WORDS, balloted, fill, filled, hasty, kept, lose, mark, patient, vote
from tests.journeys.balloting import SOURCES, TEXTS, Blind, blind_chat, found
from tests.journeys.talking import silent
from tests.servers import reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]
SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["phone", "desktop"])
VOTES = "SELECT v.choice, v.most, v.least, v.reason, v.changes FROM vote v JOIN ballot b ON b.id = v.ballot_id" \
    " WHERE b.conversation_id = ?"  # fmt: skip

expect.set_options(timeout=40_000)


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Blind]:
    with blind_chat(tmp_path_factory.mktemp("kept")) as made:
        yield made


@pytest.fixture(autouse=True)
def fresh(blind: Blind) -> None:
    blind.play(*(reply(text) for text in TEXTS))


def votes(blind: Blind, page: Page) -> list[tuple[Any, ...]]:
    """The votes in the conversation that the page shows."""
    return blind.served.rows(VOTES, page.url.rsplit("/", 1)[1])


async def nonsense(body: str, route: Any) -> None:
    """What something between the browser and the server may answer."""
    await route.fulfill(status=502, body=body)


@SIZES
async def test_marks_and_reason_outlive_a_reload(blind: Blind, size: dict[str, int]) -> None:
    async with patient(size) as browser:
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        assert await kept(page) == []
        await fill(page, "B", "A")
        await page.wait_for_timeout(1_500)
        addresses = [page.url]
        page.on("request", lambda request: addresses.append(request.url))
        for _ in range(2):
            await page.reload()
            await balloted(page)
            await filled(page, "B", "A")
            assert found(str(await kept(page))) == []
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        await mark(page, "C", "least")
        await page.reload()
        await balloted(page)
        await filled(page, "B", "C")
        await vote(page)
        await expect(page.get_by_text("Your vote is stored.")).to_be_visible()
        assert votes(blind, page) == [("ranked", 2, 3, WORDS, 0)]
        (seconds,) = blind.served.rows("SELECT seconds FROM vote ORDER BY voted_at DESC LIMIT 1")[0]
        assert 1.5 < seconds < 120
        assert await kept(page) == []
        await page.reload()
        await expect(page.get_by_role("region", name="Answer B")).to_contain_text("Written by")
        assert await kept(page) == []
        assert "alm" not in "".join(address.split("/", 3)[3] for address in addresses)


@SIZES
async def test_a_silent_server_ends_in_a_sentence_and_the_next_try_in_one_vote(
    blind: Blind, size: dict[str, int]
) -> None:
    async with patient(size) as browser:
        await hasty(browser)
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        await fill(page, "C", "B")
        with silent(blind.served):
            await page.get_by_role("button", name="Vote", exact=True).dblclick()
            sending = page.get_by_role("button", name="Sending…")
            await expect(sending).to_be_disabled()
            await expect(page.get_by_label("Why?")).to_be_disabled()
            fault = page.locator(".hb-fault")
            await expect(fault).to_contain_text("The server has not answered within")
            await expect(fault).to_contain_text("Your choice is kept")
            await expect(fault).to_be_in_viewport()
            await expect(sending).to_have_count(0)
            await filled(page, "C", "B")
        await page.get_by_role("button", name="Vote", exact=True).dblclick()
        await expect(page.get_by_text("Your vote is stored.")).to_be_visible()
        assert votes(blind, page) == [("ranked", 3, 2, WORDS, 0)]
        assert await kept(page) == []


async def test_a_lost_connection_keeps_the_choice(blind: Blind) -> None:
    async with patient(NARROW) as browser:
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        await fill(page, "A", "C")
        await browser.set_offline(True)
        await vote(page)
        await expect(page.locator(".hb-fault")).to_contain_text("did not reach the server")
        await filled(page, "A", "C")
        assert votes(blind, page) == []
        await browser.set_offline(False)
        await vote(page)
        await expect(page.get_by_text("Your vote is stored.")).to_be_visible()
        assert votes(blind, page) == [("ranked", 1, 3, WORDS, 0)]
        assert await kept(page) == []


async def test_an_answer_that_is_lost_makes_no_second_vote(blind: Blind) -> None:
    async with patient() as browser:
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        await fill(page, "B", "C")
        await page.route("**/vote", lose)
        await vote(page)
        await expect(page.locator(".hb-fault")).to_be_visible()
        assert found(await page.content()) == []
        await page.unroute("**/vote")
        await vote(page)
        await expect(page.get_by_text("Written by").first).to_be_visible()
        assert votes(blind, page) == [("ranked", 2, 3, WORDS, 0)]
        assert await kept(page) == []


async def test_an_answer_without_sense_is_named_too_and_a_long_reason_is_not_even_sent(blind: Blind) -> None:
    async with patient() as browser:
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        await fill(page, "B", "C", "x" * 5_001)
        await vote(page)
        await expect(page.locator(".hb-fault")).to_contain_text("5,001 characters, and 5,000 are allowed")
        await filled(page, "B", "C", "x" * 5_001)
        await page.get_by_label("Why?").fill(WORDS)
        await expect(page.locator(".hb-fault")).to_have_count(0)
        for body in ("<h1>Bad gateway</h1>", '{"detail": [{"msg": "x"}]}'):
            await page.route("**/vote", partial(nonsense, body))
            await vote(page)
            await expect(page.locator(".hb-fault")).to_contain_text("could not take the vote just now")
            await filled(page, "B", "C")
            await page.unroute("**/vote")
        assert votes(blind, page) == []
        await page.get_by_role("button", name="Skip", exact=True).click()
        await expect(page.get_by_text("You went on without a vote.")).to_be_visible()
        assert await kept(page) == []
        await page.get_by_role("button", name="Vote after all").click()
        await filled(page, "B", "C")


async def test_erasing_takes_what_was_not_sent_out_of_every_tab(blind: Blind) -> None:
    async with patient() as browser:
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        await fill(page, "B", "C")
        tab = await browser.new_page()
        await tab.goto(page.url)
        await balloted(tab)
        await fill(tab, "A", "C", "Other words, calmly.")
        assert "calmly" in str(await kept(page))
        assert "calmly" in str(await kept(tab))
        await page.goto(f"{blind.served.url}/you")
        await page.check("#sure")
        await page.get_by_role("button", name="Erase").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Erased")
        await page.wait_for_load_state()
        await tab.wait_for_url(f"{blind.served.url}/")  # sent there by the server
        await tab.wait_for_load_state()
        for one in (page, tab):
            assert await kept(one) == []


async def test_a_vote_that_may_be_changed_is_changed_or_left_as_it_is(tmp_path: Path, weights: Weights) -> None:
    """In a study that reveals nothing, across a reload."""
    arms = "".join(
        f'[[arms]]\nname = "{persona}"\npersona = "{persona}"\nstrategy = "{strategy}"\nmodel = "{model}"\n'
        for persona, _, strategy, model in SOURCES
    )
    study = tmp_path / "quiet.toml"
    study.write_text(f'id = "quiet"\nkind = "live"\ntitle = "Quiet"\nreveal = false\n{arms}', encoding="utf-8")
    with blind_chat(tmp_path, blind_arms="", blind_study=str(study)) as quiet:
        async with patient() as browser:
            page = await enter(browser, quiet.served.url)
            await say(page, "My week was too much.")
            await balloted(page)
            await fill(page, "B", "C")
            await vote(page)
            change = page.get_by_role("button", name="Change my vote")
            await change.click()
            await mark(page, "A", "most")
            await page.get_by_role("button", name="Leave it as it is").click()
            assert await kept(page) == []
            await page.reload()
            await change.click()
            await filled(page, "B", "C")
            await mark(page, "A", "most")
            await page.reload()
            await balloted(page)
            await filled(page, "A", "C")  # the change goes on
            await vote(page)
            await expect(change).to_be_visible()
            assert votes(quiet, page) == [("ranked", 1, 3, WORDS, 1)]
            assert await kept(page) == []
            stands = page.get_by_role("region", name="Answer B")
            await expect(stands).to_contain_text("the conversation goes on from here")
            assert found(await page.content()) == []
