"""A strategy's hidden steps over the real socket: no byte that a page gets tells of them, with a ballot or without."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.models.downloads import Weights
from tests.journeys.balloting import PROMPTS, TEXTS, Blind, ballot_in, blind_chat, write_prompts
from tests.journeys.talking import WARM, Served
from tests.journeys.test_ballot_socket import vote
from tests.servers import asked, reply, stall
from tests.socket_client import SocketPage, Visitor

DRAFT, CRITIQUE = "Aardvark draft of a thought", "Quokka critique of it"
WORDS = ("aardvark", "quokka", "critique", "first draft")
"""Of the steps' texts, names and instructions."""


class Listening:
    """Everything that a page is sent: the events that the client knows, and all others."""

    def __init__(self, page: SocketPage) -> None:
        self._page, self._others = page, []  # type: ignore[var-annotated]
        page._client.on("*", self._note)
        self._known = [page.events]

    async def _note(self, *data: Any) -> None:
        self._others.append(data)

    def found(self) -> list[str]:
        self._known.append(self._page.events)
        sent = json.dumps([[[e.name, e.data] for events in self._known for e in events], self._others]).lower()
        assert WARM.lower()[:12] in sent or TEXTS[0].lower()[:12] in sent, "the search sees what is sent"
        return [word for word in WORDS if word in sent]


async def test_a_chat_shows_the_reply_and_nothing_of_its_steps(talking: Served, page: SocketPage) -> None:
    listening = Listening(page)
    await page.choose(model="talker", strategy="multifaceted-feedback")
    talking.play(reply(DRAFT, pause=0.02), reply(CRITIQUE), reply(WARM))
    turn = await page.send("My week was long.")
    assert turn.text == WARM
    assert listening.found() == []
    (steps,) = talking.rows("SELECT d.steps FROM draft d JOIN reply r ON r.id = d.reply_id WHERE r.message_id = ?",
                            turn.message_id)[0]  # fmt: skip
    assert [step["text"] for step in json.loads(steps)] == [DRAFT, CRITIQUE]

    async with page.visitor.page(thread=page.thread) as again:
        assert Listening(again).found() == []
    history = talking.rows("SELECT output, metadata FROM steps UNION ALL SELECT props, name FROM elements")
    assert [word for word in WORDS if word in json.dumps(history).lower()] == []
    own = (await page.visitor.http.get("/you/export")).text.lower()
    assert "aardvark" in own, "their own data has them, for whoever asks for all of it"


async def test_stop_in_a_step_leaves_nothing_of_it_on_the_page(talking: Served, page: SocketPage) -> None:
    await page.choose(model="talker", strategy="multifaceted-feedback")
    talking.play(reply(DRAFT), stall(CRITIQUE))
    turn = await page.begin("My week was long.")
    await asked(talking.model, 2)
    await page.stop()
    await page.end(turn)
    sent = json.dumps([[event.name, event.data] for event in turn.events]).lower()
    assert [word for word in WORDS if word in sent] == []
    assert talking.rows("SELECT outcome FROM message WHERE id = ?", turn.message_id) == [("stopped",)]
    talking.model.wait_for_disconnect()


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Blind]:
    """Its first arm has the product's own strategy of two steps."""
    folder = tmp_path_factory.mktemp("steps")
    write_prompts(folder / "prompts")
    own = Path(PROMPTS / "strategies" / "multifaceted-feedback.yaml").read_text(encoding="utf-8")
    (folder / "prompts" / "strategies" / "stratoak.yaml").write_text(own, encoding="utf-8")
    with blind_chat(folder) as made:
        yield made


async def test_a_ballot_holds_nothing_of_an_arms_steps_and_an_export_only_after_the_vote(blind: Blind) -> None:
    blind.play(*(reply(text) for text in TEXTS))
    blind.models[0].scripts = (reply(DRAFT), reply(CRITIQUE), reply(TEXTS[0]))
    async with Visitor.agree(blind.served.url) as visitor, visitor.page() as page:
        listening = Listening(page)
        turn = await page.send("My week was long.")
        ballot = ballot_in(page, turn)
        assert len(ballot["answers"]) == 3
        assert [len(model.requests) for model in blind.models] == [3, 1, 1]
        assert listening.found() == []
        before = (await visitor.http.get("/you/export")).text.lower()
        told = await vote(page, ballot)
        assert [word for word in WORDS if word in (before + json.dumps(told)).lower()] == []
        assert listening.found() == []
        assert "aardvark" in (await visitor.http.get("/you/export")).text.lower()
    drafts = blind.served.rows("SELECT drafts FROM answer WHERE drafts LIKE '%Aardvark%'")
    assert [step["text"] for step in json.loads(drafts[0][0])[0]["steps"]] == [DRAFT, CRITIQUE]
