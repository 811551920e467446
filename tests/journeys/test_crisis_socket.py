"""A crisis over the real socket, by every way a person's words can take: always the hand-off, never a model, a score, a
title or a later prompt."""

import asyncio
import json
import sqlite3
import time
import uuid
from contextlib import closing

import pytest

from heard.chat_app.safety import crisis_check
from heard.prompts.library import PromptLibrary
from tests.journeys.talking import CRISIS, OUTCOME, WARM, Served, begun, locked, slow
from tests.servers import cut, reply
from tests.socket_client import SocketPage, Turn, Visitor

SAYINGS = [
    CRISIS,
    "I don’t want to live any more",
    "k\u200bill  MY\u00a0self, I want to",
    "Ich will mich umbringen",
    "quiero suicidarme",
    "je veux me tuer",
    "quero me matar",
    "我想自杀",
]


def handed_off(page: SocketPage) -> bool:
    return any(step["name"] == "heard safety" for step in page.steps.values())


async def stands_as_crisis(talking: Served, turn: Turn) -> None:
    """Stored as a crisis, without a reply, a draft or a score."""
    await talking.settled([("crisis",)], OUTCOME, turn.message_id)
    assert talking.rows("SELECT count(*) FROM reply WHERE message_id = ?", turn.message_id) == [(0,)]


def sent_words(talking: Served) -> str:
    return json.dumps([request["messages"] for request in talking.model.requests], ensure_ascii=False)


@pytest.mark.parametrize("saying", SAYINGS)
async def test_a_second_tab_gets_the_hand_off_while_a_reply_runs(
    talking: Served, page: SocketPage, saying: str
) -> None:
    talking.play(slow(1000))
    running = await page.begin("Tell me more.")
    await begun(page, running)
    async with page.visitor.page(thread=page.thread) as tab:
        await tab.until(lambda: tab.loading)
        began = time.perf_counter()
        turn = await tab.begin(saying)
        await tab.until(lambda: handed_off(tab), 5)
        assert time.perf_counter() - began < 2
        assert page.loading  # the other reply goes on
        assert tab.loading
        assert not any("still being written" in str(step["output"]) for step in tab.steps.values())
        await stands_as_crisis(talking, turn)
        await tab.stop()
        await tab.end(turn)
    await page.end(running)
    assert talking.rows(OUTCOME, running.message_id) == [("stopped",)]
    assert len(talking.model.requests) == 1


async def test_the_same_page_may_cry_out_while_its_reply_runs_and_more_than_once(
    talking: Served, page: SocketPage
) -> None:
    talking.play(slow(40))
    running = await page.begin("Tell me more.")
    await begun(page, running)
    turns = [await page.begin(CRISIS), await page.begin("hello?"), await page.begin(CRISIS)]
    await page.until(lambda: sum(step["name"] == "heard safety" for step in page.steps.values()) == 2, 5)
    await talking.settled([("answered",)], OUTCOME, running.message_id)
    await page.end(turns[-1])
    for turn in (turns[0], turns[2]):
        await stands_as_crisis(talking, turn)
    assert talking.rows(OUTCOME, turns[1].message_id) == [("refused",)]
    assert set(page.cards) <= {row[0] for row in talking.rows("SELECT id FROM reply")}
    assert len(talking.model.requests) == 1


async def test_in_a_busy_conversation_of_a_locked_database_the_numbers_come_all_the_same(
    talking: Served, page: SocketPage
) -> None:
    talking.play(slow(100))
    running = await page.begin("Tell me more.")
    await begun(page, running)
    with locked(talking.data_dir):
        turn = await page.begin(CRISIS)
        await page.until(lambda: handed_off(page), 2)
    await page.stop()
    await page.end(turn)


async def test_a_page_that_may_not_write_here_gets_the_numbers(talking: Served, visitor: Visitor) -> None:
    async with visitor.page(profile="no such persona") as page:
        turn = await page.send(CRISIS)
        assert turn.reply["name"] == "heard safety"
    await stands_as_crisis(talking, turn)
    assert talking.model.requests == []


