"""Running summaries with a scripted model: what is summed up, by whom, where it goes, and where it never goes."""

import asyncio
import itertools
import logging
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.events import BallotReady, CrisisShown, Finished, Refused
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from heard.chat_app.studies.ballot_turn import run_ballot_turn
from heard.chat_app.studies.live_study import configured_study
from heard.prompts.library import PromptLibrary
from tests.chat_app.conversation.test_turn import PERSON, World
from tests.journeys.talking import CRISIS
from tests.servers import ScriptedServer, refusal, reply, silence

SUM_UP = PromptLibrary.load().summary.instructions
ANSWER = "That sounds hard. " + "I hear you. " * 14
SAID = "so it went on and on, " * 8
STORED = "SELECT text, model, message_id, prompt_sha256, seconds, prompt_tokens, completion_tokens FROM summary"


@pytest.fixture
async def world(tmp_path: Path, weights: Weights, migrated: Path) -> AsyncIterator[World]:
    shutil.copyfile(migrated, tmp_path / "heard.db")
    with ScriptedServer(reply(ANSWER)) as server:
        entry = f'{{ provider = "openai", model = "m", base_url = "{server.base_url}", context_tokens = '
        models = tmp_path / "models.toml"
        models.write_text(f"scripted = {entry}1600 }}\nroomy = {entry}3200 }}\n")
        settings = Settings(
            data_dir=tmp_path, models_file=models, first_token_seconds=20, stall_seconds=20,
            blind_arms="listener/plain/scripted, quiet/definition/roomy",
        )  # fmt: skip
        async with open_services(settings, weights) as services:
            await services.store.ensure_participant(PERSON)
            yield World(services, server)


class Talk:
    """One conversation, message by message."""

    def __init__(self, world: World) -> None:
        self.world, self.base = world, world.request("")
        self.persona = replace(self.base.persona, max_tokens=200)

    async def say(self, text: str, *, wait: bool = True) -> Any:
        fresh = self.world.request("")
        request = replace(
            fresh, text=text, conversation_id=self.base.conversation_id, persona=self.persona
        )  # fmt: skip
        events = await self.world.run(request)
        if wait:
            await self.world.services.summary_tasks.wait()
        return events

    async def until_summed_up(self) -> int:
        """Talk on until there is a summary; the number of turns."""
        for number in range(20):
            await self.say(f"turn {number}: {SAID}")
            if self.world.rows(STORED):
                return number + 1
        raise AssertionError("no summary was made")


def summing(world: World) -> list[str]:
    """What was to be summed up, call by call."""
    return [sent["messages"][1]["content"] for sent in world.server.requests if is_summing(sent)]


def is_summing(sent: dict[str, Any]) -> bool:
    return bool(sent["messages"][0]["content"] == SUM_UP)


