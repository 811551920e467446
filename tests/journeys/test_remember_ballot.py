"""In a live study: no ballot for a turn about a person's safety, and nothing of it in the answers' prompts."""

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from heard.chat_app.models.downloads import Weights
from tests.journeys.balloting import TEXTS, Blind, ballot_in, blind_chat
from tests.journeys.talking import CRISIS
from tests.servers import reply
from tests.socket_client import SocketPage, Visitor


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Blind]:
    with blind_chat(tmp_path_factory.mktemp("blind")) as made:
        yield made


@pytest.fixture
async def voter(blind: Blind) -> AsyncIterator[SocketPage]:
    blind.play(*(reply(text) for text in TEXTS))
    async with Visitor.agree(blind.served.url, research=True, country="US") as visitor, visitor.page() as opened:
        yield opened


async def test_no_ballot_until_the_person_is_safe(blind: Blind, voter: SocketPage) -> None:
    first = await voter.send("My week was too much.")
    asked = blind.asked
    assert (await voter.send(CRISIS)).reply["name"] == "heard safety"
    for said in ("i called but hung up", "k", "i'm safe now"):
        turn = await voter.send(said)
        assert turn.reply["name"] == "Answers"
        assert turn.reply["id"] not in voter.cards
        assert blind.served.rows("SELECT count(*) FROM ballot WHERE message_id = ?", turn.message_id) == [(0,)]
    assert blind.asked == asked
    assert ballot_in(voter, first)["closed"] is None
    async with voter.visitor.page(thread=voter.thread) as again:
        assert again.steps[turn.reply["id"]]["output"] == turn.text
        assert turn.reply["id"] not in again.cards
    later = await voter.send("My week got a bit better.")
    assert len(ballot_in(voter, later)["answers"]) == 3
    for model in blind.models:
        prompt = json.dumps(model.requests[-1]["messages"])
        assert "too much" in prompt
        for words in ("kill", "hung up", "safe now", "988", turn.text[:20]):
            assert words not in prompt, words
    assert blind.served.rows("SELECT count(*) FROM score s JOIN draft d ON d.id = s.draft_id JOIN reply r ON"
                             " r.id = d.reply_id JOIN message m ON m.id = r.message_id WHERE m.safety IS NOT NULL"
                             ) == [(0,)]  # fmt: skip