@pytest.mark.parametrize("persona", ["listener", "study"])
async def test_later_prompts_hold_what_was_broken_off_and_nothing_of_a_crisis_or_a_refusal(
    talking: Served, visitor: Visitor, persona: str
) -> None:
    talking.play(reply(WARM), cut("BROKENREPLY and"), slow(100), reply(WARM))
    async with visitor.page(profile=persona) as page:
        await page.choose(model="talker")
        await page.send("A good question.")
        await page.send(CRISIS)
        await page.send("I'm safe now.")
        await page.send("TOOLONG " * 2000)
        await page.send("BROKENASK please")
        stopped = await page.begin("HALTEDASK please")
        await begun(page, stopped)
        beside = await page.begin("BESIDEASK please")
        await page.until(lambda: any("still being written" in str(s["output"]) for s in page.steps.values()))
        await page.stop()
        await page.end(beside)
        last = await page.send("And now?")
        assert last.text == WARM
    prompt = json.dumps(talking.model.requests[-1]["messages"])
    for words in ("kill", "safe now", "TOOLONG", "BESIDE", "116 123"):
        assert words not in prompt, words
    for words in ("A good question.", "BROKENASK please", "HALTEDASK please", "word0", "And now?"):
        assert words in prompt, words
    roles = [message["role"] for message in talking.model.requests[-1]["messages"]]
    assert roles[-5:] == ["user", "assistant", "user", "assistant", "user"]
    await talking.settled(
        [
            ("answered",),
            ("crisis",),
            ("answered",),
            ("refused",),
            ("broken",),
            ("stopped",),
            ("refused",),
            ("answered",),
        ],
        "SELECT outcome FROM message WHERE conversation_id = ? ORDER BY position",
        page.thread,
    )


async def test_after_resume_and_reconnect_it_is_handed_off_too(talking: Served, page: SocketPage) -> None:
    await page.send("Hello.")
    talking.model.requests.clear()
    await page.reconnect()
    turn = await page.send(CRISIS)
    assert turn.reply["name"] == "heard safety"
    await page.leave()
    async with page.visitor.page(thread=page.thread) as again:
        turn = await again.send("Ich will mich umbringen")
        assert turn.reply["name"] == "heard safety"
        await stands_as_crisis(talking, turn)
    assert talking.model.requests == []


async def test_an_edit_is_read_like_a_message_and_starts_nothing(talking: Served, page: SocketPage) -> None:
    turn = await page.send("Hello.")
    talking.model.requests.clear()
    await page.emit("edit_message", {"message": {"id": turn.message_id, "output": CRISIS}})
    await page.until(lambda: bool(page.handoffs))
    assert talking.model.requests == []
    assert talking.rows("SELECT text FROM message WHERE id = ?", turn.message_id) == [("Hello.",)]


@pytest.mark.parametrize("key", ["model", "strategy", "country", "threshold", CRISIS])
async def test_the_settings_are_no_way_in(talking: Served, page: SocketPage, key: str) -> None:
    await page.choose(**{"model": "talker", key: CRISIS})
    await page.until(lambda: bool(page.toasts))
    assert "kill" not in page.toasts[0]
    await page.choose(model="talker")
    await page.send("Hello.")
    assert "kill" not in sent_words(talking)
    await page.close()
    assert talking.rows("SELECT count(*) FROM threads WHERE metadata LIKE '%kill%'") == [(0,)]


@pytest.mark.parametrize("extra", [{"command": CRISIS}, {"metadata": {"note": CRISIS}}, {"name": CRISIS}])
async def test_other_fields_of_a_message_reach_nobody(
    talking: Served, page: SocketPage, extra: dict[str, object]
) -> None:
    await page.send("Hello.", **extra)
    assert "kill" not in sent_words(talking)


async def test_it_is_no_title_in_the_sidebar_and_searching_for_it_starts_nothing(
    talking: Served, visitor: Visitor
) -> None:
    async with visitor.page(profile="listener") as page:
        await page.choose(model="talker")
        await page.send(CRISIS)
    async with visitor.page(profile="listener") as page:
        await page.choose(model="talker")
        await page.send("Hello.")
        await page.send(CRISIS)
    await talking.settled([(2,)], "SELECT count(DISTINCT conversation_id) FROM message WHERE outcome = 'crisis'"
                          " AND conversation_id IN (SELECT id FROM conversation WHERE participant_id = ?)",
                          (await visitor.user())["identifier"])  # fmt: skip
    assert not any("kill" in str(thread["name"]) for thread in await visitor.threads())
    talking.model.requests.clear()
    body = {"pagination": {"first": 20}, "filter": {"search": CRISIS}}
    found = await visitor.http.post("/chat/project/threads", json=body)
    assert found.status_code == 200
    assert all("kill" not in str(thread["name"]) for thread in found.json()["data"])
    assert talking.model.requests == []


