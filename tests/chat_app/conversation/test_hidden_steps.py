"""The hidden steps of a strategy: what each call is sent, what is kept of it, and how a step may fail or be stopped."""

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.answer_request import AnswerRequest
from heard.chat_app.conversation.drafting import write_drafts
from heard.chat_app.conversation.drafts import Drafts
from heard.chat_app.conversation.events import Failed, Finished, Token
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.startup import open_services
from heard.chat_app.studies.study_answers import write_answer
from heard.chat_app.studies.study_file import Arm, StudyFile
from heard.chat_app.studies.study_items import pending_answers
from heard.db.study_records import AnswerStatus
from heard.prompts.policy_files import OFF
from heard.prompts.records import Prompt, PromptMessage, Strategy
from tests.chat_app.conversation.test_turn import COLD, QUESTION, WARM, World, serves, world
from tests.chat_app.models.asking import spec_of
from tests.servers import asked, refusal, reply, stall
from tests.wires import WIRES

__all__ = ["world"]  # a fixture
DRAFT, CRITIQUE = "A first thought {critique} {cause}.", "It needs more warmth."
MUFFIN = "multifaceted-feedback"


def strategy(world: World, name: str = MUFFIN) -> Strategy:
    return world.services.library.strategies[name]


def sent(body: dict[str, Any]) -> tuple[PromptMessage, ...]:
    """The messages of a request, as the prompt that they came from."""
    return tuple(PromptMessage(message["role"], message["content"]) for message in body["messages"])


def steps_in(world: World) -> list[list[dict[str, Any]]]:
    """The stored steps of each draft, in order."""
    return [json.loads(row[0]) for row in world.rows("SELECT steps FROM draft ORDER BY number")]


@serves(reply(DRAFT), reply(CRITIQUE), reply(WARM))
async def test_each_step_reads_the_earlier_ones_and_all_are_stored_as_they_were_sent(world: World) -> None:
    events = await world.run(world.request(strategy=strategy(world)))
    first, second, last = (sent(body) for body in world.server.requests)
    persona = world.services.library.personas["listener"].system
    assert first[0].content == f"{persona}\n\nWrite a first draft of your reply."
    assert f"draft of a reply to them: {DRAFT}\n" in second[0].content
    assert f"not seen: {DRAFT}\n" in last[0].content  # braces in a model's text are filled by nobody
    assert f"better: {CRITIQUE}\n" in last[0].content
    assert all(messages[-1] == PromptMessage("user", QUESTION) for messages in (first, second, last))
    assert [body["max_tokens"] for body in world.server.requests] == [200, 120, 80]

    (steps,) = steps_in(world)
    assert [(step["name"], step["text"], step["model"]) for step in steps] == [
        ("draft", DRAFT, "scripted"), ("critique", CRITIQUE, "scripted"),
    ]  # fmt: skip
    assert [step["prompt_sha256"] for step in steps] == [Prompt(first, 200).sha256, Prompt(second, 120).sha256]
    assert world.rows("SELECT prompt_sha256 FROM draft") == [(Prompt(last, 240).sha256,)]
    assert [(step["prompt_tokens"], step["completion_tokens"]) for step in steps] == [(7, 5), (7, 4)]
    assert all(0 < step["first_token_seconds"] <= step["total_seconds"] for step in steps)

    assert isinstance(events[-1], Finished)
    assert [step.name for step in events[-1].reply.kept.steps] == ["draft", "critique"]
    assert "".join(event.text for event in events if isinstance(event, Token)) == WARM


@serves(reply(DRAFT), reply(CRITIQUE), reply(COLD), reply(WARM))
async def test_a_rewrite_uses_the_texts_of_the_steps_again(world: World) -> None:
    await world.run(world.request(strategy=strategy(world), auto_improve=True, threshold=2.0))
    assert len(world.server.requests) == 4
    again = sent(world.server.requests[3])[0].content
    assert CRITIQUE in again
    assert any(text in again for text in world.services.library.guidance.values())
    assert [len(steps) for steps in steps_in(world)] == [2, 0], "each call stands once in the data"


@serves(reply(DRAFT), refusal(400))
async def test_a_step_that_fails_fails_the_reply_and_keeps_the_earlier_ones(world: World) -> None:
    request = world.request(strategy=strategy(world))
    events = await world.run(request)
    assert isinstance(events[-1], Failed)
    assert events[-1].kept_text == ""
    assert "critique" not in events[-1].sentence
    assert len(world.server.requests) == 2
    assert world.outcome(request) == "broken"
    assert [(step["name"], step["text"]) for step in steps_in(world)[0]] == [("draft", DRAFT), ("critique", "")]


