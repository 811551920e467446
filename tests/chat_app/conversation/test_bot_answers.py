"""A question about the bot in a turn: the fixed text, stored as a reply that no model wrote and nobody rates."""

import asyncio
import logging
import sqlite3
import threading
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.conversation.bot_answers import Naming, bot_answer, label_of, runs_here
from heard.chat_app.conversation.bot_questions import BotQuestions
from heard.chat_app.conversation.drafts import FIXED_TEXT
from heard.chat_app.conversation.events import DraftStarted, Finished, NotSaved, Token
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.page import draft_cards
from heard.db.records import ConsentRecord
from heard.scorer.vectors import Vectors
from tests.chat_app.conversation.test_turn import PERSON, WARM, World, kinds, serves, world
from tests.servers import reply

__all__ = ["world"]

REAL = "r u a bot??"


def with_setting(world: World, **changes: Any) -> World:
    """The same world with other settings."""
    settings = world.services.settings.model_copy(update=changes)
    return World(replace(world.services, settings=settings), world.server)


@serves(reply(WARM))
async def test_the_fixed_text_comes_and_no_model_is_asked(world: World, caplog: pytest.LogCaptureFixture) -> None:
    request = world.request(REAL)
    with caplog.at_level(logging.DEBUG, logger="heard"):
        events = await world.run(request)
    assert kinds(events) == ["DraftStarted", "Token", "DraftComplete", "Finished"]
    assert events[0] == DraftStarted(1, None, scored=False)
    (token,) = [event for event in events if isinstance(event, Token)]
    assert token.text == world.services.library.bot_answers.intents["real"].texts["listener"]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert (finished.votable, finished.reply.kept.text) == (False, token.text)
    assert draft_cards.final_props(finished.reply.drafts) is None
    assert world.server.requests == []
    assert world.outcome(request) == "answered"
    rows = world.rows("SELECT text, model, status, kept, length(prompt_sha256), guidance FROM draft")
    assert rows == [(token.text, FIXED_TEXT, "complete", 1, 64, None)]
    assert world.rows("SELECT count(*) FROM score") == [(0,)]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("heard")]
    assert not [line for line in ours if "bot??" in line]


@serves(reply(WARM))
async def test_it_comes_in_the_middle_of_a_talk_and_the_talk_goes_on_from_it(world: World) -> None:
    first = world.request("My cat is ill.")
    await world.run(first)
    asked = world.request("wait, whats ur name", conversation_id=first.conversation_id)
    assert kinds(await world.run(asked))[-2:] == ["DraftComplete", "Finished"]
    assert len(world.server.requests) == 1
    await world.run(world.request("It is free now.", conversation_id=first.conversation_id))
    sent = [message["content"] for message in world.server.requests[-1]["messages"]]
    assert sent[-3:-1] == ["wait, whats ur name", (await world.services.store.history(first.conversation_id))[1].reply]


@serves(reply(WARM))
async def test_all_else_goes_to_the_model_and_a_crisis_to_people(world: World) -> None:
    assert kinds(await world.run(world.request("are you real with me rn my mum died")))[-2:] == ["Scored", "Finished"]
    assert kinds(await world.run(world.request("Are you real? I want to kill myself."))) == ["CrisisShown"]
    assert kinds(await world.run(world.request("are you real " * 700))) == ["Refused"]
    assert len(world.server.requests) == 1


@serves(reply(WARM))
async def test_stop_leaves_it_whole(world: World) -> None:
    request = world.request(REAL)
    async with aclosing(run_turn(request, world.services)) as events:
        async for _ in events:
            break
    assert world.outcome(request) == "answered"
    assert world.rows("SELECT status, length(text) > 20 FROM draft") == [("complete", 1)]


