"""Questions about the bot over the real socket, in the chat and in a blind study, and the note on a tiny model."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from heard.prompts.bot_answer_files import read_bot_answers
from heard.prompts.library import BUILT_IN
from tests.journeys.balloting import TEXTS, Blind, ballot_in, blind_chat, found
from tests.journeys.talking import CRISIS, OUTCOME, WARM, Served, serving
from tests.servers import reply
from tests.socket_client import SocketPage, Turn, Visitor

REAL = read_bot_answers(BUILT_IN / "bot_answers.yaml").intents["real"].texts
NOTE = re.compile("very small model")


async def test_the_chat_answers_by_itself_and_the_next_message_goes_to_the_model(
    talking: Served, page: SocketPage
) -> None:
    turn = await page.send("r u even real??")
    assert (turn.text, turn.card, turn.reply["name"]) == (REAL["listener"], None, "Warm supportive listener")
    assert not [event for event in turn.events if event.name == "element"], "no card is announced either"
    assert talking.model.requests == []
    assert talking.rows(OUTCOME, turn.message_id) == [("answered",)]
    after = await page.send("It hurts.")
    assert (after.text, after.card is not None) == (WARM, True)
    async with page.visitor.page(thread=page.thread) as again:
        assert again.steps[turn.reply["id"]]["output"] == REAL["listener"]
        assert turn.reply["id"] not in again.cards
        assert again.settings["model"] == "talker"
    log = talking.log.read_text(encoding="utf-8")
    assert "even real" not in log
    assert REAL["listener"] not in log


async def test_a_chat_that_ends_with_a_fixed_text_opens_with_its_model(talking: Served, page: SocketPage) -> None:
    await page.send("It hurts.")
    await page.send("are you a bot")
    async with page.visitor.page(thread=page.thread) as again:
        assert again.settings["model"] == "talker"
        assert (await again.send("It still hurts.")).text == WARM


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Blind]:
    with blind_chat(tmp_path_factory.mktemp("blind")) as made:
        yield made


@pytest.fixture
async def voter(blind: Blind) -> AsyncIterator[SocketPage]:
    blind.play(*(reply(text) for text in TEXTS))
    async with Visitor.agree(blind.served.url, research=True) as visitor, visitor.page() as opened:
        yield opened


async def test_in_a_blind_study_there_is_no_ballot_and_nothing_is_given_away(blind: Blind, voter: SocketPage) -> None:
    first = await voter.send("My week was too much.")
    asked = blind.asked
    for question, told in (("are you real", REAL["default"]), ("which model are you?", "told after your vote")):
        turn = await voter.send(question)
        assert told in turn.text
        assert blind.served.rows("SELECT count(*) FROM ballot WHERE message_id = ?", turn.message_id) == [(0,)]
        assert blind.served.rows(OUTCOME, turn.message_id) == [("answered",)]
        assert turn.reply["id"] not in voter.cards
        assert found(json.dumps([[event.name, event.data] for event in turn.events])) == []
    assert blind.asked == asked
    assert ballot_in(voter, first)["closed"] is None
    assert blind.served.rows("SELECT count(*) FROM vote") == [(0,)], "the ballot stays open"
    async with voter.visitor.page(thread=voter.thread) as again:
        assert again.steps[turn.reply["id"]]["output"] == turn.text
        assert again.steps[turn.reply["id"]]["name"] == "Answers"
        assert ballot_in(again, first)["answers"] == ballot_in(voter, first)["answers"]
    later = await voter.send("It goes on like this.")
    assert len(ballot_in(voter, later)["answers"]) == 3
    for model in blind.models:
        assert turn.text in [message["content"] for message in model.requests[-1]["messages"]]
    assert (await voter.send(f"are you real? {CRISIS}")).reply["name"] == "heard safety"


MODEL = "SELECT d.model FROM draft d JOIN reply r ON r.id = d.reply_id WHERE d.kept AND r.message_id = ?"


async def by_the_tiny_model(chat: Served, page: SocketPage) -> Turn:
    """A turn whose reply the guard has let through, the first in its chat."""
    for message in ("My cat is ill.", "She sleeps all day.", "I sit beside her.", "It is raining."):
        turn = await page.send(message, seconds=240)
        if chat.rows(MODEL, turn.message_id) == [("smollm2",)]:
            return turn
        assert not NOTE.search(json.dumps(turn.replies))
    raise AssertionError("the guard let none of the replies through")


async def test_a_tiny_model_is_named_once_in_a_chat_and_after_a_reload_too(tmp_path: Path, weights: Weights) -> None:
    with serving(tmp_path) as patient:
        async with Visitor.agree(patient.url) as somebody, somebody.page(profile="quiet") as page:
            await page.choose(model="smollm2")
            fixed = await page.send("are you a bot")
            assert not NOTE.search(json.dumps(fixed.replies))
            first = await by_the_tiny_model(patient, page)
            assert [bool(NOTE.search(str(entry["output"]))) for entry in first.replies] == [False, True]
            assert first.reply["name"] == "heard"
            later = await page.send("She purrs now.", seconds=240)
            assert not NOTE.search(json.dumps(later.replies))
            async with somebody.page(thread=page.thread) as again:
                texts = [str(entry["output"]) for entry in again.steps.values()]
                assert [text for text in texts if NOTE.search(text)] == [first.text]
                ids = list(again.steps)
                assert ids.index(first.reply["id"]) == ids.index(first.replies[0]["id"]) + 1
                last = await again.send("I am glad.", seconds=240)
                assert not NOTE.search(json.dumps(last.replies))