async def test_the_page_shows_the_hand_off_again_although_its_history_lost_it(
    talking: Served, page: SocketPage
) -> None:
    turn = await page.send(CRISIS)
    await stands_as_crisis(talking, turn)
    await talking.settled([(1,)], "SELECT count(*) FROM steps WHERE id = ?", turn.reply["id"])
    await page.leave()
    with closing(sqlite3.connect(talking.data_dir / "heard.db", timeout=10)) as other, other:
        other.execute("DELETE FROM steps WHERE id = ?", (turn.reply["id"],))
    async with page.visitor.page(thread=page.thread) as again:
        assert handed_off(again)
        assert again.steps[turn.reply["id"]]["output"] == turn.text  # the same entry, and not a second one
        assert again.cards == {}


async def test_a_page_loaded_again_before_the_crisis_is_stored_shows_the_hand_off(
    talking: Served, page: SocketPage
) -> None:
    await page.send("Hello there.")
    with locked(talking.data_dir) as other:
        await page.begin(CRISIS)
        await page.until(lambda: handed_off(page), 0.9)
        await page.close()
        asyncio.get_running_loop().call_later(0.5, other.execute, "ROLLBACK")
        async with page.visitor.page(thread=page.thread) as again:
            assert handed_off(again)


def test_no_starter_of_a_persona_is_a_crisis() -> None:
    personas = PromptLibrary.load(None, "supportive listener").personas.values()
    assert not [s.message for persona in personas for s in persona.starters if crisis_check.check(s.message).crisis]


async def test_an_erasure_is_not_followed_by_one_more_row(talking: Served, page: SocketPage) -> None:
    talking.play(slow(100))
    running = await page.begin("Tell me more.")
    await begun(page, running)
    person = (await page.visitor.user())["identifier"]
    turn = await page.begin("BESIDE " * 10, message_id=str(uuid.uuid4()))
    assert (await page.visitor.http.post("/you/erase", data={"sure": "yes"})).status_code == 200
    await asyncio.sleep(0.5)
    assert talking.rows("SELECT count(*) FROM message WHERE id IN (?, ?)", running.message_id, turn.message_id) == [
        (0,)
    ]
    assert talking.rows("SELECT count(*) FROM conversation WHERE participant_id = ?", person) == [(0,)]


async def test_a_crisis_gets_the_hand_off_and_no_model_no_card_no_title(talking: Served, visitor: Visitor) -> None:
    before = len(talking.model.requests)
    async with visitor.page() as page:
        await page.choose(model="talker", country="GB")
        turn = await page.send(CRISIS)
    assert turn.reply["name"] == "heard safety"
    assert "116 123" in turn.text
    assert turn.cards == []
    assert not any(event.name == "stream_token" for event in turn.events)
    assert len(talking.model.requests) == before
    await talking.settled([("crisis",)], OUTCOME, turn.message_id)
    assert talking.rows("SELECT count(*) FROM reply WHERE message_id = ?", turn.message_id) == [(0,)]
    (thread,) = await visitor.threads()
    assert "kill" not in thread["name"]
    async with visitor.page(thread=thread["id"]) as again:
        assert [step["name"] for step in again.steps.values()][1:] == ["heard safety"]
        assert again.cards == {}


async def test_the_country_chosen_at_consent_comes_first(talking: Served) -> None:
    async with Visitor.agree(talking.url, country="GB") as british, british.page() as page:
        assert page.settings["country"] == "GB"
    async with Visitor.agree(talking.url) as anybody, anybody.page() as page:
        assert page.settings["country"] == "all"  # never guessed


async def test_a_crisis_hand_off_does_not_wait_for_the_database(talking: Served, page: SocketPage) -> None:
    with locked(talking.data_dir) as other:
        turn = await page.begin(CRISIS)
        await page.until(lambda: any(step["name"] == "heard safety" for step in page.steps.values()), 0.9)
        other.execute("ROLLBACK")
        await page.end(turn)
