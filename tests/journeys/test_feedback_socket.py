"""Thumbs and "did you feel heard?" over the page's socket: what is shown, what is stored, and what is not taken."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from heard.chat_app.page.wording import FELT_HEARD as QUESTION
from heard.db.feedback import HEARD_AFTER
from tests.journeys.talking import CRISIS, CURT, WARM, Served
from tests.servers import cut, reply
from tests.socket_client import SocketPage, Turn, Visitor

THUMBS = "SELECT t.up FROM thumb t JOIN draft d ON d.id = t.draft_id WHERE d.reply_id = ?"
HEARD = "SELECT answer, answered_at IS NOT NULL FROM felt_heard WHERE conversation_id = ?"
CRISES = "SELECT count(*) FROM message WHERE outcome = 'crisis' AND conversation_id = ?"
NUMBERS = ["1 not at all", "2", "3", "4", "5 fully", "Skip"]


def question(page: SocketPage) -> str | None:
    """The entry with the question, if the page shows it."""
    return next((key for key, step in page.steps.items() if step["output"] == QUESTION), None)


@asynccontextmanager
async def again(page: SocketPage) -> AsyncIterator[SocketPage]:
    """The same conversation on another page."""
    async with page.visitor.page(thread=page.thread) as other:
        yield other


async def several(page: SocketPage, turns: int = HEARD_AFTER) -> Turn:
    """So many answered messages; gives the last turn."""
    for number in range(turns):
        turn = await page.send(f"My week was too much, day {number}.")
    return turn


async def test_a_thumb_is_given_turned_taken_back_and_drawn_again(talking: Served, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    under = turn.reply["id"]
    await page.until(lambda: len(page.buttons(under)) == 3)
    assert talking.rows(THUMBS, under) == []
    for press, stored, shown in (
        ("Helpful", [(1,)], ["Marked helpful", "Not helpful", "Write another"]),
        ("Not helpful", [(0,)], ["Helpful", "Marked not helpful", "Write another"]),
        ("Marked not helpful", [], ["Helpful", "Not helpful", "Write another"]),
        ("Helpful", [(1,)], ["Marked helpful", "Not helpful", "Write another"]),
    ):
        assert (await page.press(page.buttons(under)[press])).status_code == 200
        await page.until(lambda shown=shown: list(page.buttons(under)) == shown)
        assert talking.rows(THUMBS, under) == stored
    async with again(page) as other:
        await other.until(lambda: list(other.buttons(under)) == ["Marked helpful", "Not helpful", "Write another"])


async def test_only_whole_replies_of_a_model_have_thumbs(talking: Served, page: SocketPage) -> None:
    talking.play(reply(WARM), cut("It sounds as if"))
    whole = await page.send("It hurts.")
    broken = await page.send("Listen.")
    fixed = await page.send("Are you a real person?")
    handed_off = await page.send(CRISIS)
    after = await page.send("I do not know.")
    async with again(page) as other:
        await other.until(lambda: bool(other.buttons(whole.reply["id"])))
        for shown in (page, other):
            for turn in (broken, fixed, handed_off, after):
                assert [shown.buttons(one["id"]) for one in turn.replies] == [{}] * len(turn.replies)
    (action, *_) = page.buttons(whole.reply["id"]).values()
    for turn in (broken, fixed, handed_off, after):
        for (key,) in talking.rows("SELECT id FROM reply WHERE message_id = ?", turn.message_id):
            await page.press({**action, "payload": {"reply": key, "up": True}})
            assert talking.rows(THUMBS, key) == []


async def test_nobody_rates_anothers_reply_and_made_up_ones_are_passed_over(talking: Served, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    under = turn.reply["id"]
    await page.until(lambda: len(page.buttons(under)) == 3)
    action = page.buttons(under)["Helpful"]
    payloads: list[Any] = [
        {}, {"reply": under}, {"reply": under, "up": 1}, {"reply": under, "up": "yes"}, {"reply": 7, "up": True},
        {"reply": "' OR 1=1", "up": True}, {"reply": turn.message_id, "up": True},
    ]  # fmt: skip
    for payload in payloads:
        await page.press({**action, "payload": payload})
    async with Visitor.agree(talking.url) as other, other.page() as theirs:
        await theirs.choose(model="talker")
        await theirs.send("Hello, it was a long day.")
        await theirs.press(action)
        await theirs.until(lambda: "This reply cannot be rated. Nothing was saved." in theirs.toasts)
        stolen = {"sessionId": page.session, "action": action}
        assert (await other.http.post("/chat/project/action", json=stolen)).status_code == 401
    assert talking.rows(THUMBS, under) == []


@pytest.mark.parametrize(("label", "answer"), [("1 not at all", 1), ("4", 4), ("5 fully", 5), ("Skip", None)])
async def test_after_several_turns_it_is_asked_once(
    talking: Served, page: SocketPage, label: str, answer: int | None
) -> None:
    await several(page, HEARD_AFTER - 1)
    assert question(page) is None
    await several(page, 1)
    await page.until(lambda: (key := question(page)) is not None and list(page.buttons(key)) == NUMBERS)
    key = question(page)
    assert key is not None
    async with again(page) as other:  # it is open on every page until it is answered
        await other.until(lambda: question(other) == key and list(other.buttons(key)) == NUMBERS)
    assert talking.rows(HEARD, page.thread) == [(None, 0)]
    pressed = page.buttons(key)[label]
    await page.press(pressed)
    await page.until(lambda: page.buttons(key) == {} and question(page) is None)
    assert talking.rows(HEARD, page.thread) == [(answer, 1)]
    thanks = page.steps.get(key, {}).get("output")
    assert thanks == (None if answer is None else f"Thank you. You answered {answer} of 5.")
    for payload in ({}, {"answer": 0}, {"answer": 6}, {"answer": True}, {"answer": "3"}, {"answer": 2.0}):
        await page.press({**pressed, "payload": payload})
    assert talking.rows(HEARD, page.thread) == [(answer, 1)]
    await several(page, 2)
    assert question(page) is None
    async with again(page) as other:
        await other.until(lambda: bool(other.actions))
        assert question(other) is None


async def test_whoever_writes_on_has_skipped_it(talking: Served, page: SocketPage) -> None:
    await several(page)
    await page.until(lambda: question(page) is not None)
    await page.send("It is raining here today.")
    assert question(page) is None
    async with again(page) as other:
        await other.until(lambda: bool(other.actions))
        assert question(other) is None
    assert talking.rows(HEARD, page.thread) == [(None, 0)]


@pytest.mark.parametrize("before", [0, HEARD_AFTER])
async def test_it_is_neither_asked_nor_answered_after_a_hand_off(
    talking: Served, page: SocketPage, before: int
) -> None:
    if before:
        await several(page)
        await page.until(lambda: (key := question(page)) is not None and len(page.buttons(key)) == len(NUMBERS))
    answers = [action for action in page.actions.values() if action["label"] in NUMBERS]
    await page.send(CRISIS)
    await talking.settled([(1,)], CRISES, page.thread)
    assert question(page) is None
    for action in answers:
        await page.press(action)
    assert talking.rows(HEARD, page.thread) == ([(None, 0)] if before else [])
    talking.play(reply(CURT))
    await several(page, 8)
    assert question(page) is None
    assert talking.rows(HEARD, page.thread) == ([(None, 0)] if before else [])
