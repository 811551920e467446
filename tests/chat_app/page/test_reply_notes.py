"""The quiet lines under a whole reply: that it ended at its longest length, and that another model answered."""

from collections.abc import Iterator
from contextlib import ExitStack, aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.events import (
    BallotReady,
    DraftStarted,
    FellBack,
    Finished,
    NotSaved,
    Token,
    TurnRequest,
)
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.records import Waiting
from heard.chat_app.page import wording
from heard.chat_app.page.reopen import merge_replies
from heard.chat_app.startup import open_services
from heard.chat_app.studies.ballot_turn import run_ballot_turn
from heard.chat_app.studies.study_file import parse_study, record_of
from heard.db.study_records import StudyKind
from tests.chat_app.conversation.test_turn import PERSON, World
from tests.chat_app.models.asking import message_to
from tests.chat_app.page.test_page_text import MESSAGE_ID, draft, reply, step, view
from tests.journeys.talking import Served
from tests.servers import ScriptedServer
from tests.servers import reply as played
from tests.socket_client import SocketPage
from tests.wires import WIRES

HALF = "It sounds as if"
WHOLE = "It sounds like a hard week."


def test_a_reply_at_its_longest_length_or_by_another_model_says_so() -> None:
    """Live, when it could not be stored, and when it is opened again."""
    cases = {
        wording.CUT: replace(draft("That is"), cut=True),
        wording.OTHER_MODEL: replace(draft("That is"), fallback_for="gpt-4o"),
        f"{wording.CUT}\n\n{wording.OTHER_MODEL}": replace(draft("That is"), cut=True, fallback_for="gpt-4o"),
    }
    for note, kept in cases.items():
        assert wording.reply_text(view(Finished(reply(kept), votable=True))) == f"That is\n\n{note}"
        (_, opened) = merge_replies([step(MESSAGE_ID)], "t", {MESSAGE_ID: reply(kept)}, {}, messages=[])
        assert (opened["output"], opened["isError"]) == (f"That is\n\n{note}", False)
        lost = NotSaved("Not stored.", "That is", (kept,))
        assert wording.reply_text(view(lost)) == f"That is\n\n{note}\n\n> Not stored."
        assert "gpt-4o" not in note


def test_another_model_is_announced_until_its_first_word() -> None:
    asked = (DraftStarted(1, None), Waiting(2), FellBack())
    assert wording.reply_text(view(*asked)) == wording.ASKING_ANOTHER
    assert wording.reply_text(view(*asked, Token("So"))) == "So"


async def test_the_page_tells_of_a_cut_reply_live_and_when_it_is_opened_again(
    talking: Served, page: SocketPage
) -> None:
    talking.play(played(HALF, finish="length"))
    turn = await page.send("I cannot sleep.")
    assert turn.text == f"{HALF}\n\n{wording.CUT}"
    assert turn.card is not None, "it is scored like any other"
    assert talking.rows(
        "SELECT d.text, d.status, d.cut FROM draft d JOIN reply r ON r.id = d.reply_id WHERE r.message_id = ?",
        turn.message_id,
    ) == [(HALF, "complete", 1)]
    talking.play(played("Go on."))
    await page.send("And then?")
    assert wording.CUT not in str(talking.model.requests), "the line is for the person and no part of what was said"
    thread = page.thread
    await page.leave()
    async with page.visitor.page(thread=thread) as later:
        texts = [one["output"] for one in later.steps.values() if one["type"] == "assistant_message"]
    assert texts == [f"{HALF}\n\n{wording.CUT}", "Go on."]


@pytest.fixture
def cutting() -> Iterator[dict[str, ScriptedServer]]:
    """A server of each protocol, whose replies end at their longest length."""
    with ExitStack() as stack:
        wires = {name: wire for name, wire in WIRES.items() if name != "vllm"}
        yield {name: stack.enter_context(wire.server(wire.reply(HALF, "length"))) for name, wire in wires.items()}


def request_for(services: Services, model: str) -> TurnRequest:
    """A message to this model, in a conversation of its own."""
    return message_to(services, model, participant_id=PERSON)


async def test_every_protocol_s_mark_is_stored_and_a_ballot_does_not_show_it(
    cutting: dict[str, ScriptedServer], tmp_path: Path, weights: Weights
) -> None:
    """A line under one answer and none under another would tell sources apart."""
    file = tmp_path / "models.toml"
    lines = [
        f'{name} = {{ provider = "{name}", model = "scripted", base_url = "{server.base_url}" }}\n'
        for name, server in cutting.items()
    ]
    file.write_text("".join(lines))
    arms = [{"name": name, "persona": "listener", "strategy": "plain", "model": name} for name in cutting]
    study = parse_study({"id": "s", "kind": StudyKind.LIVE, "arms": arms}, "a test")
    async with open_services(Settings(data_dir=tmp_path, models_file=file), weights) as services:
        await services.store.ensure_participant(PERSON)
        await services.studies.save_study(record_of(study, None))
        world = World(services, next(iter(cutting.values())))
        for name in cutting:
            events = await world.run(request_for(services, name))
            assert isinstance(events[-1], Finished)
        stored = world.rows("SELECT model, text, cut FROM draft ORDER BY model")
        assert stored == [(name, HALF, 1) for name in sorted(cutting)]
        for name, server in cutting.items():  # what ends in mid-sentence stands on no ballot
            server.scripts = (WIRES[name].reply(WHOLE, "length"),)
        request = request_for(services, "openai")
        async with aclosing(run_ballot_turn(request, services, study)) as ballot:
            ended = [event async for event in ballot][-1]
    assert isinstance(ended, BallotReady)
    assert {answer["text"] for answer in ended.props["answers"]} == {WHOLE}
    assert "longest length" not in str(ended.props)
    assert world.rows("SELECT source, cut FROM answer ORDER BY source") == [(name, 1) for name in sorted(cutting)]
