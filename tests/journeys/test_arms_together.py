"""All arms of a ballot are asked at once, none waits for another's answer, and what breaks off cannot be chosen."""

import asyncio
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.events import BallotReady, TurnEvent
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from heard.chat_app.studies.ballot_turn import run_ballot_turn
from heard.chat_app.studies.study_file import parse_study, record_of
from tests.chat_app.models.asking import message_to
from tests.servers import ScriptedServer, reply, silence

PERSON = "11111111-1111-4111-8111-111111111111"


async def test_five_arms_are_asked_before_any_has_answered_and_a_stop_ends_all(
    tmp_path: Path, weights: Weights
) -> None:
    arms = [{"name": f"arm-{n}", "persona": "listener", "model": "one"} for n in range(5)]
    study = parse_study({"id": "s", "kind": "live", "arms": arms}, "a test")
    with ScriptedServer(silence()) as server:
        file = tmp_path / "models.toml"
        file.write_text(f'one = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}\n')
        async with open_services(Settings(data_dir=tmp_path, models_file=file), weights) as services:
            await services.store.ensure_participant(PERSON)
            await services.studies.save_study(record_of(study, None))
            request = message_to(services, "one", participant_id=PERSON)

            async def read() -> list[TurnEvent]:
                return [event async for event in run_ballot_turn(request, services, study)]

            turn = asyncio.create_task(read())
            await asyncio.to_thread(server.wait_until, lambda: len(server.requests) == 5, "all five requests")
            assert server.written == 0
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
            await asyncio.to_thread(server.wait_until, lambda: server.disconnects == 5, "the ends of all five")


async def test_an_answer_that_its_limit_cut_off_cannot_be_chosen(tmp_path: Path, weights: Weights) -> None:
    whole, cut = "That sounds really hard.", "You carry so much, and then"
    arms = [{"name": f"arm-{n}", "persona": "study", "model": "one"} for n in range(3)]
    study = parse_study({"id": "s", "kind": "live", "arms": arms}, "a test")
    scripts = (reply(whole), reply(cut, finish="length"), reply(whole))
    with ScriptedServer(*scripts) as server:
        file = tmp_path / "models.toml"
        file.write_text(f'one = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}\n')
        async with open_services(Settings(data_dir=tmp_path, models_file=file), weights) as services:
            await services.store.ensure_participant(PERSON)
            await services.studies.save_study(record_of(study, None))
            request = message_to(services, "one", participant_id=PERSON)
            events = [event async for event in run_ballot_turn(request, services, study)]
    ready = events[-1]
    assert isinstance(ready, BallotReady)
    shown = sorted((one["votable"], one["text"], bool(one["reason"])) for one in ready.props["answers"])
    assert shown == [(False, "", True), (True, whole, False), (True, whole, False)]
    assert not ready.props["least"], "two are left to compare"
