"""Messages and replies over the real socket that are not as they should be: empty, odd, full of markup, broken."""

import pytest

from tests.journeys.talking import CRISIS, OUTCOME, WARM, Served, locked
from tests.servers import DONE, ROLE, Script, busy, chunk, cut, event, refusal, reply, silence
from tests.socket_client import SocketPage

MARKUP = (
    "Hello <b>bold</b> <img src='http://127.0.0.1:9/pixel.png' onerror='window.broken=1'> "
    "<script>window.broken=1</script> ![pixel](http://127.0.0.1:9/pixel.png) and **strong** words."
)
HALF_A_PAIR = event('{"choices":[{"index":0,"delta":{"content":"It hurts \\ud83d and I hear you."}}]}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no visible text"),
        ("  \n\t", "no visible text"),
        ("\u200b\u2060\ufeff", "no visible text"),
        ("\x00\x00", "no visible text"),
        ("x" * 20_000, "20,000 characters"),
    ],
)
async def test_what_cannot_be_answered_gets_a_sentence(talking: Served, page: SocketPage, text: str, said: str) -> None:
    before = len(talking.model.requests)
    turn = await page.send(text)
    assert said in turn.text
    assert turn.reply["name"] == "heard"
    assert len(talking.model.requests) == before
    assert (await page.send("And now?")).text == WARM  # the page goes on


@pytest.mark.parametrize(
    "text", ["half \ud83d pair", "nul \x00 byte", "zero\u200bwidth", "\U0001f642" * 50, "\u202eright to left"]
)
async def test_odd_characters_are_answered_and_kept(talking: Served, page: SocketPage, text: str) -> None:
    turn = await page.send(text)
    assert turn.text == WARM
    ((stored,),) = talking.rows("SELECT text FROM message WHERE id = ?", turn.message_id)
    stored.encode("utf-8")
    assert "\x00" not in stored
    async with page.visitor.page(thread=page.thread) as again:
        assert turn.message_id in again.steps
        assert again.steps[turn.reply["id"]]["output"] == WARM


async def test_markup_in_a_message_and_a_reply_stays_text(talking: Served, page: SocketPage) -> None:
    talking.play(reply(MARKUP))
    turn = await page.send("<script>alert(1)</script> ![x](http://127.0.0.1:9/p.png)")
    assert "![" not in turn.text
    assert "<script>" in turn.text  # shown as text: the page escapes HTML
    features = (await page.visitor.http.get("/chat/project/settings")).json()["features"]
    assert features["unsafe_allow_html"] is False
    assert features["user_message_markdown"] is False
    assert features["latex"] is False


async def test_half_a_pair_from_a_model_is_shown_and_stored(talking: Served, page: SocketPage) -> None:
    talking.play(Script((ROLE, HALF_A_PAIR, chunk(finish="stop"), DONE)))
    turn = await page.send("It hurts.")
    turn.text.encode("utf-8")
    assert "I hear you." in turn.text
    assert talking.rows(OUTCOME, turn.message_id) == [("answered",)]


# What breaks


async def test_a_reply_cut_in_the_middle_stays_marked_and_unscored(talking: Served, page: SocketPage) -> None:
    talking.play(cut("It sounds as if"), reply(WARM))
    turn = await page.send("Listen.")
    assert turn.text.startswith("It sounds as if\n\n> This reply broke off.")
    assert turn.reply["isError"]
    assert turn.cards == []
    stored = talking.rows(
        "SELECT m.outcome, d.status, d.text, s.status FROM message m JOIN reply r ON r.message_id = m.id "
        "JOIN draft d ON d.reply_id = r.id LEFT JOIN score s ON s.draft_id = d.id WHERE m.id = ?",
        turn.message_id,
    )
    assert stored == [("broken", "broken", "It sounds as if", None)]
    assert (await page.send("Again, please.")).text == WARM


@pytest.mark.parametrize(
    "fault",
    [refusal(500, "secret detail"), busy(), refusal(401, "secret detail"), silence()],
    ids=["500", "429", "401", "silent"],
)
async def test_a_model_that_fails_gets_a_sentence_without_its_words(
    talking: Served, page: SocketPage, fault: Script
) -> None:
    talking.play(fault)
    turn = await page.send("my private words", seconds=60)
    assert turn.reply["isError"]
    assert len(turn.text) > 20
    assert "private words" not in turn.text
    assert "secret detail" not in turn.text
    assert turn.cards == []
    assert talking.rows(OUTCOME, turn.message_id) == [("broken",)]


async def test_a_locked_database_gets_a_sentence_and_the_input_back(talking: Served, page: SocketPage) -> None:
    await page.send("First.")
    with locked(talking.data_dir) as other:
        before = len(talking.model.requests)
        turn = await page.send("Sent during the lock.", seconds=60)
        assert "not sent to the model" in turn.text
        assert len(talking.model.requests) == before
        crisis = await page.send(CRISIS, seconds=60)
        assert crisis.reply["name"] == "heard safety"  # numbers come even then
        other.execute("ROLLBACK")
    await page.send("I'm safe now.")
    assert (await page.send("And after.")).text == WARM
