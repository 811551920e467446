"""A hand-off is shown before it is stored. What a person says meanwhile comes after it, in the database too."""

import asyncio
import uuid
from functools import partial
from pathlib import Path

import pytest

from heard.chat_app.conversation.events import CrisisShown, Finished, TurnRequest
from heard.chat_app.conversation.running_turns import RunningTurn, RunningTurns
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.conversation.unsaved_hand_offs import UnsavedHandOffs
from heard.db.records import Safety
from tests.chat_app.models.asking import PERSON, message_to
from tests.journeys.talking import CRISIS, locked
from tests.servers import ScriptedServer

WHOSE = (PERSON, "22222222-2222-4222-8222-222222222222")


def begun(turns: RunningTurns, services: Services, request: TurnRequest) -> RunningTurn:
    turn = turns.begin(request, partial(run_turn, services=services))
    assert turn is not None
    return turn


async def shown(turn: RunningTurn) -> object:
    async for view in turn.views():
        if view.end is not None:
            return view.end
    raise AssertionError


@pytest.mark.parametrize("crises", [1, 2])
async def test_who_says_safe_at_once_is_believed_although_the_database_was_slow(
    services: Services, server: ScriptedServer, tmp_path: Path, crises: int
) -> None:
    for pause in (0.01, 0.02, 0.03, 0.04, 0.3):
        # Long, and of words never read before, so that it is still being read while the hand-off before it is stored.
        safe_words = "I'm safe now. " + " ".join(f"{uuid.uuid4().hex[:6]}ing" for _ in range(700))
        turns, asked = RunningTurns(), partial(message_to, services, "scripted", participant_id=PERSON)
        first = asked(text="A long week.")
        await shown(begun(turns, services, first))
        asked = partial(asked, conversation_id=first.conversation_id)
        with locked(tmp_path) as other:
            for _ in range(crises):
                assert isinstance(await shown(begun(turns, services, asked(text=CRISIS))), CrisisShown)
            safe = begun(turns, services, asked(text=safe_words))
            await asyncio.sleep(pause)
            other.execute("ROLLBACK")
            end = await shown(safe)
        assert isinstance(end, Finished)
        assert end.safety is Safety.SAFE
        stored = [one.outcome.value for one in await services.store.messages(first.conversation_id)]
        assert stored == ["answered", *["crisis"] * crises, "answered"]
        server.requests.clear()
        end = await shown(begun(turns, services, asked(text="And after.")))
        assert isinstance(end, Finished)
        assert end.safety is None
        assert len(server.requests) == 1
        await turns.aclose()


def test_of_two_hand_offs_each_is_kept_until_it_is_stored() -> None:
    unsaved = UnsavedHandOffs()
    unsaved.add(WHOSE, "one")
    unsaved.add(WHOSE, "two")
    unsaved.stored(WHOSE, "one")
    assert WHOSE in unsaved
    assert [unsaved.holds(WHOSE, one) for one in ("one", "two")] == [False, True]
    unsaved.stored(WHOSE, "two")
    assert WHOSE not in unsaved


def test_who_is_safe_has_no_hand_off_to_come() -> None:
    unsaved = UnsavedHandOffs()
    unsaved.over(WHOSE)
    unsaved.add(WHOSE, "one")
    unsaved.over(WHOSE)
    assert WHOSE not in unsaved
    assert not unsaved.holds(WHOSE, "one")


async def test_its_turn_is_one_for_each_conversation() -> None:
    unsaved = UnsavedHandOffs()
    async with unsaved.in_turn(WHOSE):
        assert unsaved.in_turn(WHOSE).locked()
        assert not unsaved.in_turn(("somebody else", WHOSE[1])).locked()
    assert not unsaved.in_turn(WHOSE).locked()
