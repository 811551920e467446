"""A reply that is written again because the person asked, over the page's socket: what is shown, kept and refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.journeys.talking import CRISIS, CURT, WARM, Served, begun, slow
from tests.servers import cut, reply
from tests.socket_client import SocketPage, Turn, Visitor

DRAFTS = """SELECT d.number, d.text, d.kept, d.asked_by, d.status FROM draft d JOIN reply r ON r.id = d.reply_id
    WHERE r.id = ? ORDER BY d.number"""
BUTTON = "Write another"
OTHER = "That sounds like a long week. What was the hardest part of it?"


@asynccontextmanager
async def again(page: SocketPage) -> AsyncIterator[SocketPage]:
    """The same conversation on another page."""
    async with page.visitor.page(thread=page.thread) as other:
        yield other


async def offered(page: SocketPage, under: str) -> dict[str, object]:
    """The button under a reply, once it is there."""
    await page.until(lambda: BUTTON in page.buttons(under))
    return page.buttons(under)[BUTTON]


async def pressed(page: SocketPage, turn: Turn) -> None:
    """Press the button under a turn's reply, and wait until the input is unlocked."""
    action = await offered(page, turn.reply["id"])
    page.events = []
    await page.press(action)
    await page.until(lambda: "task_end" in [event.name for event in page.events] and not page.loading)


async def test_another_draft_takes_the_place_of_the_first_which_is_kept(talking: Served, page: SocketPage) -> None:
    await page.choose(model="talker", auto_improve=False)
    talking.play(reply(CURT), reply(WARM), reply(OTHER))
    first = await page.send("It is raining here today.")
    turn = await page.send("My week was too much.")
    under = turn.reply["id"]
    asked = talking.model.requests[-1]
    assert BUTTON not in page.buttons(first.reply["id"])
    await page.press(page.buttons(under)["Not helpful"])
    await pressed(page, turn)
    assert page.steps[under]["output"] == OTHER
    assert not page.steps[under].get("streaming")
    assert talking.rows(DRAFTS, under) == [(1, WARM, 0, None, "complete"), (2, OTHER, 1, "person", "complete")]
    assert talking.model.requests[-1]["messages"] == asked["messages"]  # and nothing of the reply itself
    assert list(page.buttons(under)) == ["Helpful", "Not helpful", BUTTON]  # of this draft nothing was said yet
    card = page.cards[under]
    assert (card["improved"], card["note"]) == (False, None)
    assert [draft["kept"] for draft in card["drafts"]] == [False, True]

    talking.play(reply(CURT))
    await page.send("It is raining here today.")
    said = [message["content"] for message in talking.model.requests[-1]["messages"]]
    assert OTHER in said
    assert WARM not in said
    async with again(page) as other:
        assert other.steps[under]["output"] == OTHER
        assert other.cards[under]["drafts"] == card["drafts"]


async def test_the_policys_rewrites_say_that_they_are_its(talking: Served, page: SocketPage) -> None:
    await page.choose(model="talker", auto_improve=True, threshold=2.0)
    talking.play(reply(CURT), reply(WARM), reply(CURT), reply(OTHER))
    turn = await page.send("My friends left me out.")
    count = len(talking.rows(DRAFTS, turn.reply["id"]))
    await pressed(page, turn)
    askers = [row[3] for row in talking.rows(DRAFTS, turn.reply["id"])]
    assert askers[0] is None
    assert set(askers[1:count]) == {"policy"}
    assert askers[count] == "person"
    assert set(askers[count + 1 :]) <= {"policy"}


async def test_the_earlier_reply_stands_when_another_breaks_off_or_is_stopped(
    talking: Served, page: SocketPage
) -> None:
    await page.choose(model="talker", auto_improve=False)
    turn = await page.send("My week was too much.")
    under = turn.reply["id"]
    talking.play(cut("It sounds as if"))
    await pressed(page, turn)
    assert page.steps[under]["output"] == WARM
    assert page.toasts[-1].endswith("The earlier reply stands.")
    talking.play(slow(60))
    action = await offered(page, under)
    page.events = []
    await page.press(action)
    await page.until(lambda: "word2" in page.steps[under]["output"])
    await page.stop()
    await page.until(lambda: "task_end" in [event.name for event in page.events] and not page.loading)
    assert page.steps[under]["output"] == WARM
    drafts = talking.rows(DRAFTS, under)
    assert [(row[2], row[4]) for row in drafts] == [(1, "complete"), (0, "broken"), (0, "stopped")]
    assert drafts[2][1].startswith("word0.")
    talking.play(reply(OTHER))
    await pressed(page, turn)
    assert page.steps[under]["output"] == OTHER
    assert [row[2] for row in talking.rows(DRAFTS, under)] == [0, 0, 0, 1]


async def test_only_the_last_reply_of_a_model_is_written_again(talking: Served, page: SocketPage) -> None:
    first = await page.send("It is raining here today.")
    action = await offered(page, first.reply["id"])
    fixed = await page.send("Are you a real person?")
    handed_off = await page.send(CRISIS)
    after = await page.send("I do not know.")
    talking.model.requests.clear()
    for turn in (fixed, handed_off, after):
        assert BUTTON not in [action["label"] for action in page.actions.values()]
        for (key,) in talking.rows("SELECT id FROM reply WHERE message_id = ?", turn.message_id):
            await page.press({**action, "payload": {"reply": key}})
    await page.press(action)
    for payload in (
        {},
        {"reply": 7},
        {"reply": "' OR 1=1"},
        {"reply": first.message_id},
        {"reply": handed_off.message_id},
    ):
        await page.press({**action, "payload": payload})
    async with again(page) as other:
        await other.until(lambda: bool(other.actions))
        assert BUTTON not in [action["label"] for action in other.actions.values()]
    await page.until(lambda: len(page.toasts) >= 3)
    assert talking.model.requests == []
    assert len(talking.rows(DRAFTS, first.reply["id"])) == 1


async def test_nobody_has_anothers_reply_written_again(talking: Served, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    action = await offered(page, turn.reply["id"])
    async with Visitor.agree(talking.url) as other, other.page() as theirs:
        await theirs.choose(model="talker")
        await theirs.send("Hello, it was a long day.")
        await theirs.press(action)
        await theirs.until(lambda: bool(theirs.toasts))
    assert len(talking.rows(DRAFTS, turn.reply["id"])) == 1


async def test_not_while_another_reply_is_being_written(talking: Served, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    action = await offered(page, turn.reply["id"])
    talking.play(slow(40))
    running = await page.begin("It is raining here today.")
    await begun(page, running)
    await page.press(action)
    await page.until(lambda: bool(page.toasts))
    await page.stop()
    await page.end(running)
    assert len(talking.rows(DRAFTS, turn.reply["id"])) == 1