@serves(reply(WARM))
async def test_a_stop_while_the_message_is_read_closes_it(world: World, tmp_path: Path) -> None:
    reading, stopped = threading.Event(), threading.Event()

    def vectors() -> Vectors:
        reading.set()
        stopped.wait()
        assert world.services.scorer.vectors is not None
        return world.services.scorer.vectors

    slow = replace(world.services, bot_questions=BotQuestions(vectors, tmp_path))
    request = world.request("might you be a machine")
    turn = asyncio.ensure_future(World(slow, world.server).run(request))
    await asyncio.to_thread(reading.wait)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    stopped.set()
    assert world.outcome(request) == "stopped"
    assert world.server.requests == []


@serves(reply(WARM))
async def test_what_cannot_be_stored_is_shown_and_said(world: World) -> None:
    blocker = sqlite3.connect(world.path, isolation_level=None)
    events = []
    try:
        async for event in run_turn(world.request(REAL), world.services):
            events.append(event)
            if isinstance(event, DraftStarted):
                blocker.execute("BEGIN IMMEDIATE")
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
    lost = events[-1]
    assert isinstance(lost, NotSaved)
    assert "this page only" in lost.sentence
    assert lost.text == lost.drafts[0].text
    assert world.rows("SELECT count(*) FROM draft") == [(0,)]


async def answered(world: World, text: str, naming: Naming = Naming.NAMED, **changes: Any) -> str:
    found = await bot_answer(world.request(text, **changes), world.services, opening=True, naming=naming)
    assert found is not None
    return found


@serves(reply(WARM))
async def test_the_facts_are_those_of_this_site(world: World) -> None:
    far = replace(world.services.models.specs["scripted"], label="Big (ours)", base_url="https://models.example/v1")
    which, who = "which model are you", "who reads this"
    assert "Big, a language model that runs on somebody else's computer" in await answered(world, which, model=far)
    assert "scripted, a language model that runs on this site's own computer" in await answered(world, which)
    assert "go to whoever runs the model" in await answered(world, who, model=far)
    assert "whoever runs" not in await answered(world, who)
    assert world.request().persona.name in await answered(world, "whats ur name")
    assert "random id" in await answered(world, "what do you store")
    assert "the people who put this site online" in await answered(world, "who runs this site")
    named = with_setting(world, operator="the Empathy Lab (lab@example.org)")
    for question in ("who runs this site", who):
        assert "the Empathy Lab (lab@example.org)" in await answered(named, question)


@serves(reply(WARM))
async def test_what_a_person_allowed_for_research_is_told_to_that_person(world: World) -> None:
    facts = world.services.library.bot_answers.facts.research
    text = await answered(world, "who can read this")
    assert facts.allowed not in text
    assert facts.refused not in text
    for research, told, other in ((True, facts.allowed, facts.refused), (False, facts.refused, facts.allowed)):
        await world.services.store.save_consent(ConsentRecord(PERSON, "v", True, research, datetime.now(UTC)))
        text = await answered(world, "who can read this")
        assert told in text
        assert other not in text


@serves(reply(WARM))
async def test_in_a_blind_study_no_answer_names_a_model(world: World) -> None:
    for naming, told in ((Naming.TOLD_LATER, "told after your vote"), (Naming.UNTOLD, "not told while answers")):
        assert told in await answered(world, "which model are you", naming)
        for intent in world.services.library.bot_answers.intents.values():
            text = await answered(world, intent.phrasings[0], naming)
            assert not [name for name in ("scripted", "smollm2", "echo") if name in text.lower()]


def test_where_a_model_runs_and_what_it_is_called() -> None:
    spec = ModelSpec("a", "openai", "m", "Qwen 7B (our GPU)")
    assert label_of(spec) == "Qwen 7B"
    assert label_of(replace(spec, label="(ours)")) == "(ours)"
    for url, here in (
        ("http://127.0.0.1:8001/v1", True), ("http://localhost:1/v1", True), ("http://[::1]:1", True),
        ("http://10.0.0.5:1/v1", False), ("https://api.example.org/v1", False), (None, False),
    ):  # fmt: skip
        assert runs_here(replace(spec, base_url=url)) is here
    assert runs_here(ModelSpec("a", "embedded", "m", "M"))
