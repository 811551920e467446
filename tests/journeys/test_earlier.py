"""A reply may come back to what was said before: in the chat the scorer looks back, and never at a crisis."""

import json

import pytest

from tests.journeys.talking import COMING_BACK, CRISIS, WARM, Served
from tests.servers import reply
from tests.socket_client import SocketPage, Turn

TOLD, NOW, ANSWER = COMING_BACK


def notes(talking: Served, turn: Turn) -> list[str]:
    (row,) = talking.rows(
        "SELECT s.details FROM score s JOIN draft d ON d.id = s.draft_id JOIN reply r ON r.id = d.reply_id "
        "WHERE r.message_id = ?",
        turn.message_id,
    )
    return list(json.loads(row[0])["notes"])


async def test_a_reply_to_nothing_that_was_said_is_noted_in_sql_and_on_the_card(
    talking: Served, page: SocketPage
) -> None:
    await page.choose(model="talker")
    talking.play(reply(ANSWER))
    turn = await page.send(NOW)
    assert notes(talking, turn) == ["off_topic"]
    assert turn.card is not None
    assert turn.card["score"]["notes"] == ["It seems to answer another message than this one."]


@pytest.mark.parametrize(("first", "noted"), [(TOLD, []), (f"{CRISIS}. {TOLD}", ["off_topic"])])
async def test_the_chat_looks_back_but_never_at_a_crisis(
    talking: Served, page: SocketPage, first: str, noted: list[str]
) -> None:
    await page.choose(model="talker")
    talking.play(*([] if noted else [reply(WARM)]), reply(ANSWER))  # nobody answers a crisis but the help page
    await page.send(first)
    if noted:
        await page.send("I'm safe now.")
    assert notes(talking, await page.send(NOW)) == noted