@serves(reply(" \n "))
async def test_an_empty_step_is_a_failure_like_an_empty_reply(world: World) -> None:
    request = world.request(strategy=strategy(world))
    assert isinstance((await world.run(request))[-1], Failed)
    assert world.outcome(request) == "broken"


@serves(reply(DRAFT), stall("It needs"))
async def test_stop_in_a_step_ends_its_call_at_once_and_keeps_what_had_arrived(world: World) -> None:
    request = world.request(strategy=strategy(world))

    async def turn() -> None:
        async with aclosing(run_turn(request, world.services)) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(turn())
    await asked(world.server, 2)
    await asyncio.sleep(0.2)  # for the two words
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(world.server.wait_for_disconnect)
    assert world.outcome(request) == "stopped"
    assert world.rows("SELECT text, status, prompt_tokens FROM draft") == [("", "stopped", None)]
    assert [step["text"].strip() for step in steps_in(world)[0]] == [DRAFT, "It needs"]


@serves(reply(WARM))
async def test_the_hybrid_form_sends_the_encoders_reading_and_keeps_it(world: World) -> None:
    text = "I'm so nervous about the exam tomorrow. My mother packed me a lunch."
    await world.run(world.request(text, strategy=strategy(world, "hybrid")))
    (system, *_) = sent(world.server.requests[0])
    assert "Emotion: anxiety." in system.content
    assert 'carry it: "I\'m so nervous about the exam tomorrow."' in system.content
    ((step,),) = steps_in(world)
    assert (step["name"], step["max_tokens"]) == ("reading", 0)
    assert json.loads(step["text"])["emotion"] == "anxiety"
    assert step["prompt_sha256"] == Prompt((PromptMessage("user", text),), 0).sha256


@serves(reply(WARM))
async def test_a_crisis_runs_no_step(world: World) -> None:
    await world.run(world.request("I want to kill myself.", strategy=strategy(world)))
    assert world.server.requests == []


@serves(reply(DRAFT), reply(CRITIQUE), reply(WARM))
async def test_the_steps_of_a_studys_answer_are_in_its_drafts(world: World) -> None:
    arm = Arm(name="fed", persona="listener", strategy=MUFFIN, model="scripted")
    study = StudyFile(id="s", kind="survey", arms=(arm,), seed="x")
    (answer,) = pending_answers(study, QUESTION)
    written = await write_answer(world.services, study, arm, QUESTION, [], answer)
    assert (written.status, written.text) == (AnswerStatus.COMPLETE, WARM)
    assert [step["text"] for step in written.drafts[0]["steps"]] == [DRAFT, CRITIQUE]
    json.dumps(written.drafts)


@pytest.mark.parametrize("name", WIRES)
async def test_steps_run_over_every_protocol(world: World, name: str) -> None:
    wire = WIRES[name]
    with wire.server(wire.reply("Low."), wire.reply("Alone."), wire.reply("Now."), wire.reply(WARM)) as server:
        spec: ModelSpec = spec_of(wire, server)
        (*_, end) = await world.run(world.request(strategy=strategy(world, "empathize-first"), model=spec))
        assert isinstance(end, Finished)
        (*_, last) = (wire.said(body) for body in server.requests)
    assert "Emotion: Low. Cause: Alone. Context: Now." in dict(last)["system"]
    assert [(step.name, step.text, step.prompt_tokens) for step in end.reply.kept.steps] == [
        ("feeling", "Low.", 7), ("reason", "Alone.", 7), ("context", "Now.", 7),
    ]  # fmt: skip


async def test_steps_work_with_the_embedded_model(tmp_path: Path, weights: Weights) -> None:
    settings = Settings(data_dir=tmp_path, first_token_seconds=120, stall_seconds=120)
    async with open_services(settings, weights) as services:
        library = services.library
        whole = library.strategies["empathize-first"]
        short = replace(whole, steps=tuple(replace(step, max_tokens=8) for step in whole.steps))
        persona = replace(library.personas["neighbour"], max_tokens=8)
        asked = AnswerRequest(
            persona, short, services.models.specs["smollm2"], [], QUESTION, services.library.policies[OFF], guard=False
        )
        made = Drafts()
        async with aclosing(write_drafts(services, asked, made)) as events:
            async for _ in events:
                pass
    (draft,) = made.with_best_kept()
    assert draft.text.strip()
    assert [step.name for step in draft.steps] == ["feeling", "reason", "context"]
    assert all(step.text.strip() and step.prompt_tokens and step.completion_tokens for step in draft.steps)
