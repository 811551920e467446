"""heard's card in another Chainlit app: a plain app in a folder of its own, run by `chainlit run`."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from playwright.async_api import expect

from heard.chat_app.integrations.card_files import ELEMENT, STYLESHEET, PluginError, hand_out
from heard.chat_app.integrations.open_scorer import open_scorer
from heard.chat_app.models.downloads import Weights
from heard.chat_app.page.chainlit_files import PUBLIC
from tests.browser import Console, chromium, installed, say
from tests.journeys.talking import CRISIS, CURT, WARM
from tests.plain_chainlit import PlainPage, Running, page_of, running

SOURCE = f"""
import chainlit as cl

from heard.chat_app.integrations.chainlit_plugin import score_replies, show_score


@cl.on_chat_start
async def welcome():
    first = cl.Message("Hello, I am here to listen.")
    await first.send()
    await show_score(first, seeker="")


@cl.on_message
@score_replies
async def answer(message: cl.Message):
    if message.content == "stream":
        reply = cl.Message("")
        for word in {WARM!r}.split(" "):
            await reply.stream_token(word + " ")
        await reply.update()
    elif message.content == "two":
        await cl.Message({CURT!r}).send()
        await cl.Message({WARM!r}).send()
    elif message.content == "nothing":
        await cl.Message("").send()
    elif message.content == "fail":
        await cl.Message({WARM!r}).send()
        raise ValueError("a fault of the app")
    else:
        await cl.Message({WARM!r}).send()
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("plain")
    (folder / "settings.toml").write_text('theme = "of another program"\n', encoding="utf-8")
    own = folder / "public" / "elements" / "ScoreCard.jsx"
    own.parent.mkdir(parents=True)
    own.write_text("export default () => null;\n", encoding="utf-8")
    with running(folder, SOURCE) as made:
        yield made


@pytest.fixture
async def page(app: Running) -> AsyncIterator[PlainPage]:
    """A page whose welcome has been shown and scored."""
    async with page_of(app) as opened:
        await opened.until(lambda: len(opened.cards) == 1 and not opened.loading)
        yield opened


async def test_a_reply_gets_the_card_with_the_scorer_s_score(page: PlainPage) -> None:
    turn = await page.send("I failed my exam.")
    card = page.cards[turn.reply["id"]]
    score = open_scorer().score("I failed my exam.", WARM)
    assert score.empathy is not None
    assert card["score"]["scored"] is True
    assert float(card["score"]["empathy"]["shown"]) == pytest.approx(score.empathy, abs=0.06)
    assert card["drafts"] == []
    (event,) = [event.data for event in turn.events if event.name == "element"]
    assert (event["name"], event["type"], event["display"]) == (ELEMENT, "custom", "inline")


async def test_streamed_replies_and_each_of_several_get_one(page: PlainPage) -> None:
    streamed = await page.send("stream")
    assert len(streamed.cards) == 1
    two = await page.send("two")
    curt, warm = (page.cards[reply["id"]]["score"]["empathy"]["share"] for reply in two.replies)
    assert curt < warm
    assert (await page.send("nothing")).cards == []


async def test_any_other_message_can_be_shown_with_its_score(page: PlainPage) -> None:
    ((reply_id, card),) = page.cards.items()
    assert page.steps[reply_id]["output"] == "Hello, I am here to listen."
    assert card["score"]["scored"] is True


async def test_a_crisis_is_not_rated(page: PlainPage) -> None:
    turn = await page.send(CRISIS)
    assert turn.card is not None
    assert turn.card["score"]["scored"] is False
    assert "crisis" in turn.card["score"]["reason"]


async def test_a_fault_of_the_app_stays_the_app_s(app: Running, page: PlainPage) -> None:
    turn = await page.send("fail")
    assert turn.cards == []
    assert turn.text == WARM
    assert "ValueError: a fault of the app" in app.log.read_text(encoding="utf-8")
    assert len((await page.send("Are you still there?")).cards) == 1


def test_its_server_hands_out_the_card_and_its_folder_stays_its_own(app: Running) -> None:
    given = httpx.get(f"{app.url}/public/elements/{ELEMENT}.jsx")
    assert given.text == (PUBLIC / "elements" / "ScoreCard.jsx").read_text(encoding="utf-8")
    style = httpx.get(f"{app.url}{STYLESHEET}")
    assert style.text == (PUBLIC / "card.css").read_text(encoding="utf-8")
    assert style.headers["content-type"].startswith("text/css")
    own = httpx.get(f"{app.url}/public/elements/ScoreCard.jsx")
    assert own.text == "export default () => null;\n"
    assert [path.name for path in (app.folder / "public").rglob("*") if path.is_file()] == ["ScoreCard.jsx"]


async def test_below_a_root_path_too(tmp_path: Path, weights: Weights) -> None:
    with running(tmp_path, SOURCE, "--root-path", "/deep") as made:
        async with page_of(made) as page:
            await page.until(lambda: len(page.cards) == 1 and not page.loading)
            assert (await page.visitor.http.get(f"{made.url}{STYLESHEET}")).status_code == 200
            assert len((await page.send("I failed my exam.")).cards) == 1


@pytest.mark.browser
@pytest.mark.skipif(not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM=/path")
async def test_the_card_is_drawn(app: Running) -> None:
    async with chromium() as context:
        page = context.pages[0]
        console = Console(page)
        await page.goto(app.url)
        cards = page.locator(".hc-card")
        await expect(cards).to_have_count(1, timeout=30_000)  # the welcome's: before it the page starts anew
        await say(page, "I failed my exam.")
        await expect(cards).to_have_count(2, timeout=30_000)
        await expect(page.get_by_role("group", name="Estimated empathy.").last).to_be_visible()
        bar = cards.last.locator(".hc-row.hc-main .hc-fill")
        await expect(bar).to_have_css("fill", "rgb(108, 208, 161)")  # High, on the dark page that is Chainlit's own
        await cards.first.get_by_role("button", name="Empathy").click()
        assert await page.evaluate("document.querySelectorAll('.hc-row')[0].offsetWidth") > 200
        assert [error for error in console.errors if "HeardScoreCard" in error or "heard" in error] == []


def test_an_app_that_has_started_is_told_what_to_do() -> None:
    late = FastAPI()
    late.middleware_stack = late.build_middleware_stack()
    with pytest.raises(PluginError, match="at the top of your app"):
        hand_out(late)


def test_a_second_import_adds_nothing() -> None:
    app = FastAPI()
    hand_out(app)
    hand_out(app)
    assert len(app.user_middleware) == 1
