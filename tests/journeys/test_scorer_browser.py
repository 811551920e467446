"""The scorer's page of a running `heard chat`: over HTTP, and in a real Chromium on a small screen."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from playwright.async_api import expect

from heard.chat_app.models.downloads import Weights
from heard.scorer.records import level_of
from tests.browser import NARROW, Console, chromium, contrast, installed
from tests.journeys.talking import CRISIS, WARM, Served, serving

FLAGS = "SELECT reply, note, empathy, head_name FROM flag"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("scorer"), default_model="talker") as made:
        yield made


def test_the_running_program_scores_flags_and_erases(shop: Served) -> None:
    with httpx.Client(base_url=shop.url, headers={"origin": shop.url}, timeout=30) as client:
        given = client.post("/api/score", json={"seeker": "", "reply": WARM}).json()
        page = client.post("/scorer", data={"reply": WARM})
        shown = re.search(r"Empathy (\d\.\d+), (\w+)", page.text)
        assert shown is not None
        assert (float(shown[1]), shown[2]) == (pytest.approx(given["empathy"], abs=0.05), level_of(given["empathy"]))
        assert client.post("/scorer/flag", data={"reply": WARM}).status_code == 403
        version = client.get("/").text.split('name="version" value="')[1].split('"')[0]
        client.post("/consent", data={"chat": "yes", "adult": "yes", "research": "no", "version": version})
        assert client.post("/scorer/flag", data={"reply": WARM, "note": "warm"}).status_code == 200
        assert shop.rows(FLAGS) == [(WARM, "warm", given["empathy"], "both")]
        assert "You matter" in client.post("/scorer/flag", data={"reply": WARM, "seeker": CRISIS}).text
        assert len(shop.rows(FLAGS)) == 1
        assert client.post("/scorer", data={"reply": WARM}, headers={"origin": "http://evil"}).status_code == 403
        assert client.post("/you/erase", data={"sure": "yes"}).status_code == 200
    assert shop.rows(FLAGS) == []
    with closing(sqlite3.connect(shop.data_dir / "heard.db")) as database:
        assert WARM not in "".join(database.iterdump())


@pytest.mark.browser
@pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_by_keyboard_on_a_small_screen(shop: Served, scheme: str) -> None:
    attack = f"{WARM} <img src=x onerror=document.title='owned'>"
    async with chromium(NARROW, scheme) as context:
        page = context.pages[0]
        console = Console(page)
        await page.goto(shop.url)
        version = await page.locator("[name=version]").input_value()
        answers = {"chat": "yes", "adult": "yes", "research": "no", "version": version}
        # Agreed to by hand, since the button leads to the chat, which is not needed here.
        await page.request.post(f"{shop.url}/consent", form=answers, headers={"origin": shop.url}, max_redirects=0)
        await page.goto(shop.url + "/you")
        await page.get_by_role("link", name="Scorer").click()
        await page.get_by_label("Reply").focus()
        await page.keyboard.insert_text(attack)
        await page.keyboard.press("Tab")
        await page.keyboard.insert_text("I am worn out.")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        scores = page.get_by_role("listitem").filter(has_text="Empathy")
        await expect(scores).to_be_in_viewport()
        number, level = [await scores.locator(part).inner_text() for part in (".number", ".level")]
        await expect(page).to_have_title(f"Empathy {number}, {level} · heard")
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert await contrast(page, "#result", "#result .level, #result .quiet, #result .score, #result a") >= 4.5
        await page.get_by_label("Note").fill("odd one")
        await page.get_by_role("button", name="Flag this case").click()
        await expect(page.get_by_role("status")).to_contain_text("Stored with your data")
        await expect(page.get_by_role("status")).to_be_in_viewport()
        assert (attack, "odd one") in [row[:2] for row in shop.rows(FLAGS)]
        await page.get_by_role("link", name="Clear").click()
        await expect(page.get_by_label("Reply")).to_have_value("")
        await expect(page.get_by_label("Message it answers")).to_have_value("")
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert console.errors == []
        assert console.hosts == {shop.url.split("//")[1]}
