"""A named model answers where the chosen one fails before its first token, and never where answers are compared."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.events import BallotReady, Failed, Finished
from heard.chat_app.conversation.running_turns import TurnView
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.circuit_breaker import FAILURE_THRESHOLD
from heard.chat_app.models.downloads import Weights
from heard.chat_app.page.wording import ASKING_ANOTHER, OTHER_MODEL, reply_text
from heard.chat_app.startup import open_services
from heard.chat_app.studies.ballot_turn import run_ballot_turn
from heard.chat_app.studies.study_answers import write_answer
from heard.chat_app.studies.study_file import StudyFile, parse_study, record_of
from heard.db.study_records import AnswerRecord, AnswerStatus, StudyKind
from heard.prompts.records import Prompt, PromptMessage
from tests.chat_app.conversation.test_turn import COLD, PERSON, WARM, World, kinds
from tests.chat_app.models.asking import SECRET, ask
from tests.servers import FOREVER, Script, ScriptedServer, cut, garbage, refusal, reply, silence

ENTRIES = """
scripted = {{ provider = "openai", model = "m", base_url = "{first}", key_env = "FIRST_KEY", fallback = "second" }}
second = {{ provider = "openai", model = "n", base_url = "{second}", key_env = "SECOND_KEY", temperature = 0.1, \
seed = 3, context_tokens = 1024, fallback = "third" }}
third = {{ provider = "openai", model = "o", base_url = "{third}", context_tokens = 512 }}
"""
STORED = "SELECT model, fallback_for, text, status, json_extract(parameters, '$.model') FROM draft ORDER BY number"


class Pair(World):
    """A world whose model has a fallback, and that one another."""

    second: ScriptedServer
    third: ScriptedServer


@pytest.fixture
async def pair(tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    monkeypatch.setenv("FIRST_KEY", f"first-{SECRET}")
    monkeypatch.setenv("SECOND_KEY", f"second-{SECRET}")
    with (
        ScriptedServer(refusal(503, SECRET)) as first,
        ScriptedServer(reply(WARM)) as second,
        ScriptedServer() as third,
    ):
        file = tmp_path / "models.toml"
        file.write_text(
            ENTRIES.format(first=first.base_url, second=second.base_url, third=third.base_url).replace("\\\n", "")
        )
        settings = Settings(data_dir=tmp_path, models_file=file, first_token_seconds=2, stall_seconds=1)
        async with open_services(settings, weights) as services:
            await services.store.ensure_participant(PERSON)
            made = Pair(services, first)
            made.second, made.third = second, third
            yield made


async def test_the_fallback_answers_and_both_names_are_stored(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    view = TurnView()
    said = []
    async with aclosing(run_turn(pair.request(), pair.services)) as events:
        async for event in events:
            view.apply(event)
            said.append(reply_text(view))
    assert len(pair.server.requests) == 3, "its own attempts come first"
    assert pair.rows(STORED) == [("second", "scripted", WARM, "complete", "n")]
    assert (pair.second.requests[0]["temperature"], pair.second.requests[0]["seed"]) == (0.1, 3)
    assert ASKING_ANOTHER in said
    assert said[-1] == f"{WARM}\n\n{OTHER_MODEL}"
    assert pair.second.headers[0]["authorization"] == f"Bearer second-{SECRET}", "its own key"
    stored = pair.path.read_bytes()
    assert SECRET not in caplog.text + "".join(said)
    assert SECRET.encode() not in stored


async def test_the_prompt_is_made_for_the_model_that_answers(pair: Pair) -> None:
    """What fits into the first model's context does not fit into the second's."""
    pair.server.scripts = (reply("Oh. " + "I see. " * 60),)
    request = pair.request("My garden is dry. " * 200)
    await pair.run(request)
    pair.server.scripts = (refusal(401),)
    later = pair.request("And my cat is ill.", conversation_id=request.conversation_id)
    await pair.run(later)
    first, second = pair.server.requests[-1]["messages"], pair.second.requests[0]["messages"]
    assert len(str(second)) < len(str(first))
    sent = Prompt(tuple(PromptMessage(**message) for message in second), 1)
    assert pair.rows("SELECT prompt_sha256 FROM draft WHERE model = 'second'") == [(sent.sha256,)]


async def test_a_fallback_may_have_one_too(pair: Pair) -> None:
    pair.second.scripts = (refusal(404),)
    events = await pair.run(pair.request())
    assert kinds(events) == ["DraftStarted", "FellBack", "Token", "DraftComplete", "Scored", "Finished"]
    assert pair.rows(STORED)[0][:2] == ("third", "scripted")


async def test_when_all_fail_the_last_one_says_why(pair: Pair) -> None:
    pair.second.scripts = pair.third.scripts = (refusal(404),)
    events = await pair.run(pair.request())
    assert isinstance(events[-1], Failed)
    assert '"third" knows no such model' in events[-1].sentence
    assert pair.rows(STORED)[0][:4] == ("third", "scripted", "", "broken")


async def test_a_model_whose_server_cools_down_is_not_waited_for(pair: Pair) -> None:
    spec = pair.services.models.specs["scripted"]
    pair.server.scripts = (garbage(),)  # counts, and is not tried again
    for _ in range(FAILURE_THRESHOLD):
        assert (await ask(pair.services.models, spec))[2] is not None
    asked = len(pair.server.requests)
    assert isinstance((await pair.run(pair.request()))[-1], Finished)
    assert len(pair.server.requests) == asked
    assert pair.rows(STORED)[0][:2] == ("second", "scripted")


async def test_after_the_first_token_nobody_stands_in(pair: Pair) -> None:
    pair.server.scripts = (cut("That sounds"),)
    events = await pair.run(pair.request())
    assert isinstance(events[-1], Failed)
    assert pair.second.requests == []
    assert pair.rows(STORED)[0][:2] == ("scripted", None)


async def test_a_rewrite_is_the_stand_ins_too(pair: Pair) -> None:
    pair.second.scripts = (reply(COLD), reply(WARM))
    events = await pair.run(pair.request(auto_improve=True, threshold=2.0))
    assert isinstance(events[-1], Finished)
    assert len(pair.server.requests) == 3, "asked for the first draft only"
    assert [row[:3] for row in pair.rows(STORED)][:2] == [("second", "scripted", COLD), ("second", "scripted", WARM)]


@pytest.mark.parametrize("script", [silence(), Script(before_headers=FOREVER)])
async def test_a_stop_reaches_the_stand_in(pair: Pair, script: Script) -> None:
    pair.second.scripts = (script,)
    request = pair.request()
    task = asyncio.create_task(pair.run(request))
    await asyncio.to_thread(pair.second.wait_until, lambda: bool(pair.second.requests), "the second model's request")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(pair.second.wait_for_disconnect)
    assert pair.outcome(request) == "stopped"
    assert pair.third.requests == []


async def test_an_answer_of_a_study_never_comes_from_a_fallback(pair: Pair) -> None:
    study = live_study()
    await pair.services.studies.save_study(record_of(study, None))
    request = pair.request()
    async with aclosing(run_ballot_turn(request, pair.services, study)) as events:
        ended = [event async for event in events][-1]
    assert isinstance(ended, BallotReady)
    assert pair.second.requests == []
    assert len(pair.server.requests) == 3
    answers = pair.rows("SELECT source, model, status, text, error LIKE '%status 503%' FROM answer ORDER BY source")
    assert answers == [("one", "scripted", "failed", "", 1), ("two", "third", "complete", "That sounds hard.", None)]
    assert pair.rows("SELECT count(*) FROM draft WHERE fallback_for IS NOT NULL") == [(0,)]
    shown = str(ended.props)
    for name in ("scripted", "third", OTHER_MODEL, "503"):
        assert name not in shown


async def test_a_survey_s_answer_never_comes_from_a_fallback(pair: Pair) -> None:
    study = live_study()
    pending = AnswerRecord(str(uuid.uuid4()), study.id, None, "one", datetime.now(UTC))
    written = await write_answer(pair.services, study, study.arms[0], "I feel low.", (), pending)
    assert (written.status, written.model) == (AnswerStatus.FAILED, "scripted")
    assert [draft["fallback_for"] for draft in written.drafts or ()] == [None]
    assert pair.second.requests == []


def live_study() -> StudyFile:
    arms = [
        {"name": name, "persona": "listener", "strategy": "plain", "model": model}
        for name, model in (("one", "scripted"), ("two", "third"))
    ]
    return parse_study({"id": "s", "kind": StudyKind.LIVE, "arms": arms, "auto_improve": "off"}, "a test")
