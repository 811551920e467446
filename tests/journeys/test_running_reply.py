"""A reply that is being written, over the real socket: stopped, joined by a second tab, reloaded, reconnected."""

from tests.journeys.talking import OUTCOME, WARM, Served, begun, slow
from tests.servers import reply
from tests.socket_client import SocketPage


async def test_stop_keeps_what_had_arrived(talking: Served, page: SocketPage) -> None:
    talking.play(slow(1000))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 3)
    await page.stop()
    await page.end(turn)
    assert turn.text.startswith("word0. ")
    assert turn.text.endswith("> Stopped. What had arrived is kept.")
    assert not turn.reply.get("streaming")
    assert len(turn.replies) == 1  # no message of Chainlit's own
    assert turn.cards == []
    rows = talking.rows(
        "SELECT m.outcome, d.status FROM message m JOIN reply r ON r.message_id = m.id "
        "JOIN draft d ON d.reply_id = r.id WHERE m.id = ?",
        turn.message_id,
    )
    assert rows == [("stopped", "stopped")]
    talking.play(reply(WARM))
    assert (await page.send("On we go.")).text == WARM


async def test_a_second_message_waits_its_turn(talking: Served, page: SocketPage) -> None:
    talking.play(slow(40))
    first = await page.begin("Tell me more.")
    await begun(page, first, 2)
    events = first.events
    second = await page.begin("Me too!")
    await page.end(second, 20)
    assert any("still being written" in reply["output"] for reply in second.replies)
    await page.until(lambda: [event.name for event in second.events].count("task_end") == 2)
    names = [event.name for event in [*events, *second.events]]
    assert "stream_token" not in names[names.index("task_end") :]  # not unlocked while the first was still written
    assert talking.rows(OUTCOME, second.message_id) == [("refused",)]
    assert talking.rows("SELECT count(*) FROM reply WHERE message_id = ?", second.message_id) == [(0,)]
    assert talking.rows(OUTCOME, first.message_id) == [("answered",)]


async def test_a_second_tab_sees_the_running_reply_and_may_stop_it(talking: Served, page: SocketPage) -> None:
    talking.play(slow(1000))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 3)
    async with page.visitor.page(thread=page.thread) as tab:
        reply_id = next(step["id"] for step in page.steps.values() if step["type"] == "assistant_message")
        await tab.until(lambda: tab.loading)
        reached = len(tab.steps[reply_id]["output"])
        await tab.until(lambda: len(tab.steps[reply_id]["output"]) > reached + 20)
        refused = await tab.begin("Can I?")
        await tab.until(lambda: any("still being written" in str(s["output"]) for s in tab.steps.values()))
        await tab.stop()
        await tab.end(refused)
        await page.end(turn)
        assert tab.steps[reply_id]["output"] == page.steps[reply_id]["output"] == turn.text
        assert not tab.loading
    assert talking.rows(OUTCOME, turn.message_id) == [("stopped",)]


async def test_a_reload_in_the_middle_shows_the_rest_and_the_card(talking: Served, page: SocketPage) -> None:
    talking.play(slow(60))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 3)
    thread = page.thread
    await page.leave()
    async with page.visitor.page(thread=thread) as reloaded:
        reply_id = next(step["id"] for step in reloaded.steps.values() if step["type"] == "assistant_message")
        assert reloaded.steps[reply_id]["output"].startswith("word0")
        await reloaded.until(lambda: reloaded.loading)  # locked, with the Stop button
        await reloaded.until(lambda: not reloaded.loading)
        assert reloaded.steps[reply_id]["output"].split() == [f"word{n}." for n in range(60)]
        assert reply_id in reloaded.cards
        assert len([s for s in reloaded.steps.values() if s["type"] == "assistant_message"]) == 1


async def test_a_closed_tab_s_reply_still_ends_in_the_database(talking: Served, page: SocketPage) -> None:
    talking.play(slow(30))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 2)
    thread = page.thread
    await page.leave()
    await talking.settled([("answered",)], OUTCOME, turn.message_id)
    async with page.visitor.page(thread=thread) as later:
        texts = [step["output"] for step in later.steps.values()]
        assert texts[0] == "Tell me more."
        assert texts[1].split() == [f"word{n}." for n in range(30)]
        assert len(later.cards) == 1


async def test_a_reconnect_neither_doubles_nor_unlocks_nor_loses(talking: Served, page: SocketPage) -> None:
    talking.play(slow(60))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 3)
    await page.reconnect()
    await page.until(lambda: page.loading, 3)  # Chainlit unlocks at every reconnect; we lock again
    await page.until(lambda: not page.loading, 20)
    replies = [step for step in page.steps.values() if step["type"] == "assistant_message"]
    assert len(replies) == 1
    assert replies[0]["output"].split() == [f"word{n}." for n in range(60)]
    assert replies[0]["id"] in page.cards
    assert talking.rows("SELECT count(*) FROM reply r WHERE r.message_id = ?", turn.message_id) == [(1,)]


async def test_settings_changed_while_a_reply_runs_count_from_the_next(talking: Served, page: SocketPage) -> None:
    talking.play(slow(30))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 2)
    await page.choose(model="talker", live_scores=False)
    await page.end(turn)
    assert turn.cards
    assert [event.name for event in turn.events].count("task_end") == 1  # the change did not unlock the input
    assert (await page.send("Next.")).cards == []
