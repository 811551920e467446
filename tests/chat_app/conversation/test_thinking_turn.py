"""What a model thinks is a hidden step of its draft: never shown, scored, put into a prompt or on a ballot."""

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace

import pytest

from heard.chat_app.conversation.events import DraftStarted, Failed, Finished, ModelThinks, Scored, Token, TurnEvent
from heard.chat_app.conversation.running_turns import TurnView
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.records import Waiting
from heard.chat_app.page import wording
from tests.chat_app.conversation.test_turn import COLD, WARM, World, serves, world
from tests.chat_app.models.test_reasoning_blocks import delta
from tests.chat_app.models.test_reply_ends import ending
from tests.chat_app.models.test_thinking import portions
from tests.servers import FOREVER, asked, chunk, reply
from tests.wires import WIRES

__all__ = ["world"]  # a fixture
THOUGHT = "Marmalade: they feel left out. I want to hurt nobody."
WIRE = WIRES["openai"]
OUTPUTS = {
    "marked": portions(f"<think>{THOUGHT}</think>\n\n{WARM}", 7),
    "marked at its end only": portions(f"Okay, so {THOUGHT}</think>\n\n{WARM}", 7),
    "announced by nothing": portions(f"{THOUGHT}</think>\n\n{WARM}", 7),
    "apart": WIRE.script(WIRE.opening(), delta(reasoning_content=THOUGHT), WIRE.piece(WARM), WIRE.ending()),
}


def shown(events: list[TurnEvent]) -> list[str]:
    """Every text that the page had, one after the other."""
    view, texts = TurnView(), []
    for event in events:
        view.apply(event)
        texts.append(wording.reply_text(view))
    return texts


def steps_in(world: World) -> list[list[dict[str, object]]]:
    return [json.loads(row[0]) for row in world.rows("SELECT steps FROM draft ORDER BY number")]


@pytest.mark.parametrize("world", [(script,) for script in OUTPUTS.values()], ids=OUTPUTS, indirect=True)
async def test_thinking_is_stored_as_a_hidden_step_and_nowhere_else(world: World) -> None:
    request = world.request()
    events = await world.run(request)
    assert isinstance(events[-1], Finished)
    assert events[-1].votable
    assert world.rows("SELECT text, status, cut FROM draft") == [(WARM, "complete", 0)]
    ((step,),) = steps_in(world)
    assert (step["name"], step["model"], step["total_seconds"]) == ("thinking", "scripted", 0.0)
    assert str(step["text"]).removeprefix("Okay, so ") == THOUGHT
    assert ModelThinks() in events or ModelThinks(withdrawn=True) in events
    assert wording.THINKING in shown(events)
    assert shown(events)[-1] == WARM
    (score,) = (event.score for event in events if isinstance(event, Scored))
    assert "Marmalade" not in json.dumps(score.details)

    await world.run(world.request("And now?", conversation_id=request.conversation_id))
    assert "Marmalade" not in json.dumps(world.server.requests[1])
    assert WARM in json.dumps(world.server.requests[1])


@pytest.mark.parametrize(
    "world", [(OUTPUTS[name],) for name in OUTPUTS if name != "announced by nothing"], indirect=True
)
async def test_no_thinking_is_ever_on_the_page(world: World) -> None:
    assert not any("Marmalade" in text for text in shown(await world.run(world.request())))


@serves(portions(f"Marmalade is nice. It is sweet.</think>{WARM}", 7), portions(f"Marmalade.</think>{WARM}", 7))
async def test_thinking_that_was_taken_for_a_reply_is_taken_from_the_page_and_is_not_seen_again(world: World) -> None:
    first, second = [shown(await world.run(world.request())) for _ in range(2)]
    assert first[-1] == second[-1] == WARM
    (began, *_) = (number for number, text in enumerate(first) if "Marmalade" in text)
    assert wording.THINKING in first[began:]
    assert not any("Marmalade" in text for text in second)


@serves(portions(f"<think>{THOUGHT}</think>", 7))
async def test_a_reply_that_is_all_thinking_breaks_off_and_says_so(world: World) -> None:
    request = world.request()
    events = await world.run(request)
    assert isinstance(events[-1], Failed)
    assert events[-1].kept_text == ""
    assert "put all that it wrote into thinking" in shown(events)[-1]
    assert "Marmalade" not in "".join(shown(events))
    assert world.outcome(request) == "broken"
    assert world.rows("SELECT status, text FROM draft") == [("broken", "")]
    assert [step["text"] for step in steps_in(world)[0]] == [THOUGHT]
    assert world.rows("SELECT count(*) FROM score") == [(0,)]


