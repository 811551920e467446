"""A survey of a running `heard chat` in a real Chromium: two people vote, and nothing is told before a vote."""

import asyncio
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page, expect

from heard.chat_app.models.downloads import Weights
from tests.browser import NARROW, WIDE, Console, chromium, contrast, installed
from tests.journeys.ballot_steps import hasty, line_of
from tests.journeys.surveying import BACK, CODE, SOURCES, Study, make_in
from tests.journeys.talking import CRISIS, Served, locked, serving, silent

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]

VOTES = (
    "SELECT b.number, v.choice, v.most, v.least, v.reason, v.width_class, v.changes FROM vote v"
    " JOIN ballot b ON b.id = v.ballot_id JOIN enrolment e ON e.participant_id = v.participant_id"
    " AND e.study_id = b.study_id WHERE e.study_id = ? AND e.external_id = ? ORDER BY b.number"
)
SLOTS = (
    "SELECT b.number, s.position, s.source, a.text FROM slot s JOIN ballot b ON b.id = s.ballot_id"
    " JOIN answer a ON a.id = s.answer_id JOIN enrolment e ON e.participant_id = b.participant_id"
    " AND e.study_id = b.study_id WHERE e.study_id = ? AND e.external_id = ? ORDER BY b.number, s.position"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("survey"), default_model="talker", save_seconds="0.3") as made:
        yield made


@pytest.fixture
async def visitor() -> AsyncIterator[BrowserContext]:
    async with chromium(NARROW) as context:
        yield context


async def come(context: BrowserContext, shop: Served, study: Study, pid: str) -> Page:
    """From the link through consent to the first ballot."""
    page = context.pages[0]
    await page.goto(f"{shop.url}/survey?study={study.name}&PROLIFIC_PID={pid}&STUDY_ID=x&SESSION_ID=y")
    await page.check("#adult")
    await page.check("#research")
    await page.get_by_role("button", name="I agree, go on to the study").click()
    await page.get_by_role("button", name="Start").click()
    await expect(page).to_have_title(f"1 of {len(study.items)} · heard")
    return page


def radio(page: Page, letter: str, what: str) -> Any:
    return page.get_by_role("radio", name=f"Answer {letter}: {what} empathetic")


async def mark(page: Page, most: str, least: str) -> None:
    await radio(page, most, "Most").check()
    await radio(page, least, "Least").check()


async def save(page: Page) -> None:
    await page.get_by_role("button", name="Save and go on").click()


async def test_two_people_vote_on_one_study_in_orders_of_their_own(shop: Served) -> None:
    study = await make_in(shop.data_dir, id="two", reveal=True)
    async with chromium(WIDE) as wide, chromium(NARROW, "dark") as narrow:
        first, second = await asyncio.gather(come(wide, shop, study, "one"), come(narrow, shop, study, "two"))
        consoles = [Console(first), Console(second)]

        await mark(first, "A", "E")
        await first.get_by_label("Why?").fill("It is =warm")
        await save(first)
        await expect(first).to_have_title("2 of 3 · heard")
        # The other person has seen nothing of that, and is where they were.
        await second.reload()
        await expect(second).to_have_title("1 of 3 · heard")
        assert study.found((await second.content()).encode()) == set()
        await mark(second, "B", "C")
        await save(second)

        # Back shows the vote, which may be changed as long as nothing is told.
        await first.go_back()
        await expect(radio(first, "A", "Most")).to_be_checked()
        await expect(first.get_by_label("Why?")).to_have_value("It is =warm")
        await first.get_by_role("link", name="Go on without a change").click()
        await expect(first).to_have_title("2 of 3 · heard")
        await first.get_by_role("button", name="About the same").click()
        await save(first)
        await expect(first).to_have_title("3 of 3 · heard")

        # Somebody who comes back by the link goes on where they stopped.
        await first.goto(f"{shop.url}/survey/two?pid=one")
        await expect(first).to_have_title("3 of 3 · heard")
        await mark(first, "C", "A")
        await save(first)
        await first.get_by_label("What made certain responses").fill("The warm ones.")
        await first.get_by_role("button", name="Finish").click()
        await expect(first.locator("#code")).to_have_text(CODE)
        await expect(first.get_by_role("link", name="Back to the page that sent you")).to_have_attribute("href", BACK)

        for number, choice in ((2, "None of these"), (3, "Skip")):
            await expect(second).to_have_title(f"{number} of 3 · heard")
            await second.get_by_role("button", name=choice).click()
            await save(second)
        await second.get_by_role("button", name="Finish").click()
        await expect(second.locator("#code")).to_have_text(CODE)

        # After the last ballot everything is told but what was skipped, and every vote is final.
        await expect(second.get_by_role("link", name="Ballot")).to_have_count(2)
        await first.get_by_role("link", name="Ballot 1").click()
        await expect(first.get_by_role("heading", level=1)).to_have_text("Who wrote what")
        await first.get_by_role("link", name="Back to my vote").click()
        await expect(radio(first, "B", "Most")).to_be_disabled()
        await expect(first.get_by_text("It stays as it is")).to_be_visible()
        for console in consoles:
            assert console.errors == []
            assert console.hosts == {shop.url.split("//")[1]}

    assert shop.rows(VOTES, "two", "one") == [
        (1, "ranked", 1, 5, "It is =warm", "desktop", 0),
        (2, "same", None, None, None, "desktop", 0),
        (3, "ranked", 3, 1, None, "desktop", 0),
    ]
    assert shop.rows(VOTES, "two", "two") == [
        (1, "ranked", 2, 3, None, "phone", 0),
        (2, "none", None, None, None, "phone", 0),
        (3, "skipped", None, None, None, "phone", 0),
    ]
    assert shop.rows("SELECT count(*) FROM vote_change") == [(0,)]
    assert shop.rows("SELECT external_id, closing, completed_at IS NOT NULL FROM enrolment ORDER BY external_id") == [
        ("one", "The warm ones.", 1),
        ("two", None, 1),
    ]
    assert shop.rows("SELECT count(*) FROM vote WHERE seconds <= 0 OR seconds > 120") == [(0,)]
    orders = [{row[3]: row[1] for row in shop.rows(SLOTS, "two", pid)} for pid in ("one", "two")]
    assert orders[0].keys() == orders[1].keys()
    assert orders[0] != orders[1]


