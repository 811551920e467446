"""Over the real socket: that it is an AI, said at the start and every three hours, and the notes towards people."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import connect

import pytest

from heard.chat_app.common.places import DISCLOSURE
from heard.chat_app.models.downloads import Weights
from heard.prompts.nudge_files import NudgeKind, load_nudges
from tests.journeys.balloting import TEXTS, blind_chat
from tests.journeys.talking import CRISIS, WARM, Served, serving
from tests.servers import reply
from tests.socket_client import SocketPage, Visitor

LEFT = "I stopped seeing my therapist because you are so much better."
NUDGES = {kind: [" ".join(text.split()) for text in nudge.texts] for kind, nudge in load_nudges().kinds.items()}
ALL_NUDGES = [text for texts in NUDGES.values() for text in texts]


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("placed"), places="US-NY,US-IL", first_token_seconds="8") as made:
        yield made
    assert made.words_in_log() == []
    assert LEFT not in made.log.read_text(encoding="utf-8")


@pytest.fixture
async def page(placed: Served) -> AsyncIterator[SocketPage]:
    placed.play(reply(WARM))
    async with Visitor.agree(placed.url) as visitor, visitor.page(profile="listener") as opened:
        await opened.choose(model="talker")
        yield opened


def shown(page: SocketPage) -> list[str]:
    """The texts of the page, in order."""
    return [str(step["output"]) for step in page.steps.values()]


def backdate(served: Served, **ago: float) -> None:
    """Let all that was written so far have been written longer ago."""
    seconds = timedelta(**ago).total_seconds()
    with closing(connect(served.data_dir / "heard.db", timeout=10)) as database, database:
        database.execute(
            "UPDATE message SET created_at = strftime('%Y-%m-%d %H:%M:%f000', created_at, ?)", (f"-{seconds} seconds",)
        )


async def test_it_is_said_before_the_first_reply_and_again_after_three_hours(placed: Served, page: SocketPage) -> None:
    await page.send("A hard week.")
    assert shown(page) == ["A hard week.", DISCLOSURE, WARM]
    await page.send("And a long one.")
    assert shown(page).count(DISCLOSURE) == 1
    backdate(placed, hours=3)
    await page.send("I am back.")
    assert shown(page)[-3:] == ["I am back.", DISCLOSURE, WARM]
    await page.send("Still here.")
    told = shown(page)
    assert told.count(DISCLOSURE) == 2
    async with page.visitor.page(thread=page.thread) as again:
        assert shown(again) == told, "in the same places when it is opened again"
    assert DISCLOSURE not in json.dumps(placed.model.requests), "no prompt holds it"
    assert placed.rows("SELECT count(*) FROM steps WHERE output = ?", DISCLOSURE) == [(0,)]


async def test_a_hand_off_stands_alone_and_the_next_reply_has_it(placed: Served, page: SocketPage) -> None:
    turn = await page.send(CRISIS)
    assert "911" in turn.text
    assert DISCLOSURE not in shown(page)
    await page.send("I'm safe now.")
    await page.send("It is a little better.")
    assert shown(page).count(DISCLOSURE) == 1
    assert shown(page)[-1] == WARM


async def test_an_empty_chat_says_it_too_with_the_sentences_of_the_place(placed: Served) -> None:
    async with Visitor.agree(placed.url) as visitor:
        profiles = (await visitor.http.get("/chat/project/settings")).json()["chatProfiles"]
    for profile in profiles:
        assert profile["markdown_description"].endswith(
            f"{DISCLOSURE}\n\nNo therapy: no licensed professional takes part."
        )


async def test_words_get_one_note_a_day_which_is_in_no_prompt_and_no_history(placed: Served, page: SocketPage) -> None:
    await page.send(LEFT)
    assert shown(page)[:2] == [LEFT, DISCLOSURE]
    assert WARM in shown(page)
    notes = [text for text in shown(page) if text in ALL_NUDGES]
    assert len(notes) == 1
    assert notes[0] in NUDGES[NudgeKind.REPLACED_PEOPLE]
    await page.send("I love you so much")
    assert [text for text in shown(page) if text in ALL_NUDGES] == notes
    assert notes[0] not in json.dumps(placed.model.requests)
    async with page.visitor.page(thread=page.thread) as again:
        assert not set(shown(again)) & set(ALL_NUDGES)
    (day,) = placed.rows("SELECT nudged_on FROM participant WHERE id = ?", (await page.visitor.user())["identifier"])
    assert day == (datetime.now(UTC).date().isoformat(),)


async def test_never_in_a_crisis_turn_nor_under_a_fixed_text(placed: Served, page: SocketPage) -> None:
    await page.send(f"{LEFT} {CRISIS}")
    assert not set(shown(page)) & set(ALL_NUDGES)
    await page.send("are you real")
    assert not set(shown(page)) & set(ALL_NUDGES)


async def test_two_hours_of_talk_get_one_after_the_reply(placed: Served, page: SocketPage) -> None:
    for place in range(5):
        await page.send(f"Part {place} of a long story.")
        assert not set(shown(page)) & set(ALL_NUDGES)
        backdate(placed, minutes=25)
    await page.send("The last part of a long story.")
    assert shown(page)[-2] == WARM
    assert shown(page)[-1] in NUDGES[NudgeKind.LONG_TALK]


async def test_in_a_blind_study_it_is_said_before_the_ballot_and_no_note_tilts_a_vote(
    tmp_path: Path, weights: Weights
) -> None:
    with blind_chat(tmp_path, places="US-NY") as blind:
        blind.play(*(reply(text) for text in TEXTS))
        async with Visitor.agree(blind.served.url, research=True) as visitor, visitor.page() as voter:
            await voter.send(LEFT)
            told = shown(voter)
            assert told[:2] == [LEFT, DISCLOSURE]
            assert not set(told) & set(ALL_NUDGES)
        assert blind.served.rows("SELECT nudged_on FROM participant") == [(None,)]
        assert DISCLOSURE not in json.dumps([model.requests for model in blind.models])
