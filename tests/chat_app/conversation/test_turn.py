"""One turn against the real store, the real scorer and a real HTTP server that plays the model."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.events import (
    CrisisShown,
    DraftStarted,
    Failed,
    Finished,
    NotSaved,
    Refused,
    Scored,
    Token,
    TurnEvent,
    TurnRequest,
)
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from heard.db.records import PastTurn
from heard.scorer.records import ScoreStatus
from tests.chat_app.models.asking import message_to
from tests.servers import ScriptedServer, cut, reply, stall

COLD = "Okay. There are trips all the time, and there will be other ones."
WARM = (
    "I'm so sorry, that sounds really painful, and it makes sense that you feel alone with it. I'm here with you. "
    "What has been the hardest part of this week for you?"
)
PERSON = "11111111-1111-4111-8111-111111111111"
QUESTION = "My friends went on a trip without me and I feel left out."


class World:
    """Services over a scripted model, and the database as anybody would look into it."""

    def __init__(self, services: Services, server: ScriptedServer) -> None:
        self.services, self.server = services, server
        self.path = services.settings.data_dir / "heard.db"

    def request(self, text: str = QUESTION, **changes: Any) -> TurnRequest:
        return message_to(self.services, "scripted", text, **{"participant_id": PERSON, **changes})

    async def run(self, request: TurnRequest) -> list[TurnEvent]:
        return [event async for event in run_turn(request, self.services)]

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    def outcome(self, request: TurnRequest) -> str | None:
        found = self.rows("SELECT outcome FROM message WHERE id = ?", request.message_id)
        return found[0][0] if found else None


@pytest.fixture
async def world(tmp_path: Path, weights: Weights, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    scripts = getattr(request, "param", ())
    with ScriptedServer(*scripts) as server:
        models = tmp_path / "models.toml"
        models.write_text(f'scripted = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}\n')
        settings = Settings(
            data_dir=tmp_path, models_file=models, first_token_seconds=2, stall_seconds=1, save_seconds=0.3
        )
        async with open_services(settings, weights) as services:
            await services.store.ensure_participant(PERSON)
            yield World(services, server)


def serves(*scripts: Any) -> pytest.MarkDecorator:
    """Let the model of `world` play these scripts."""
    return pytest.mark.parametrize("world", [scripts], indirect=True)


def kinds(events: list[TurnEvent]) -> list[str]:
    """The events' names in order, tokens once."""
    names: list[str] = []
    for event in events:
        name = type(event).__name__
        if names[-1:] != [name]:
            names.append(name)
    return names


@serves(reply(WARM))
async def test_a_reply_is_streamed_scored_and_stored_whole(world: World) -> None:
    request = world.request()
    events = await world.run(request)
    assert kinds(events) == ["DraftStarted", "Token", "DraftComplete", "Scored", "Finished"]
    assert "".join(event.text for event in events if isinstance(event, Token)) == WARM
    row = world.rows(
        "SELECT m.text, m.outcome, r.persona, r.strategy, d.text, d.status, d.kept, d.prompt_sha256, d.model,"
        " d.first_token_seconds, d.total_seconds, d.prompt_tokens, d.completion_tokens, d.error, s.status, s.empathy,"
        " s.cognitive, s.emotional, s.behavioral, s.head_name, length(s.head_sha256), length(s.encoder_sha256)"
        " FROM message m JOIN reply r ON r.message_id = m.id JOIN draft d ON d.reply_id = r.id"
        " JOIN score s ON s.draft_id = d.id"
    )
    assert len(row) == 1
    text, outcome, persona, strategy, draft, status, kept, sha, model, first, total, asked, answered, error, *score = (
        row[0]
    )
    assert (text, outcome, persona, strategy) == (QUESTION, "answered", "listener", "plain")
    assert (draft, status, kept, model, error) == (WARM, "complete", 1, "scripted", None)
    assert len(sha) == 64
    assert 0 < first <= total
    assert (asked, answered) == (7, len(WARM.split(" ")))
    assert score[0] == "scored"
    assert score[1] == pytest.approx(sum(score[2:5]) / 3)
    assert all(1 <= number <= 3 for number in score[1:5])
    assert score[5:] == ["both", 64, 64]


@serves(reply(COLD), reply(WARM))
async def test_a_low_reply_is_written_again_and_the_better_draft_is_kept(world: World) -> None:
    request = world.request(auto_improve=True, threshold=2.0)
    events = await world.run(request)
    drafts = [event for event in events if isinstance(event, DraftStarted)]
    scores = [event.score for event in events if isinstance(event, Scored)]
    assert scores[0].empathy is not None
    assert scores[0].empathy < 2.0
    assert [draft.guidance for draft in drafts][:2] == [None, scores[0].weakest]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.reply.kept.text == WARM
    stored = world.rows("SELECT number, text, kept, guidance FROM draft ORDER BY number")
    assert [row[1] for row in stored][:2] == [COLD, WARM]
    assert sum(row[2] for row in stored) == 1
    guidance = world.services.library.guidance[drafts[1].guidance or ""]
    assert guidance in world.server.requests[1]["messages"][0]["content"]
    assert guidance not in world.server.requests[0]["messages"][0]["content"]
    assert len(set(row[0] for row in world.rows("SELECT prompt_sha256 FROM draft"))) == len(stored)


