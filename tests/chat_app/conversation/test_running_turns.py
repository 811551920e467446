"""Running turns: they outlive their page, one at a time, stoppable, never drawn faster than a browser can follow."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from heard.chat_app.conversation.events import (
    CrisisShown,
    DraftComplete,
    DraftStarted,
    Failed,
    Refused,
    Scored,
    Token,
    TurnEvent,
    TurnRequest,
)
from heard.chat_app.conversation.running_turns import (
    FLUSH_SECONDS,
    Crashed,
    RunningTurn,
    RunningTurns,
    Stopped,
    TurnView,
)
from heard.chat_app.models.records import ModelSpec, Waiting
from heard.prompts.records import Persona, Strategy
from heard.scorer.records import EmpathyScore, ScoreStatus

WORDS = "words of a person"
REQUEST = TurnRequest(
    participant_id="person",
    conversation_id="conversation",
    message_id="message",
    reply_id="reply",
    text=WORDS,
    persona=Persona("p", "P", "", "s", "{prompt}", 10, 1, ()),
    strategy=Strategy(id="plain", name="Plain", description=""),
    model=ModelSpec("echo", "echo", "echo", "Echo"),
    live_scores=True,
    auto_improve=False,
    threshold=1.7,
    country=None,
)
SCORE = EmpathyScore(ScoreStatus.SCORED, 2.0, 1.0, 3.0, None, "default", "0" * 64, "0" * 64)
Events = Callable[[TurnRequest], AsyncGenerator[TurnEvent, None]]


def script(
    *events: TurnEvent, pause: float = 0.0, log: list[str] | None = None, then: Exception | None = None
) -> Events:
    """A turn that yields `events`, `pause` seconds apart, and notes in `log` how it ended."""

    async def run(_: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        try:
            for event in events:
                await asyncio.sleep(pause)
                yield event
            if then is not None:
                raise then
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)  # storing what had arrived
            if log is not None:
                log.append("stored as stopped")
            raise
        if log is not None:
            log.append("ended")

    return run


def begin(turns: RunningTurns, events: Events, request: TurnRequest = REQUEST) -> RunningTurn:
    turn = turns.begin(request, events)
    assert turn is not None
    return turn


def seen(view: TurnView) -> dict[str, Any]:
    """A copy, because a view changes as the turn goes on."""
    return {"text": view.text, "number": view.number, "ahead": view.ahead, "scores": len(view.scores), "end": view.end}


async def watch(turn: RunningTurn) -> list[tuple[float, dict[str, Any]]]:
    start = asyncio.get_running_loop().time()
    return [(asyncio.get_running_loop().time() - start, seen(view)) async for view in turn.views()]


async def test_a_follower_sees_the_whole_turn_in_order() -> None:
    turns = RunningTurns()
    end = Failed("cut", "ab")
    turn = begin(
        turns, script(Waiting(2), DraftStarted(1, None), Token("a"), Token("b"), Scored(1, SCORE), end, pause=0.01)
    )
    views = [view for _, view in await watch(turn)]
    assert [v["ahead"] for v in views if v["ahead"]] == [2]
    assert next(v["text"] for v in views if v["text"]) == "a"
    assert views[-1] == {"text": "ab", "number": 1, "ahead": 0, "scores": 1, "end": end}
    assert [v["scores"] for v in views] == sorted(v["scores"] for v in views)


async def test_the_last_words_are_drawn_with_the_score_and_do_not_wait_long_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limits are far from the pauses, so that a busy machine changes nothing: it draws nothing between the last
    words and their end."""
    start = (DraftStarted(1, None), Token("a"), Token("b"), DraftComplete())
    monkeypatch.setattr("heard.chat_app.conversation.running_turns.FLUSH_SECONDS", 60.0)
    monkeypatch.setattr("heard.chat_app.conversation.running_turns.RATING_SECONDS", 60.0)
    quick = [view for _, view in await watch(begin(RunningTurns(), script(*start, Scored(1, SCORE), pause=0.05)))]
    assert next(v["scores"] for v in quick if v["text"] == "ab") == 1
    monkeypatch.setattr("heard.chat_app.conversation.running_turns.RATING_SECONDS", 0.01)
    slow = [view for _, view in await watch(begin(RunningTurns(), script(*start, Scored(1, SCORE), pause=0.4)))]
    assert next(v["scores"] for v in slow if v["text"] == "ab") == 0


async def test_growing_text_is_paced_but_first_token_score_and_end_are_not() -> None:
    tokens = [Token(f"{n} ") for n in range(200)]
    turn = begin(RunningTurns(), script(DraftStarted(1, None), *tokens, Scored(1, SCORE), Failed("x", ""), pause=0.005))
    views = await watch(turn)
    took = views[-1][0]
    drawn = [at for at, view in views if view["text"] and not view["scores"]]
    assert took > 1.0
    assert len(drawn) <= took / FLUSH_SECONDS + 3  # 200 tokens, a dozen drawings a second
    assert next(view["text"] for _, view in views if view["text"]) == "0 "  # the first token alone, at once
    assert next(view["end"] for _, view in views if view["scores"]) is None  # the score by itself, before the end


async def test_a_slow_page_does_not_slow_the_turn_and_still_sees_the_end() -> None:
    turn = begin(RunningTurns(), script(DraftStarted(1, None), *[Token("x")] * 50, Failed("y", "")))
    last = None
    async for view in turn.views():
        await asyncio.sleep(0.05)
        last = seen(view)
    assert last is not None
    assert last["text"] == "x" * 50
    assert isinstance(last["end"], Failed)


