"""Blind ballots over the real socket: what is drawn, what is asked, what a page is sent, and what stands in SQL."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.models.downloads import Weights
from tests.journeys.balloting import ARMS, NAMES, TEXTS, Blind, ballot_in, blind_chat, found
from tests.journeys.talking import CRISIS, OUTCOME, locked, slow
from tests.servers import reply, silence, stall
from tests.socket_client import SocketPage, Turn, Visitor

SLOTS = "SELECT s.source, a.status, a.text, a.drafts FROM slot s JOIN ballot b ON b.id = s.ballot_id " \
    "JOIN answer a ON a.id = s.answer_id WHERE b.message_id = ? ORDER BY s.position"  # fmt: skip
VOTE = "SELECT v.choice, v.most, v.least, v.width_class, v.changes FROM vote v JOIN ballot b ON b.id = v.ballot_id " \
    "WHERE b.message_id = ?"  # fmt: skip


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Blind]:
    hasty = {"first_token_seconds": "5", "stall_seconds": "5"}
    with blind_chat(tmp_path_factory.mktemp("blind"), **hasty) as made:
        yield made


@pytest.fixture
async def page(blind: Blind) -> AsyncIterator[SocketPage]:
    blind.play(*(reply(text) for text in TEXTS))
    async with Visitor.agree(blind.served.url) as visitor, visitor.page() as opened:
        yield opened


async def vote(page: SocketPage, ballot: Any, **changes: Any) -> Any:
    payload = {
        "ballot": ballot["ballot"], "choice": "ranked", "most": "B", "least": "C", "reason": None, "seconds": 2.5,
        "width": "phone", "request": str(uuid.uuid4()),
    }  # fmt: skip
    response = await page.visitor.http.post("/vote", json=payload | changes)
    return response.json() | {"code": response.status_code}


def sent(page: SocketPage) -> str:
    return json.dumps([[event.name, event.data] for event in page.events])


async def test_three_answers_come_at_once_and_no_name_with_them(blind: Blind, page: SocketPage) -> None:
    opening = sent(page)
    settings = (await page.visitor.http.get("/chat/project/settings")).text
    turn = await page.send("My week was too much.")
    ballot = ballot_in(page, turn)
    assert set(ballot) == {"ballot", "answers", "least", "askReason", "closed"}
    assert [answer["letter"] for answer in ballot["answers"]] == ["A", "B", "C"]
    assert all(set(answer) == {"letter", "text", "votable", "reason"} for answer in ballot["answers"])
    assert {answer["text"] for answer in ballot["answers"]} == set(TEXTS)
    elements = [event for event in turn.events if event.name == "element"]
    assert len(elements) == 1
    assert not any(event.name in ("stream_start", "stream_token") for event in turn.events)
    assert found(opening + settings + sent(page)) == []
    assert page.settings.keys() == {"country"}

    slots = blind.served.rows(SLOTS, turn.message_id)
    assert [text for _, _, text, _ in slots] == [answer["text"] for answer in ballot["answers"]]
    assert sorted(source for source, *_ in slots) == sorted(NAMES)
    assert {status for _, status, _, _ in slots} == {"complete"}
    assert blind.served.rows(OUTCOME, turn.message_id) == [("answered",)]
    assert blind.served.rows("SELECT count(*) FROM reply WHERE message_id = ?", turn.message_id) == [(0,)]

    told = await vote(page, ballot)
    assert (told["code"], [row["source"] for row in told["reveal"]]) == (200, [source for source, *_ in slots])
    assert found(json.dumps(told)) != []  # so the search above would have found them
    newest = await page.send("It is raining here today.")
    assert page.actions == {}  # a thumb beside a ballot would be a second vote
    assert json.loads(settings)["features"]["edit_message"] is False
    await page.emit("edit_message", {"message": {"id": newest.message_id, "output": "changed"}})
    await page.until(lambda: bool(page.toasts))
    count = "SELECT count(*), count(replaced_by) FROM message WHERE conversation_id = ?"
    assert blind.served.rows(count, page.thread) == [(2, 0)]


async def test_each_arm_gets_its_own_prompt_and_model(blind: Blind, page: SocketPage) -> None:
    await page.send("My week was too much.")
    asked = [model.requests for model in blind.models]
    assert [len(requests) for requests in asked] == [1, 1, 1]
    systems = [requests[0]["messages"][0]["content"] for requests in asked]
    assert systems == [f"You are {name}.\n\nThink of {n}." for n, name in
                       enumerate(("Reynard Foxglove", "Isegrim Wolfsbane", "Bruin Bearberry"))]  # fmt: skip


async def test_the_chosen_answer_carries_the_conversation_on(blind: Blind, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    ballot = ballot_in(page, turn)
    await vote(page, ballot, most="C", least="A")
    await page.send("And now?")
    chosen = ballot["answers"][2]["text"]
    for model in blind.models:
        contents = [message["content"] for message in model.requests[-1]["messages"][1:]]
        assert contents == ["My week was too much.", chosen, "And now?"]
    assert blind.served.rows(VOTE, turn.message_id) == [("ranked", 3, 1, "phone", 0)]


async def test_the_next_message_skips_an_open_ballot(blind: Blind, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    ballot = ballot_in(page, turn)
    await page.emit("window_message", {"heard": "width", "width": "tablet"})
    await page.emit("window_message", {"heard": "width", "width": "999"})
    second = await page.send("And now?")
    assert blind.served.rows(VOTE, turn.message_id) == [("skipped", None, None, "tablet", 0)]
    folded = ballot_in(page, turn)
    assert (folded["vote"]["choice"], folded["stands"], folded["reveal"]) == ("skipped", "A", None)
    assert found(sent(page)) == []
    contents = [message["content"] for message in blind.models[0].requests[-1]["messages"][1:]]
    assert contents == ["My week was too much.", ballot["answers"][0]["text"], "And now?"]
    # Whoever skipped may still vote; the conversation has gone on from the first answer, and stays so.
    assert (await vote(page, ballot))["changes"] == 1
    async with page.visitor.page(thread=page.thread) as again:
        assert (ballot_in(again, turn)["stands"], ballot_in(again, turn)["vote"]["most"]) == ("A", "B")
        assert "vote" not in ballot_in(again, second)


async def test_a_skip_takes_no_vote_back(blind: Blind, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    ballot = ballot_in(page, turn)
    await vote(page, ballot)
    assert (await vote(page, ballot, choice="skipped", most=None, least=None))["code"] == 200
    assert blind.served.rows(VOTE, turn.message_id) == [("ranked", 2, 3, "phone", 0)]


async def test_a_crisis_gets_no_ballot_and_no_model(blind: Blind, page: SocketPage) -> None:
    turn = await page.send(CRISIS)
    assert turn.reply["name"] == "heard safety"
    assert page.cards == {}
    assert blind.asked == 0
    await blind.served.settled([("crisis",)], OUTCOME, turn.message_id)
    assert blind.served.rows("SELECT count(*) FROM ballot WHERE message_id = ?", turn.message_id) == [(0,)]
    await page.send("I'm safe now.")
    assert blind.asked == 0
    await page.send("My week was too much.")
    assert blind.asked == 3  # so calls are counted


async def test_an_answer_that_fails_is_not_votable_and_says_no_name(blind: Blind, page: SocketPage) -> None:
    blind.play(reply(TEXTS[0]), silence(), reply(TEXTS[2]))
    turn = await page.send("My week was too much.", seconds=60)
    ballot = ballot_in(page, turn)
    failed = next(answer for answer in ballot["answers"] if not answer["votable"])
    assert (failed["text"], failed["reason"]) == ("", "This answer did not arrive.")
    assert ballot["least"] is False
    assert found(sent(page)) == []
    letters = [answer["letter"] for answer in ballot["answers"] if answer["votable"]]
    refused = await vote(page, ballot, most=failed["letter"], least=None)
    assert (refused["code"], refused["status"]) == (409, "refused")
    assert (await vote(page, ballot, most=letters[0], least=None))["code"] == 200


async def test_one_answer_alone_carries_on_without_a_vote(blind: Blind, page: SocketPage) -> None:
    blind.play(stall("Half of a"), reply(TEXTS[1]), silence())
    turn = await page.send("My week was too much.", seconds=60)
    ballot = ballot_in(page, turn)
    assert "goes on from the one answer that arrived" in ballot["closed"]
    assert "Half of a" not in sent(page)
    assert found(sent(page)) == []
    stands = next(answer for answer in ballot["answers"] if answer["letter"] == ballot["stands"])
    assert stands["text"] == TEXTS[1]
    assert (await vote(page, ballot))["code"] == 409
    blind.play(*(reply(text) for text in TEXTS))
    await page.send("And now?")
    assert blind.models[2].requests[-1]["messages"][2]["content"] == TEXTS[1]
    assert blind.served.rows(VOTE, turn.message_id) == []


async def test_no_answer_at_all_is_a_sentence(blind: Blind, page: SocketPage) -> None:
    blind.play(silence(), silence(), silence())
    turn = await page.send("My week was too much.", seconds=60)
    assert turn.text == "None of the answers arrived. Please send your message again."
    assert found(sent(page)) == []
    assert blind.served.rows(OUTCOME, turn.message_id) == [("broken",)]
    async with page.visitor.page(thread=page.thread) as again:
        assert [step["output"] for step in again.steps.values()][1:] == [turn.text]
        assert again.cards == {}


async def test_stop_keeps_what_had_arrived_and_shows_none_of_it(blind: Blind, page: SocketPage) -> None:
    blind.play(reply(TEXTS[0]), slow(200), slow(200))
    turn = await page.begin("My week was too much.")
    written = "SELECT count(*) FROM answer a JOIN slot s ON s.answer_id = a.id JOIN ballot b ON b.id = s.ballot_id " \
        "WHERE b.message_id = ?"  # fmt: skip
    await blind.served.settled([(3,)], written, turn.message_id)
    await asyncio.sleep(1)
    await page.stop()
    await page.end(turn)
    assert turn.text.startswith("> Stopped.")
    assert page.cards == {}
    assert "word0" not in sent(page)
    assert TEXTS[0][:20] not in sent(page)
    slots = blind.served.rows(SLOTS, turn.message_id)
    assert {status for _, status, _, _ in slots} == {"stopped"}
    assert sum("word0. word1." in json.dumps(json.loads(drafts)) for *_, drafts in slots) == 2
    closed = blind.served.rows("SELECT closed_reason FROM ballot WHERE message_id = ?", turn.message_id)
    assert closed[0][0].startswith("Fewer than two answers arrived")
    assert blind.served.rows(OUTCOME, turn.message_id) == [("stopped",)]
    async with page.visitor.page(thread=page.thread) as again:
        assert [step["output"] for step in again.steps.values()][1:] == [turn.text]
    blind.play(*(reply(text) for text in TEXTS))
    assert ballot_in(page, await page.send("On we go."))["least"] is True


async def test_a_reload_draws_the_ballot_again_before_and_after_the_vote(blind: Blind, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    ballot = ballot_in(page, turn)
    async with page.visitor.page(thread=page.thread) as again:
        assert ballot_in(again, turn) == ballot
        assert [step["type"] for step in again.steps.values()] == ["user_message", "assistant_message"]
        assert found(sent(again)) == []
    await vote(page, ballot, reason="It listened.")
    async with page.visitor.page(thread=page.thread) as again:
        shown = ballot_in(again, turn)
        assert shown["vote"] == {"choice": "ranked", "most": "B", "least": "C", "reason": "It listened."}
        assert shown["stands"] == "B"
        assert [row["source"] for row in shown["reveal"]] == [
            row[0] for row in blind.served.rows(SLOTS, turn.message_id)
        ]
        assert [step["type"] for step in again.steps.values()] == ["user_message", "assistant_message"]
        assert {step["name"] for step in again.steps.values()} == {"You", "Answers"}
    kept = blind.served.rows(
        "SELECT metadata, name, tags FROM threads UNION ALL SELECT output, metadata, name FROM steps "
        "UNION ALL SELECT props, name, display FROM elements"
    )
    assert "My week was too much." in json.dumps(kept)
    assert found(json.dumps(kept)) == []
    (thread,) = await page.visitor.threads()
    assert thread["id"] == page.thread


async def test_a_reload_while_they_are_written_shows_the_line_and_then_the_ballot(
    blind: Blind, page: SocketPage
) -> None:
    blind.play(reply(TEXTS[0]), slow(40), reply(TEXTS[2]))
    turn = await page.begin("My week was too much.")
    await page.until(lambda: any("Writing 3 answers" in str(step.get("output")) for step in page.steps.values()))
    async with page.visitor.page(thread=page.thread) as tab:
        await tab.until(lambda: bool(tab.cards))
        await page.end(turn)
        assert ballot_in(tab, turn) == ballot_in(page, turn)
        assert found(sent(tab) + sent(page)) == []


async def test_a_locked_database_loses_no_choice(blind: Blind, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    ballot = ballot_in(page, turn)
    request = str(uuid.uuid4())
    with locked(blind.served.data_dir) as other:
        refused = await vote(page, ballot, request=request)
        assert (refused["code"], "reveal" in refused) == (503, False)
        blocked: Turn = await page.send("Sent during the lock.", seconds=60)
        assert "not sent to the model" in blocked.text
        other.execute("ROLLBACK")
    assert (await vote(page, ballot, request=request))["changes"] == 0


async def test_somebody_elses_ballot_takes_no_vote(blind: Blind, page: SocketPage) -> None:
    ballot = ballot_in(page, await page.send("My week was too much."))
    async with Visitor.agree(blind.served.url) as other, other.page() as foreign:
        refused = await vote(foreign, ballot)
    assert refused["code"] == 409
    assert "reveal" not in refused


async def test_settings_that_would_tell_are_refused(blind: Blind, page: SocketPage) -> None:
    await page.choose(model="modelzebra")
    await page.until(lambda: bool(page.toasts))
    assert "nobody chooses who answers" in page.toasts[0]
    await page.choose_raw({"country": "GB"})
    await page.send("My week was too much.")
    kept = "SELECT json_extract(metadata, '$.chat_settings') FROM threads WHERE id = ?"
    await blind.served.settled([('{"country":"GB"}',)], kept, page.thread)


async def test_the_same_arms_go_on_as_the_same_study_after_a_restart(tmp_path: Path, weights: Weights) -> None:
    """And a ballot of a turn that died with the process is closed, and its message can be sent again."""
    with blind_chat(tmp_path) as first:
        async with Visitor.agree(first.served.url) as visitor, visitor.page() as page:
            voted = await page.send("My week was too much.")
            thread, cookies = page.thread, visitor.http.cookies
    with blind_chat(tmp_path, blind_arms=", ".join(reversed(ARMS.split(", ")))) as second:
        assert len(second.served.rows("SELECT id FROM study")) == 1
        visitor = Visitor(second.served.url)
        visitor.http.cookies = cookies
        async with visitor.page(thread=thread) as page:
            assert ballot_in(page, voted)["least"] is True
            await page.send("And now?")
            assert second.served.rows("SELECT number FROM ballot ORDER BY number") == [(1,), (2,)]
        await visitor.http.aclose()


async def test_the_embedded_model_answers_as_an_arm(tmp_path: Path, weights: Weights) -> None:
    arms = "quiet/plain/smollm2, persofox/stratoak/modelzebra"
    with blind_chat(tmp_path, blind_arms=arms, blind_auto_improve="trial") as made:
        async with Visitor.agree(made.served.url) as visitor, visitor.page() as page:
            turn = await page.send("My cat is ill.", seconds=240)
            ballot = ballot_in(page, turn)
            assert [answer["votable"] for answer in ballot["answers"]] == [True, True]
            assert (await vote(page, ballot, most="A", least=None))["code"] == 200
        rows = made.served.rows("SELECT source, words, improve_assigned FROM answer ORDER BY source")
    assert [row[0] for row in rows] == ["persofox-stratoak-modelzebra", "quiet-plain-smollm2"]
    assert all(words >= 3 and assigned in (0, 1) for _, words, assigned in rows)
