"""What a browser may not do over the real socket, and what the log may not hold."""

import asyncio
import json
import uuid
from typing import Any

import pytest
from socketio.exceptions import ConnectionError as Refusal

from tests.journeys.talking import WARM, Served
from tests.socket_client import SocketPage, Visitor


async def test_made_up_settings_are_refused_with_a_sentence(talking: Served, page: SocketPage) -> None:
    for values in ({"model": "gpt-9"}, {"threshold": 99}, {"live_scores": "no"}, {"slot": "A"}, {"country": "ZZ"}):
        page.toasts.clear()
        await page.choose(**values)
        await page.until(lambda: bool(page.toasts))
        assert "nothing was changed" in page.toasts[0]
    turn = await page.send("Still the same?")
    assert turn.text == WARM
    await page.close()
    kept = {"auto_improve": False, "strategy": "plain", "threshold": 1.7, "live_scores": True, "country": "all"}
    for _ in range(100):
        ((metadata,),) = talking.rows("SELECT metadata FROM threads WHERE id = ?", page.thread)
        if "chat_settings" in metadata:
            break
        await asyncio.sleep(0.05)
    assert json.loads(metadata) == {"chat_profile": "listener", "chat_settings": kept}


@pytest.mark.parametrize("values", [None, [], "x", 7])
async def test_settings_that_are_none_break_nothing(page: SocketPage, values: Any) -> None:
    await page.choose_raw(values)
    assert (await page.send("Are you there?")).text == WARM


async def test_another_person_s_conversation_stays_closed(talking: Served, page: SocketPage) -> None:
    await page.send("Private words.")
    async with Visitor.agree(talking.url) as other:
        with pytest.raises(Refusal):
            async with other.page(thread=page.thread):
                pass
        response = await other.http.get(f"/chat/project/thread/{page.thread}")
        assert response.status_code in (401, 404)
        assert "Private words" not in response.text
        assert await other.threads() == []


async def test_a_message_id_cannot_be_used_twice(talking: Served, page: SocketPage) -> None:
    first = await page.send("The first words.")
    async with Visitor.agree(talking.url) as other, other.page() as foreign:
        await foreign.choose(model="talker")
        turn = await foreign.send("Other words.", message_id=first.message_id)
        assert WARM not in turn.text
    assert talking.rows("SELECT text FROM message WHERE id = ?", first.message_id) == [("The first words.",)]
    assert talking.rows("SELECT output FROM steps WHERE id = ?", first.message_id) == [("The first words.",)]


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"id": "not a uuid", "output": "x"},
        {"id": str(uuid.uuid4()), "output": {"a": 1}, "createdAt": "x", "type": "user_message", "name": "n"},
        {"id": str(uuid.uuid4()), "output": None, "createdAt": "x", "type": "user_message", "name": "n"},
    ],
)
async def test_a_malformed_message_does_not_end_the_page(page: SocketPage, message: dict[str, Any]) -> None:
    page.events.clear()
    await page.emit("client_message", {"message": message, "fileReferences": []})
    await page.until(lambda: any(event.name == "task_end" for event in page.events))
    assert (await page.send("Still there?")).text == WARM


async def test_an_edit_does_not_change_what_was_said(talking: Served, page: SocketPage) -> None:
    turn = await page.send("As it was.")
    await page.send("And now?")
    await page.emit("edit_message", {"message": {"id": turn.message_id, "output": "changed"}})
    await page.until(lambda: bool(page.toasts))
    assert "cannot be changed" in page.toasts[0]
    await talking.settled([("As it was.",)], "SELECT output FROM steps WHERE id = ?", turn.message_id)


def test_the_log_holds_nobody_s_words(talking: Served) -> None:
    """Over all that was written until here; the fixture asks once more when the server has stopped."""
    assert talking.words_in_log() == []