@serves(ending("abort", "That sounds hard. I hear"))
async def test_a_bad_end_breaks_the_reply_off_like_a_broken_connection(world: World) -> None:
    request = world.request()
    events = await world.run(request)
    assert isinstance(events[-1], Failed)
    assert "gave the reply up before its end" in shown(events)[-1]
    assert events[-1].kept_text == "That sounds hard. I hear"
    assert (world.outcome(request), world.rows("SELECT status FROM draft")) == ("broken", [("broken",)])
    assert world.rows("SELECT count(*) FROM score") == [(0,)]


@serves(ending("refusal", ""))
async def test_a_refusal_is_told_as_one(world: World) -> None:
    assert "refused to answer" in shown(await world.run(world.request()))[-1]


SLOW = [step for _ in range(4) for step in (delta(reasoning_content="Marmalade "), 0.6)]


@serves(WIRE.script(WIRE.opening(), *SLOW, WIRE.piece(WARM), WIRE.ending()))
async def test_slow_thinking_is_no_stall(world: World) -> None:
    """Of a server whose `stall_seconds` are 1, and whose first token may take 2."""
    assert isinstance((await world.run(world.request()))[-1], Finished)


@serves(WIRE.script(WIRE.opening(), delta(reasoning_content=THOUGHT), FOREVER))
async def test_a_stop_while_it_thinks_keeps_the_thinking_hidden(world: World) -> None:
    request = world.request()

    async def read() -> None:
        async with aclosing(run_turn(request, world.services)) as events:
            async for event in events:
                if isinstance(event, ModelThinks):
                    thinks.set()

    thinks = asyncio.Event()
    task = asyncio.create_task(read())
    await asyncio.wait_for(thinks.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.rows("SELECT status, text FROM draft") == [("stopped", "")]
    assert [step["text"] for step in steps_in(world)[0]] == [THOUGHT]


@serves(portions(f"<think>a</think>{COLD}", 9), portions(f"<think>b</think>{WARM}", 9))
async def test_each_draft_has_its_own_thinking(world: World) -> None:
    await world.run(world.request(auto_improve=True, threshold=2.0))
    assert [[step["text"] for step in steps] for steps in steps_in(world)] == [["a"], ["b"]]
    assert "<think>" not in json.dumps(world.server.requests[1])


@serves(portions("<think>a</think>A draft.", 9), portions("b</think>Warmer.", 9), reply(WARM))
async def test_a_hidden_step_may_think_and_its_thinking_is_in_no_prompt(world: World) -> None:
    strategy = world.services.library.strategies["multifaceted-feedback"]
    await world.run(world.request(strategy=strategy))
    (steps,) = steps_in(world)
    assert [(step["name"], step["text"]) for step in steps] == [
        ("thinking of draft", "a"), ("draft", "A draft."), ("thinking of critique", "b"), ("critique", "Warmer."),
    ]  # fmt: skip
    last = json.dumps(world.server.requests[2])
    assert "A draft." in last
    assert "think>" not in last


def test_the_page_says_that_it_thinks_until_the_first_word() -> None:
    view = TurnView()
    for event, text in (
        (DraftStarted(1, None), ""), (Waiting(2), wording.waiting_text(2)), (ModelThinks(), wording.THINKING),
        (Token("So"), "So"), (ModelThinks(), "So"), (ModelThinks(withdrawn=True), wording.THINKING),
        (Token("Oh"), "Oh"), (DraftStarted(2, "emotional"), "> Writing it again, with more warmth."),
    ):  # fmt: skip
        view.apply(event)
        assert wording.reply_text(view) == text


async def test_thinking_before_a_failure_leaves_the_way_to_a_fallback(world: World) -> None:
    broken = WIRE.script(WIRE.opening(), delta(reasoning_content=THOUGHT), chunk(finish="error"))
    world.server.scripts = (broken, reply(WARM))
    specs = world.services.models.specs
    specs["other"] = replace(specs["scripted"], id="other")
    request = world.request(model=replace(specs["scripted"], fallback="other"))
    assert isinstance((await world.run(request))[-1], Finished)
    await asked(world.server, 2)
    assert world.rows("SELECT model, fallback_for FROM draft") == [("other", "scripted")]
    assert [(step["model"], step["text"]) for step in steps_in(world)[0]] == [("scripted", THOUGHT)]