@asynccontextmanager
async def overheard(shop: Served) -> AsyncIterator[tuple[str, bytearray]]:
    """The program at another address, and every byte that it sends there, headers and all, in the order of sending."""
    sent = bytearray()
    host, port = shop.url.split("//")[1].split(":")

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, into: bytearray) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                into += data
                writer.write(data)
                await writer.drain()
        writer.close()

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pump(reader, ours, bytearray()), pump(theirs, writer, sent))

    server = await asyncio.start_server(between, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", sent
    finally:
        server.close()


async def test_no_byte_before_the_vote_tells_a_source(shop: Served) -> None:
    """Also not what the browser keeps: cookies, both storages, the history's state, the page as it is then."""
    study = await make_in(shop.data_dir, id="secret", attention=True, reveal=True)
    async with overheard(shop) as (url, sent), chromium(NARROW) as visitor:
        page = await come(visitor, replace(shop, url=url), study, "reader")

        async def everything() -> bytes:
            await page.wait_for_load_state("networkidle")
            kept = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])")
            cookies = json.dumps([dict(cookie) for cookie in await visitor.cookies()])
            return bytes(sent) + (kept + cookies + await page.content()).encode()

        for number in (1, 2, 3):
            await expect(page).to_have_title(f"{number} of 3 · heard")
            await mark(page, "B", "C")
            await page.get_by_label("Why?").fill("calm")
            before = await everything()
            assert f"{number} of 3".encode() in before  # what has heard nothing would find nothing
            assert number > 1 or (b"Crisis help" in before and b"requestAnimationFrame" in before)
            assert b"content-security-policy" in before
            assert study.found(before) == set()
            sent.clear()
            await save(page)
        await page.get_by_role("button", name="Finish").click()
        await page.get_by_role("link", name="Ballot 1").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Who wrote what")
        # The same detector finds them all as soon as they are told.
        assert set(SOURCES) | {"okapi-9b", "brunhilde", "tarantella"} <= study.found(await everything())


async def test_a_locked_database_and_a_lost_network_keep_the_choice(shop: Served, visitor: BrowserContext) -> None:
    study = await make_in(shop.data_dir, id="locked")
    page = await come(visitor, shop, study, "patient")
    await save(page)
    await expect(page.get_by_role("alert")).to_contain_text("Mark the most and the least empathetic answer first")
    await expect(radio(page, "A", "Most")).to_be_focused()
    await mark(page, "D", "B")
    await page.get_by_label("Why?").fill("It listens.")
    with locked(shop.data_dir):
        await save(page)
        await expect(page.get_by_role("alert")).to_contain_text("busy")
        await expect(page.get_by_role("alert")).to_be_in_viewport()
    await visitor.set_offline(True)
    await save(page)
    await expect(page.get_by_role("alert")).to_contain_text("did not reach the server")
    await visitor.set_offline(False)
    assert shop.rows(VOTES, "locked", "patient") == []
    for _ in range(2):  # as it is, and after the page was loaded anew
        await expect(radio(page, "D", "Most")).to_be_checked()
        await expect(radio(page, "B", "Least")).to_be_checked()
        await expect(page.get_by_label("Why?")).to_have_value("It listens.")
        await page.reload()
    await page.get_by_role("button", name="Save and go on").dblclick()
    await expect(page).to_have_title("2 of 3 · heard")
    assert shop.rows(VOTES, "locked", "patient") == [(1, "ranked", 4, 2, "It listens.", "phone", 0)]
    assert await page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["phone", "desktop"])
