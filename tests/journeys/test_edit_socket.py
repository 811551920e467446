"""The last message, edited over the page's socket: what takes its place, what is kept, and what cannot be edited."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.journeys.talking import CRISIS, CURT, OUTCOME, WARM, Served, begun, slow
from tests.servers import reply
from tests.socket_client import SocketPage, Turn, Visitor

MESSAGES = "SELECT text, outcome, replaced_by IS NOT NULL FROM message WHERE conversation_id = ? ORDER BY position"
FIRST, EDITED = "It is raining here today.", "It is snowing here today."


@asynccontextmanager
async def again(page: SocketPage) -> AsyncIterator[SocketPage]:
    """The same conversation on another page."""
    async with page.visitor.page(thread=page.thread) as other:
        yield other


async def edited(page: SocketPage, turn: Turn, text: Any) -> None:
    """Confirm another text of a turn's message, and wait until the page is at rest again."""
    page.events = []
    page.toasts.clear()
    await page.emit("edit_message", {"message": {"id": turn.message_id, "output": text}})
    ends = {"task_end", "resume_thread", "toast"}
    await page.until(lambda: bool(ends & {event.name for event in page.events}) and not page.loading)


def said(page: SocketPage) -> list[str]:
    """The person's own messages on the page."""
    return [step["output"] for step in page.steps.values() if step["type"] == "user_message"]


async def test_the_new_text_takes_the_place_of_the_old(talking: Served, page: SocketPage) -> None:
    talking.play(reply(CURT), reply(WARM), reply(CURT))
    before = await page.send("Hello, it was a long day.")
    turn = await page.send(FIRST)
    await edited(page, turn, EDITED)
    assert said(page) == ["Hello, it was a long day.", EDITED]
    assert turn.message_id not in page.steps
    assert turn.reply["id"] not in page.steps
    assert page.steps[before.reply["id"]]["output"] == CURT
    assert talking.rows(MESSAGES, page.thread) == [
        ("Hello, it was a long day.", "answered", 0), (FIRST, "answered", 1), (EDITED, "answered", 0),
    ]  # fmt: skip
    kept = "SELECT d.text FROM draft d JOIN reply r ON r.id = d.reply_id WHERE r.message_id = ?"
    assert talking.rows(kept, turn.message_id) == [(WARM,)]
    await page.send("And now?")
    sent = str(talking.model.requests[-1]["messages"])
    assert EDITED in sent
    assert FIRST not in sent
    assert WARM not in sent
    async with again(page) as other:
        assert said(other) == ["Hello, it was a long day.", EDITED, "And now?"]
        assert WARM not in [step["output"] for step in other.steps.values()]


async def test_the_only_message_is_edited_twice(talking: Served, page: SocketPage) -> None:
    turn = await page.send(FIRST)
    await edited(page, turn, EDITED)
    ((newer,),) = talking.rows("SELECT id FROM message WHERE text = ? AND conversation_id = ?", EDITED, page.thread)
    turn.message_id = newer
    await edited(page, turn, "It is hailing.")
    assert said(page) == ["It is hailing."]
    assert [row[2] for row in talking.rows(MESSAGES, page.thread)] == [1, 1, 0]


async def test_danger_in_the_new_text_is_handed_off(talking: Served, page: SocketPage) -> None:
    turn = await page.send(FIRST)
    talking.model.requests.clear()
    await edited(page, turn, CRISIS)
    await page.until(lambda: bool(page.handoffs))
    assert talking.model.requests == []
    want = [(FIRST, "answered", 1), (CRISIS, "crisis", 0)]
    await talking.settled(want, MESSAGES, page.thread)


async def test_what_was_handed_off_cannot_be_edited_away(talking: Served, page: SocketPage) -> None:
    for text in (CRISIS, "I do not know."):  # and not what followed it
        turn = await page.send(text)
        await talking.settled([(1,)], "SELECT count(*) FROM message WHERE id = ?", turn.message_id)
        talking.model.requests.clear()
        await edited(page, turn, EDITED)
        assert "cannot be changed" in page.toasts[0]
        await page.until(lambda: "resume_thread" in [event.name for event in page.events])
        assert text in said(page)
        assert page.handoffs
        assert talking.model.requests == []
    assert [row[2] for row in talking.rows(MESSAGES, page.thread)] == [0, 0]


@pytest.mark.parametrize("text", ["", "   ", "x" * 9000])
async def test_a_text_that_is_refused_leaves_the_old_one_in_its_place(
    talking: Served, page: SocketPage, text: str
) -> None:
    turn = await page.send(FIRST)
    await edited(page, turn, text)
    await page.until(lambda: "resume_thread" in [event.name for event in page.events])
    assert said(page)[0] == FIRST
    assert page.steps[turn.reply["id"]]["output"] == WARM
    assert talking.rows(MESSAGES, page.thread)[0] == (FIRST, "answered", 0)


async def test_only_the_last_message_of_ones_own_is_edited(talking: Served, page: SocketPage) -> None:
    first = await page.send(FIRST)
    await page.send("And now?")
    talking.model.requests.clear()
    await edited(page, first, EDITED)
    assert "Only your last message" in page.toasts[0]
    for message in (
        None,
        {},
        {"id": first.message_id},
        {"id": 7, "output": "x"},
        {"id": str(uuid.uuid4()), "output": "x"},
    ):
        page.toasts.clear()
        await page.emit("edit_message", {"message": message})
        await page.until(lambda: bool(page.toasts))
    async with Visitor.agree(talking.url) as other, other.page() as theirs:
        await theirs.choose(model="talker")
        await theirs.send("Hello, it was a long day.")
        talking.model.requests.clear()
        await edited(theirs, first, EDITED)
        assert said(theirs) == ["Hello, it was a long day."]
    assert talking.model.requests == []
    assert [row[2] for row in talking.rows(MESSAGES, page.thread)] == [0, 0]


async def test_not_while_a_reply_is_being_written(talking: Served, page: SocketPage) -> None:
    talking.play(slow(40))
    running = await page.begin(FIRST)
    await begun(page, running)
    await page.emit("edit_message", {"message": {"id": running.message_id, "output": EDITED}})
    await page.until(lambda: bool(page.toasts))
    await page.stop()
    await page.until(lambda: not page.loading)
    await talking.settled([("stopped",)], OUTCOME, running.message_id)
    assert talking.rows(MESSAGES, page.thread) == [(FIRST, "stopped", 0)]
