"""Blind ballots in a real Chromium: from consent to the vote, the reveal, the rows; every byte before the vote."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Page, Response, WebSocket, expect

from heard.chat_app.models.downloads import Weights
from tests.browser import NARROW, Console, contrast, enter, installed, say
from tests.journeys.ballot_steps import balloted, line_of, mark, patient
from tests.journeys.balloting import TEXTS, Blind, blind_chat, found
from tests.journeys.talking import CRISIS, locked
from tests.servers import reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path"),
]

expect.set_options(timeout=40_000)


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Blind]:
    with blind_chat(tmp_path_factory.mktemp("blind")) as made:
        yield made


@pytest.fixture(autouse=True)
def fresh(blind: Blind) -> None:
    blind.play(*(reply(text) for text in TEXTS))


class Wire:
    """Everything that a page is sent: bodies, headers and addresses of answers, and frames of sockets."""

    def __init__(self, page: Page) -> None:
        self.sent: list[str] = []
        self.frames = 0
        self._reading: set[asyncio.Task[None]] = set()
        page.on("response", self._response)
        page.on("websocket", self._socket)

    def _response(self, response: Response) -> None:
        task = asyncio.ensure_future(self._read(response))
        self._reading.add(task)

    async def _read(self, response: Response) -> None:
        self.sent.append(response.url + json.dumps(await response.all_headers()))
        if response.status not in (101, 204, 301, 302, 303, 304):
            self.sent.append((await response.body()).decode("utf-8", "replace"))

    def _socket(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._frame)

    def _frame(self, payload: Any) -> None:
        self.frames += 1
        self.sent.append(payload.decode("utf-8", "replace") if isinstance(payload, bytes) else str(payload))

    async def everything(self) -> str:
        await asyncio.gather(*self._reading, return_exceptions=True)
        return "\n".join(self.sent)


async def test_from_consent_to_the_vote_and_on_with_no_name_before_it(blind: Blind) -> None:
    async with patient() as browser:
        console, wire = Console(browser.pages[0]), Wire(browser.pages[0])
        page = await enter(browser, blind.served.url, research=True)
        await expect(page.locator("#chat-profiles")).to_have_count(0)
        await say(page, "My week was too much.")
        await balloted(page)
        answers = page.locator(".hb-answers .hb-answer")
        await expect(answers).to_have_count(3)
        tops = [(await answers.nth(n).bounding_box() or {})["y"] for n in range(3)]
        assert tops[0] == tops[1]  # side by side, and the third too where three have room for 40 characters
        assert await line_of(answers.first, ".hb-text") >= 40
        await expect(page.get_by_role("button", name="Vote", exact=True)).to_be_disabled()
        before = await wire.everything()
        assert wire.frames > 3
        assert any(text[:20] in before for text in TEXTS)
        assert found(before) == []
        assert found(await page.content()) == []

        await mark(page, "B", "most")
        await mark(page, "A", "least")
        await page.get_by_label("Why?").fill("=It listened.")
        await page.get_by_role("button", name="Vote", exact=True).click()
        await expect(page.get_by_text("Your vote is stored.")).to_be_visible()
        chosen = page.get_by_role("region", name="Answer B")
        await expect(chosen).to_contain_text("the conversation goes on from here")
        await expect(chosen).to_contain_text("Written by")
        await expect(page.locator(".hb-folded")).to_have_count(2)
        assert len(found(await wire.everything())) >= 9  # the search finds every arm once it may

        ((ballot, choice, most, least, reason, width, seconds),) = blind.served.rows(
            "SELECT ballot_id, choice, most, least, reason, width_class, seconds FROM vote"
        )
        assert (choice, most, least, reason, width) == ("ranked", 2, 1, "=It listened.", "desktop")
        assert seconds > 0
        source = blind.served.rows("SELECT source FROM slot WHERE ballot_id = ? AND position = 2", ballot)[0][0]
        await expect(chosen).to_contain_text(source)
        await say(page, "And now?")
        await balloted(page, 2)
        ((text,),) = blind.served.rows(
            "SELECT a.text FROM answer a JOIN slot s ON s.answer_id = a.id WHERE s.ballot_id = ? AND s.position = 2",
            ballot,
        )
        assert blind.models[0].requests[-1]["messages"][2]["content"] == text

        await page.reload()
        await balloted(page, 2)
        await expect(page.get_by_role("region", name="Answer B").first).to_contain_text(source)
        await expect(page.locator(".hb-answers")).to_have_count(1)  # the second one is still open
        assert [error for error in console.errors if "400" not in error] == []
        assert console.hosts == {blind.served.url.split("//")[1]}


async def test_a_vote_that_cannot_be_stored_stays_marked(blind: Blind) -> None:
    async with patient() as browser:
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        await mark(page, "C", "most")
        await mark(page, "B", "least")
        with locked(blind.served.data_dir) as other:
            await page.get_by_role("button", name="Vote", exact=True).click()
            await expect(page.locator(".hb-fault")).to_contain_text("Your choice is still on the page")
            other.execute("ROLLBACK")
        await expect(page.get_by_role("radio", name="Answer C is the most empathetic")).to_be_checked()
        await page.get_by_role("button", name="Vote", exact=True).dblclick()
        await expect(page.get_by_text("Your vote is stored.")).to_be_visible()
        assert blind.served.rows("SELECT most, least, changes FROM vote WHERE most = 3 AND least = 2") == [(3, 2, 0)]


async def test_a_second_tab_cannot_vote_again_once_the_first_was_told_who_wrote_what(blind: Blind) -> None:
    async with patient() as browser:
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        tab = await browser.new_page()
        await tab.goto(page.url)
        await balloted(tab)
        assert await tab.locator(".hb-text").all_inner_texts() == await page.locator(".hb-text").all_inner_texts()
        assert found(await tab.content()) == []
        await page.get_by_role("button", name="About the same").click()
        await page.get_by_role("button", name="Vote", exact=True).click()
        await expect(page.get_by_text("Your vote is stored: about the same.")).to_be_visible()
        await tab.get_by_role("button", name="None of these").click()
        await tab.get_by_role("button", name="Vote", exact=True).click()
        await expect(tab.get_by_role("alert")).to_contain_text("It stays as it is")
        rows = blind.served.rows("SELECT choice, changes FROM vote ORDER BY voted_at DESC LIMIT 1")
        assert rows == [("same", 0)]


async def test_a_crisis_in_the_reason_gets_people_at_once(blind: Blind) -> None:
    async with patient(NARROW) as browser:
        page = await enter(browser, blind.served.url, country="DE")
        await say(page, "My week was too much.")
        await balloted(page)
        await mark(page, "A", "most")
        await mark(page, "B", "least")
        await page.get_by_label("Why?").fill(f"Honestly? {CRISIS}.")
        await page.get_by_role("button", name="Vote", exact=True).click()
        alert = page.get_by_role("alert").filter(has_text="112")
        await expect(alert).to_be_in_viewport()
        await expect(alert).to_contain_text("was not stored")
        rows = blind.served.rows("SELECT choice, reason FROM vote ORDER BY voted_at DESC LIMIT 1")
        assert rows == [("ranked", None)]
        assert await page.get_by_text(CRISIS).count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_on_a_phone_the_answers_stand_one_below_the_other(blind: Blind, scheme: str) -> None:
    async with patient(NARROW, scheme) as browser:
        page = await enter(browser, blind.served.url)
        await say(page, "My week was too much.")
        await balloted(page)
        boxes = [await box.bounding_box() or {} for box in await page.locator(".hb-answers .hb-answer").all()]
        assert len({box["x"] for box in boxes}) == 1
        assert all(one["y"] + one["height"] <= two["y"] for one, two in itertools.pairwise(boxes))
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert await contrast(page, ".hb-answer", ".hb-text p") >= 4.5
        await page.set_viewport_size({"width": 390, "height": 600})
        for letter in "ABC":  # the marks are on the screen whichever answer is read
            await page.get_by_role("region", name=f"Answer {letter}").evaluate("(one) => one.scrollIntoView()")
            for what in ("most", "least"):
                marks = page.get_by_role("radiogroup", name=f"{what} empathetic")
                await expect(marks).to_be_in_viewport(ratio=1)
                await expect(marks.get_by_role("radio")).to_have_count(3)
        await page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        await page.get_by_role("button", name="Skip", exact=True).click()
        await expect(page.get_by_text("You went on without a vote.")).to_be_visible()
        assert found(await page.content()) == []
        await page.get_by_role("button", name="Vote after all").click()
        await mark(page, "A", "most")
        await mark(page, "B", "least")
        await page.get_by_role("button", name="Vote", exact=True).click()
        await expect(page.get_by_text("Written by").first).to_be_visible()
        await expect(page.get_by_role("region", name="Answer A")).to_be_in_viewport()
        assert await contrast(page, ".hb-answer", ".hb-reveal dt, .hb-reveal dd, .hb-said") >= 4.5
        rows = blind.served.rows("SELECT choice, width_class, changes FROM vote ORDER BY voted_at DESC LIMIT 1")
        assert rows == [("ranked", "phone", 1)]