async def test_a_silent_server_ends_in_a_sentence_and_the_next_try_in_one_vote(
    shop: Served, size: dict[str, int]
) -> None:
    study = await make_in(shop.data_dir, id=f"silent-{size['width']}")
    async with chromium(size) as context:
        await hasty(context)
        page = await come(context, shop, study, "waiting")
        await mark(page, "D", "B")
        await page.get_by_label("Why?").fill("It listens.")
        with silent(shop):
            await page.get_by_role("button", name="Save and go on").dblclick()
            await expect(radio(page, "A", "Most")).to_be_disabled()
            await expect(page.get_by_role("alert")).to_contain_text("The server has not answered within")
            await expect(page.get_by_role("alert")).to_be_in_viewport()
            await expect(radio(page, "D", "Most")).to_be_checked()
            await expect(radio(page, "A", "Most")).to_be_enabled()
            await expect(page.get_by_label("Why?")).to_be_editable()
        await page.get_by_role("button", name="Save and go on").dblclick()
        await expect(page).to_have_title("2 of 3 · heard")
        assert [row[1:5] + row[6:] for row in shop.rows(VOTES, study.name, "waiting")] == [
            ("ranked", 4, 2, "It listens.", 0)
        ]
        assert await page.evaluate("sessionStorage.length") == 0


async def test_a_vote_that_has_become_final_in_another_tab_leaves_nothing_here(
    shop: Served, visitor: BrowserContext
) -> None:
    study = await make_in(shop.data_dir, id="tabs", items=1, reveal=True)
    page = await come(visitor, shop, study, "tabs")
    await mark(page, "D", "B")
    tab = await visitor.new_page()
    await tab.goto(page.url)
    await mark(tab, "A", "B")
    await save(tab)
    await expect(tab.get_by_role("heading", level=1)).to_have_text("One last question")
    await save(page)
    await expect(page.get_by_role("alert")).to_contain_text("It stays as it is")
    await page.reload()
    await expect(radio(page, "A", "Most")).to_be_checked()
    assert await page.evaluate("sessionStorage.length") == 0


async def test_an_answer_that_was_lost_makes_no_second_vote_unless_it_is_another(
    shop: Served, visitor: BrowserContext
) -> None:
    study = await make_in(shop.data_dir, id="lost", reveal=False)
    page = await come(visitor, shop, study, "loser")

    async def lose(route: Any) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/vote", lose)
    await mark(page, "A", "B")
    await save(page)
    await expect(page.get_by_role("alert")).to_contain_text("did not reach the server")
    assert shop.rows(VOTES, "lost", "loser") == [(1, "ranked", 1, 2, None, "phone", 0)]
    await page.reload()  # the request's id outlives it
    await save(page)
    await expect(page.get_by_role("alert")).to_contain_text("did not reach the server")
    assert shop.rows(VOTES, "lost", "loser") == [(1, "ranked", 1, 2, None, "phone", 0)]
    await mark(page, "C", "B")
    await page.unroute("**/vote")
    await save(page)
    await expect(page).to_have_title(re.compile("^2 of "))
    assert shop.rows(VOTES, "lost", "loser") == [(1, "ranked", 3, 2, None, "phone", 1)]