@serves(reply(WARM), reply(COLD))
async def test_when_rewrites_are_worse_the_first_draft_stands(world: World) -> None:
    request = world.request(auto_improve=True, threshold=3.0)
    events = await world.run(request)
    assert len(world.server.requests) == 3, "at most two rewrites"
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert (finished.reply.kept.number, finished.reply.kept.text) == (1, WARM)
    assert [draft.number for draft in finished.reply.drafts] == [1, 2, 3]
    history = await world.services.store.history(request.conversation_id)
    assert [item.reply for item in history] == [WARM]


@serves(reply(WARM))
async def test_a_good_reply_is_left_alone(world: World) -> None:
    await world.run(world.request(auto_improve=True, threshold=1.0))
    assert len(world.server.requests) == 1


@serves(reply("Eso suena muy difícil, lo siento mucho por todo lo que estás pasando esta semana."))
async def test_a_reply_that_cannot_be_scored_has_a_reason_and_no_number_and_is_not_improved(world: World) -> None:
    said = "Mis amigos se fueron de viaje sin mí y me siento muy solo esta semana."
    events = await world.run(world.request(said, auto_improve=True, threshold=3.0))
    (scored,) = [event for event in events if isinstance(event, Scored)]
    assert scored.score.status is ScoreStatus.NOT_ENGLISH
    assert scored.score.empathy is None
    assert world.rows("SELECT status, cognitive, emotional, behavioral, empathy, reason FROM score") == [
        ("not_english", None, None, None, None, scored.score.reason)
    ]