def after_examples(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The messages of a prompt from the conversation's first turn on."""
    (first,) = [place for place, message in enumerate(messages) if message["content"].startswith("turn 0:")]
    return messages[first:]


async def test_a_summary_is_made_after_the_reply_and_goes_into_the_next_prompt(world: World) -> None:
    talk = Talk(world)
    turns = await talk.until_summed_up()
    assert is_summing(world.server.requests[-1])
    ((text, model, message_id, sha, seconds, read, written),) = world.rows(STORED)
    assert (text, model, len(sha), read) == (ANSWER.strip(), "scripted", 64, 7)
    assert seconds > 0
    assert written > 0
    assert "turn 1:" in summing(world)[0]
    assert "turn 0:" not in summing(world)[0], "the first turn stays as it is"
    assert f"turn {turns - 1}:" not in summing(world)[0], "nor is the newest summed up"
    events = await talk.say("and now")
    sent = world.server.requests[-1]["messages"]
    assert sent[0]["content"].endswith(ANSWER.strip())
    told = after_examples(sent)
    assert len(told) < len(sent) - 1, "the examples stand between the summary and the first turn"
    assert told[0]["content"].startswith("turn 0:")
    assert not any("turn 1:" in one["content"] for one in sent)
    assert sent[-1]["content"] == "and now"
    ((position,),) = world.rows("SELECT position FROM message WHERE id = ?", message_id)
    assert told[2]["content"].startswith(f"turn {position}:"), "from the turn after the last one in the summary"
    assert SUM_UP not in repr(events)
    assert len(world.rows("SELECT 1 FROM message")) == turns + 1


async def test_the_next_one_is_made_from_the_old_one_and_what_fell_out_since(world: World) -> None:
    talk = Talk(world)
    await talk.until_summed_up()
    for number in range(20, 40):
        await talk.say(f"turn {number}: {SAID}")
    asked = summing(world)
    assert len(asked) >= 2
    assert not asked[0].startswith("Summary so far")
    for before, after in itertools.pairwise(asked):
        assert after.startswith(f"Summary so far:\n{ANSWER.strip()}")
        assert not set(_turns(before)) & set(_turns(after))
    assert [len(_turns(one)) > 1 for one in asked] == [True] * len(asked), "several turns each, so it is seldom due"


def _turns(text: str) -> list[str]:
    return [line.split(":")[1] for line in text.splitlines() if line.startswith("Person: turn")]


async def test_what_was_a_crisis_or_refused_is_in_no_summary(world: World) -> None:
    talk = Talk(world)
    await talk.say(f"turn 0: {SAID}")
    assert isinstance((await talk.say(CRISIS))[0], CrisisShown)
    await talk.say("I'm safe now.")
    assert isinstance((await talk.say("unsendable " * 1000))[0], Refused)
    for number in range(1, 14):
        await talk.say(f"turn {number}: {SAID}")
    assert len(summing(world)) >= 1
    assert "turn 1:" in summing(world)[0]
    assert CRISIS not in str(world.server.requests)
    assert "unsendable" not in str(world.server.requests)


async def test_a_summary_that_reads_like_a_crisis_is_thrown_away(world: World) -> None:
    talk = Talk(world)
    for number in range(4):
        await talk.say(f"turn {number}: {SAID}")
    world.server.requests.clear()
    world.server.scripts = (reply(ANSWER * 3), reply("The person said: I want to kill myself."), reply(ANSWER))
    await talk.say(f"turn 5: {SAID * 6}")
    assert is_summing(world.server.requests[1])
    assert world.rows(STORED) == []


async def test_when_it_fails_the_chat_goes_on_without(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    talk = Talk(world)
    for number in range(4):
        await talk.say(f"turn {number}: {SAID}")
    world.server.requests.clear()
    world.server.scripts = (reply(ANSWER * 3), refusal(400, f"cannot read: {SAID}"), reply(ANSWER))
    await talk.say(f"turn 5: {SAID * 6}")
    assert is_summing(world.server.requests[1])
    assert world.rows(STORED) == []
    assert isinstance((await talk.say("and now"))[-1], Finished)
    assert world.server.requests[2]["messages"][1]["content"].startswith("turn 0:")
    assert "a conversation could not be summed up: ModelFailure" in caplog.text
    assert "so it went" not in caplog.text
    assert 'failed: rejected ("cannot read: …,")' in caplog.text


async def test_nobody_waits_for_it_and_an_erasure_ends_it(world: World) -> None:
    talk = Talk(world)
    for number in range(4):
        await talk.say(f"turn {number}: {SAID}")
    world.server.requests.clear()
    world.server.scripts = (reply(ANSWER * 3), silence(), reply("Still here."))
    assert isinstance((await talk.say(f"turn 5: {SAID * 6}", wait=False))[-1], Finished)
    await asyncio.to_thread(ScriptedServer.wait_until, lambda: len(world.server.requests) == 2, "the call")
    assert isinstance((await talk.say("and now", wait=False))[-1], Finished)
    await world.services.store.erase_participant(PERSON)
    await asyncio.wait_for(world.services.summary_tasks.wait(), 5)
    await asyncio.to_thread(world.server.wait_for_disconnect)
    assert world.rows(STORED) == []


async def test_the_end_of_the_program_ends_it(world: World) -> None:
    talk = Talk(world)
    for number in range(4):
        await talk.say(f"turn {number}: {SAID}")
    world.server.requests.clear()
    world.server.scripts = (reply(ANSWER * 3), silence())
    await talk.say(f"turn 5: {SAID * 6}", wait=False)
    await asyncio.to_thread(ScriptedServer.wait_until, lambda: len(world.server.requests) == 2, "the call")
    await asyncio.wait_for(world.services.summary_tasks.aclose(), 5)
    await asyncio.to_thread(world.server.wait_for_disconnect)
    assert world.rows(STORED) == []


async def test_every_arm_of_a_ballot_gets_the_same_turns_and_no_summary(world: World) -> None:
    talk = Talk(world)
    await talk.until_summed_up()
    study = await configured_study(world.services)
    assert study is not None
    world.server.requests.clear()
    request = world.request("and now", conversation_id=talk.base.conversation_id)
    events = [event async for event in run_ballot_turn(request, world.services, study)]
    await world.services.summary_tasks.wait()
    assert isinstance(events[-1], BallotReady)
    assert len(world.server.requests) == 2
    turns = [after_examples(sent["messages"]) for sent in world.server.requests]
    assert turns[0] == turns[1]
    assert len(turns[0]) >= 5
    assert not any(ANSWER.strip() in sent["messages"][0]["content"] for sent in world.server.requests)