async def test_a_crisis_in_the_reason_gets_people_and_the_vote_without_it(
    shop: Served, visitor: BrowserContext
) -> None:
    study = await make_in(shop.data_dir, id="crisis")
    page = await come(visitor, shop, study, "hurt")
    await mark(page, "A", "B")
    await page.get_by_label("Why?").fill(f"Honestly? {CRISIS}.")
    await save(page)
    await expect(page.get_by_role("heading", level=1)).to_contain_text("You matter")
    await expect(page.get_by_text("your vote is stored, without it")).to_be_visible()
    assert shop.rows(VOTES, "crisis", "hurt") == [(1, "ranked", 1, 2, None, "phone", 0)]
    for path in shop.data_dir.iterdir():
        assert path.is_dir() or CRISIS.encode() not in path.read_bytes()
    assert await page.evaluate("sessionStorage.length") == 0
    await page.get_by_role("link", name="Go on with the study").click()
    await expect(page).to_have_title("2 of 3 · heard")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_by_keyboard_alone_on_a_small_screen(shop: Served, scheme: str, tmp_path: Path) -> None:
    study = await make_in(shop.data_dir, id=f"keys-{scheme}", items=1, reveal=True, open_question="")
    async with chromium(NARROW, scheme) as context:
        page = await come(context, shop, study, "keys")
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        await expect(page.get_by_role("button", name="About the same")).to_be_enabled()  # the page's script is there
        await radio(page, "A", "Most").focus()
        await page.keyboard.press("Space")
        await page.keyboard.press("ArrowRight")  # from A to B within one group, through all cards
        await expect(radio(page, "B", "Most")).to_be_checked()
        await radio(page, "B", "Least").focus()
        await page.keyboard.press("Space")  # the same answer cannot be both
        await expect(radio(page, "B", "Most")).not_to_be_checked()
        await page.keyboard.press("ArrowRight")
        await radio(page, "B", "Most").focus()
        await page.keyboard.press("Space")
        assert await contrast(page, ".answer", ".answer h2, .answer .words") >= 4.5
        assert await contrast(page, ".picks", ".pick > span, .mark:not(:has(:checked))") >= 4.5
        for marked in (".most .mark:has(:checked)", ".least .mark:has(:checked)"):
            assert await contrast(page, marked, marked) >= 4.5
        assert await contrast(page, "#save", "#save") >= 4.5
        await page.keyboard.press("Tab")
        for _ in range(12):
            if await page.evaluate("document.activeElement.id") == "save":
                break
            await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.get_by_role("link", name="Ballot 1").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Who wrote what")
        assert await contrast(page, ".answer", ".answer .own, .answer .facts, .answer summary") >= 4.5
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert shop.rows(VOTES, study.name, "keys") == [(1, "ranked", 2, 3, None, "phone", 0)]


async def test_without_a_script_the_page_says_what_is_missing(shop: Served) -> None:
    study = await make_in(shop.data_dir, id="bare")
    async with chromium(NARROW) as context:
        page = await come(context, shop, study, "bare")
        await page.route("**/survey.js", lambda route: route.abort())
        await page.reload()
        await expect(page.get_by_role("button", name="Save and go on")).to_be_disabled()
        assert "this page needs JavaScript" in await page.locator("noscript").inner_text()


async def test_columns_have_room_for_forty_characters_and_the_marks_stay_in_view(shop: Served) -> None:
    study = await make_in(shop.data_dir, id="boxes")
    with closing(sqlite3.connect(shop.data_dir / "heard.db")) as database, database:
        long = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(40))
        database.execute("UPDATE answer SET text = ? WHERE study_id = 'boxes' AND source = 'flinders'", [long])
    async with chromium(WIDE) as context:
        page = await come(context, shop, study, "boxes")
        for size, columns in ((WIDE, {2, 3}), (NARROW, {1}), ({"width": 2560, "height": 900}, {5})):
            await page.set_viewport_size(size)  # type: ignore[arg-type]
            cards = await page.locator(".answer").all()
            boxes = [box for card in cards if (box := await card.bounding_box())]
            assert len(boxes) == 5
            assert len({round(box["x"]) for box in boxes}) in columns
            assert len({round(box["width"]) for box in boxes}) == 1
            assert columns == {1} or min([await line_of(card, ".words") for card in cards]) >= 40
            heights = sorted(box["height"] for box in boxes)
            assert heights[-1] > 5 * heights[0], "each is as high as its text"
            for part in ("top", "bottom"):  # of the longest: what is marked stands on the screen with what is read
                long_card = page.locator(".answer", has_text="Paragraph 39")
                await long_card.evaluate(
                    "(card, top) => scrollTo(0, top ? card.offsetTop : card.offsetTop + card.offsetHeight - 500)",
                    part == "top",
                )
                for letter in "ABCDE":
                    await expect(radio(page, letter, "Most")).to_be_in_viewport(ratio=1)
                    await expect(radio(page, letter, "Least")).to_be_in_viewport(ratio=1)
                await expect(long_card.get_by_role("heading")).to_be_in_viewport(ratio=1)
        await expect(page.get_by_role("radiogroup")).to_have_count(2)
        await expect(page.get_by_role("radiogroup", name="Most empathetic").get_by_role("radio")).to_have_count(5)