@serves(reply(WARM))
async def test_a_crisis_message_reaches_no_model_no_scorer_and_no_later_prompt(world: World) -> None:
    first = world.request("I want to kill myself tonight.")
    events = await world.run(first)
    assert kinds(events) == ["CrisisShown"]
    assert isinstance(events[0], CrisisShown)
    assert world.server.requests == []
    assert world.outcome(first) == "crisis"
    for table in ("reply", "draft", "score"):
        assert world.rows(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608 - names of our own tables
    for text in ("I'm safe now.", "My week at work was hard all the same."):
        await world.run(world.request(text, conversation_id=first.conversation_id))
    assert len(world.server.requests) == 1
    assert "kill myself" not in str(world.server.requests[0])


@serves(reply(WARM))
async def test_a_crisis_counts_before_length_and_before_a_locked_database(world: World) -> None:
    blocker = sqlite3.connect(world.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    try:
        events = await world.run(world.request("la la la " * 3000 + " I want to end my life"))
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
    assert kinds(events) == ["CrisisShown"]
    assert world.server.requests == []


@pytest.mark.parametrize("text", ["", "   \n\t", "\u200b\u200d\ufeff", "\x00", "\u00ad\u2060"])
@serves(reply(WARM))
async def test_an_empty_message_is_refused_and_reaches_nobody(world: World, text: str) -> None:
    events = await world.run(world.request(text))
    assert kinds(events) == ["Refused"]
    assert world.server.requests == []


@serves(reply(WARM))
async def test_a_message_that_is_too_long_is_refused_with_both_numbers(world: World) -> None:
    request = world.request("word " * 4000)
    (refused,) = await world.run(request)
    assert isinstance(refused, Refused)
    assert "20,000" in refused.sentence
    assert "8,000" in refused.sentence
    assert world.server.requests == []
    assert world.outcome(request) == "refused"


@serves(reply(WARM))
@pytest.mark.parametrize("text", ["half \ud83d of an emoji", "nul \x00 inside", "joined \ud83d\ude00 halves"])
async def test_characters_that_no_protocol_carries_do_not_break_a_turn(world: World, text: str) -> None:
    request = world.request(text)
    assert kinds(await world.run(request))[-1] == "Finished"
    sent = world.server.requests[0]["messages"][-1]["content"]
    assert sent.encode()
    assert "\x00" not in sent
    assert world.rows("SELECT text FROM message") == [(sent,)]


@serves(cut("That sounds"))
async def test_a_reply_that_breaks_is_kept_as_broken_and_not_scored(world: World) -> None:
    request = world.request()
    events = await world.run(request)
    assert kinds(events) == ["DraftStarted", "Token", "Failed"]
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert failed.kept_text.strip() == "That sounds"
    assert world.outcome(request) == "broken"
    assert world.rows("SELECT status, kept, error FROM draft") == [("broken", 1, failed.sentence)]
    assert world.rows("SELECT count(*) FROM score") == [(0,)]
    assert await world.services.store.history(request.conversation_id) == [PastTurn(request.text, failed.kept_text)]
    assert len(world.server.requests) == 1, "never tried again after the first token"


@serves(reply(COLD), cut("I am"))
async def test_a_rewrite_that_breaks_leaves_the_first_draft_standing(world: World) -> None:
    request = world.request(auto_improve=True, threshold=3.0)
    events = await world.run(request)
    assert isinstance(events[-1], Finished)
    assert events[-1].reply.kept.text == COLD
    assert [row[0] for row in world.rows("SELECT status FROM draft ORDER BY number")] == ["complete", "broken"]
    assert world.outcome(request) == "answered"


@serves(stall("That sounds hard. I am"))
async def test_stop_keeps_what_had_arrived(world: World) -> None:
    request = world.request()
    async with aclosing(run_turn(request, world.services)) as events:
        async for event in events:
            if isinstance(event, Token) and "sounds" in event.text:
                break
    assert world.outcome(request) == "stopped"
    ((text, status, kept),) = world.rows("SELECT text, status, kept FROM draft")
    assert (text.strip(), status, kept) == ("That sounds hard.", "stopped", 1)
    assert world.rows("SELECT count(*) FROM score") == [(0,)]
    world.server.wait_for_disconnect()


@serves(stall("That sounds hard. I am"))
async def test_cancelling_the_task_stores_the_same(world: World) -> None:
    request = world.request()
    arrived = asyncio.Event()

    async def read() -> None:
        async with aclosing(run_turn(request, world.services)) as events:
            async for event in events:
                if isinstance(event, Token):
                    arrived.set()

    task = asyncio.create_task(read())
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.outcome(request) == "stopped"


@serves(reply(COLD), stall("I am here. I"))
async def test_stop_during_a_rewrite_keeps_the_whole_draft(world: World) -> None:
    request = world.request(auto_improve=True, threshold=3.0)
    async with aclosing(run_turn(request, world.services)) as events:
        rewriting = False
        async for event in events:
            rewriting = rewriting or (isinstance(event, DraftStarted) and event.number == 2)
            if rewriting and isinstance(event, Token):
                break
    assert world.outcome(request) == "answered"
    assert world.rows("SELECT number, status, kept FROM draft ORDER BY number") == [
        (1, "complete", 1),
        (2, "stopped", 0),
    ]


@serves(reply(WARM))
async def test_with_a_locked_database_nothing_is_generated(world: World) -> None:
    blocker = sqlite3.connect(world.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    request = world.request()
    try:
        (refused,) = await world.run(request)
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
    assert isinstance(refused, Refused)
    assert "busy" in refused.sentence
    assert world.server.requests == []
    assert world.outcome(request) is None
    assert kinds(await world.run(request))[-1] == "Finished", "the same message goes through afterwards"


@serves(reply(WARM, pause=0.05))
async def test_a_database_locked_at_the_end_says_so_and_writes_no_half_reply(world: World) -> None:
    blocker = sqlite3.connect(world.path, isolation_level=None)
    request = world.request()
    try:
        events = []
        async for event in run_turn(request, world.services):
            events.append(event)
            if isinstance(event, DraftStarted):
                blocker.execute("BEGIN IMMEDIATE")
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
    assert isinstance(events[-1], NotSaved)
    assert events[-1].text == WARM
    assert "this page only" in events[-1].sentence
    for table in ("reply", "draft", "score"):
        assert world.rows(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608 - names of our own tables
    assert await world.services.store.mark_interrupted() == 1


@serves(reply(WARM, pause=0.05))
async def test_erasing_while_a_reply_streams_brings_nothing_back(world: World) -> None:
    request = world.request()
    events = []
    async for event in run_turn(request, world.services):
        events.append(event)
        if isinstance(event, DraftStarted):
            await world.services.store.erase_participant(PERSON)
    assert isinstance(events[-1], NotSaved)
    for table in ("participant", "conversation", "message", "reply", "draft", "score"):
        assert world.rows(f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608 - names of our own tables


@serves(reply(WARM))
async def test_the_study_persona_sends_exactly_its_prompt(world: World) -> None:
    await world.run(world.request(persona=world.services.library.personas["study"]))
    (sent,) = world.server.requests
    (message,) = sent["messages"]
    assert message["role"] == "user"
    assert message["content"].startswith("You are an empathetic therapist. Provide a single thoughtful")
    assert message["content"].endswith(f"Patient: {QUESTION}\nTherapist:")
    assert sent.get("max_tokens", sent.get("max_completion_tokens")) == 640