async def test_an_end_that_comes_while_the_page_draws_is_drawn_too() -> None:
    gate = asyncio.Event()

    async def events(_: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        yield DraftStarted(1, None)
        await gate.wait()
        yield Refused("no")

    turn = begin(RunningTurns(), events)
    ends = []
    async for view in turn.views():
        ends.append(view.end)
        gate.set()
        await asyncio.sleep(0.02)  # the end arrives now, while this page is busy
    assert ends[-1] == Refused("no")


async def test_two_pages_see_the_same_and_a_late_one_catches_up() -> None:
    turn = begin(RunningTurns(), script(DraftStarted(1, None), *[Token("ab ")] * 20, Failed("x", ""), pause=0.01))
    early = asyncio.create_task(watch(turn))
    await asyncio.sleep(0.12)
    late = await watch(turn)
    assert late[0][1]["text"]  # what was missed is there at once
    assert late[-1][1] == (await early)[-1][1]


async def test_a_closed_page_does_not_end_the_turn() -> None:
    log: list[str] = []
    turn = begin(RunningTurns(), script(DraftStarted(1, None), *[Token("x")] * 5, Failed("y", ""), pause=0.01, log=log))
    page = asyncio.create_task(watch(turn))
    await asyncio.sleep(0.02)
    page.cancel()
    await turn.wait()
    assert log == ["ended"]
    assert turn.view.text == "xxxxx"


async def test_one_turn_at_a_time_in_a_conversation() -> None:
    turns = RunningTurns()
    turn = begin(turns, script(DraftStarted(1, None), Failed("x", ""), pause=0.02))
    assert turns.begin(REQUEST, script(Refused("never"))) is None
    other = begin(turns, script(Refused("y")), replace(REQUEST, conversation_id="other"))
    await asyncio.gather(turn.wait(), other.wait())
    await asyncio.sleep(0)
    assert turns.running("conversation") is None
    assert turns.begin(REQUEST, script(Refused("z"))) is not None


async def test_a_turn_whose_end_is_shown_blocks_nobody_but_is_still_waited_for() -> None:
    turns, log = RunningTurns(), []

    async def crisis(_: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        yield CrisisShown("numbers")
        await asyncio.sleep(0.1)  # a locked database
        log.append("written")

    begin(turns, crisis)
    await asyncio.sleep(0.01)
    assert turns.running("conversation") is None
    second = begin(turns, script(Refused("x")))
    await second.wait()
    assert log == []
    await turns.aclose()
    assert log == ["written"]


async def test_stop_keeps_what_had_arrived_and_waits_until_it_is_stored() -> None:
    turns, log = RunningTurns(), []
    turn = begin(turns, script(DraftStarted(1, None), *[Token("x")] * 500, pause=0.01, log=log))
    page = asyncio.create_task(watch(turn))
    await asyncio.sleep(0.1)
    await turns.stop("conversation", "person")
    assert log == ["stored as stopped"]
    last = (await page)[-1][1]
    assert isinstance(last["end"], Stopped)
    assert 0 < len(last["text"]) < 500


async def test_nobody_else_can_stop_a_turn() -> None:
    turns = RunningTurns()
    turn = begin(turns, script(DraftStarted(1, None), Failed("x", ""), pause=0.02))
    await turns.stop("conversation", "somebody else")
    await turns.stop("no such conversation", "person")
    await turn.wait()
    assert turn.view.end == Failed("x", "")


async def test_the_server_going_down_stores_every_turn() -> None:
    turns, log = RunningTurns(), []
    for name in "abc":
        begin(turns, script(*[Token("x")] * 500, pause=0.01, log=log), replace(REQUEST, conversation_id=name))
    await asyncio.sleep(0.03)
    await turns.aclose()
    assert log == ["stored as stopped"] * 3


async def test_an_erasure_stops_the_person_s_turns_only() -> None:
    turns, log = RunningTurns(), []
    begin(turns, script(*[Token("x")] * 500, pause=0.01, log=log))
    other = begin(
        turns, script(*[Token("x")] * 500, pause=0.01), replace(REQUEST, conversation_id="o", participant_id="o")
    )
    await asyncio.sleep(0.03)
    await turns.stop_participant("person")
    assert log == ["stored as stopped"]
    assert other.view.end is None
    await turns.aclose()


async def test_a_fault_of_ours_ends_the_turn_and_only_its_kind_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    turn = begin(RunningTurns(), script(DraftStarted(1, None), Token("so far"), then=ValueError(WORDS)))
    with caplog.at_level(logging.DEBUG):
        await turn.wait()
    assert isinstance(turn.view.end, Crashed)
    assert turn.view.text == "so far"
    assert turn.view.end.reference in caplog.text
    assert "ValueError" in caplog.text
    assert WORDS not in caplog.text


async def test_a_new_draft_starts_an_empty_text_and_the_old_one_is_kept() -> None:
    view = TurnView()
    for event in (DraftStarted(1, None), Token("first"), Scored(1, SCORE), DraftStarted(2, "emotional"), Token("se")):
        view.apply(event)
    assert (view.number, view.guidance, view.text) == (2, "emotional", "se")
    assert view.texts == MappingProxyType({1: "first"})
