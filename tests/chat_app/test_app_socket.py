"""The chat page over its real socket: real server process, real database, a real model server on loopback.

Nothing is patched. What is checked is what a browser is sent and what stands in SQL afterwards.
"""

import asyncio
import json
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest
from socketio.exceptions import ConnectionError as Refusal

from tests.chat_app.talking import CRISIS, CURT, OUTCOME, WARM, Served, begun, locked, slow
from tests.servers import DONE, ROLE, Script, busy, chunk, cut, event, refusal, reply, silence
from tests.socket_client import SocketPage, Visitor

ROOT = Path(__file__).parents[2]
MARKUP = (
    "Hello <b>bold</b> <img src='http://127.0.0.1:9/pixel.png' onerror='window.broken=1'> "
    "<script>window.broken=1</script> ![pixel](http://127.0.0.1:9/pixel.png) and **strong** words."
)
HALF_A_PAIR = event('{"choices":[{"index":0,"delta":{"content":"It hurts \\ud83d and I hear you."}}]}')


# One message


async def test_a_message_is_streamed_scored_and_stored(talking: Served, page: SocketPage) -> None:
    turn = await page.send("My week was too much.")
    assert turn.text == WARM
    assert turn.reply["name"] == "Warm supportive listener"
    assert turn.card is not None
    assert turn.card["score"]["scored"]
    assert [bar["label"] for bar in turn.card["score"]["bars"]] == ["Cognitive", "Emotional", "Behavioral"]
    assert not turn.reply.get("streaming")  # or the cursor blinks on
    stored = talking.rows(
        "SELECT m.outcome, m.text, r.id, d.text, d.model, s.status, s.cognitive FROM message m "
        "JOIN reply r ON r.message_id = m.id JOIN draft d ON d.reply_id = r.id JOIN score s ON s.draft_id = d.id "
        "WHERE m.id = ?",
        turn.message_id,
    )
    assert len(stored) == 1
    outcome, text, reply_id, draft, model, status, cognitive = stored[0]
    assert (outcome, text, reply_id) == ("answered", "My week was too much.", turn.reply["id"])
    assert (draft, model, status) == (WARM, "talker", "scored")
    assert abs(cognitive - float(turn.card["score"]["bars"][0]["shown"])) < 0.06


async def test_the_text_arrives_in_pieces_and_the_first_at_once(talking: Served, page: SocketPage) -> None:
    talking.play(slow(40))
    turn = await page.send("Tell me more.", seconds=20)
    assert turn.text.split() == [f"word{n}" for n in range(40)]
    first = next(event.data["output"] for event in turn.events if event.name == "stream_start")
    assert first.strip() == "word0"
    assert 8 <= turn.pieces <= 30  # 40 words in two seconds, about twelve drawings a second


async def test_the_profile_decides_who_answers(talking: Served, visitor: Visitor) -> None:
    profiles = (await visitor.http.get("/chat/project/settings")).json()["chatProfiles"]
    assert len(profiles) >= 3
    assert all(profile["starters"] for profile in profiles)
    async with visitor.page(profile="study") as page:
        await page.choose(model="talker")
        turn = await page.send("I lost my job.")
    assert talking.model.requests[-1]["messages"] == [
        {
            "role": "user",
            "content": "You are an empathetic therapist. "
            "Provide a single thoughtful and supportive response to the patient."
            "\n- Do not include instructions, explanations, or multiple responses."
            "\n- Only provide one response as the therapist.\nPatient: I lost my job.\nTherapist:",
        }
    ]
    assert talking.rows("SELECT persona FROM reply WHERE message_id = ?", turn.message_id) == [("study",)]


async def test_a_made_up_profile_is_refused(talking: Served, visitor: Visitor) -> None:
    async with visitor.page(profile="../../etc/passwd") as page:
        turn = await page.send("hello")
    assert turn.text.startswith("There is no such persona here.")
    assert talking.rows(OUTCOME, turn.message_id) == [("refused",)]
    assert talking.model.requests == []


async def test_auto_improve_keeps_every_draft_and_shows_the_better_one(talking: Served, page: SocketPage) -> None:
    await page.choose(model="talker", auto_improve=True, threshold=3.0)
    talking.play(reply(CURT), reply(WARM))
    turn = await page.send("My friends left me out.")
    drafts = talking.rows(
        "SELECT d.number, d.text, d.kept, d.guidance FROM draft d JOIN reply r ON r.id = d.reply_id "
        "WHERE r.message_id = ? ORDER BY d.number",
        turn.message_id,
    )
    assert [draft[0] for draft in drafts] == [1, 2, 3]  # at most twice
    assert (drafts[0][1], drafts[1][1]) == (CURT, WARM)
    assert drafts[0][3] is None
    assert drafts[1][3] in ("cognitive", "emotional", "behavioral")
    kept = next(draft for draft in drafts if draft[2])
    assert turn.text == kept[1] == WARM
    assert turn.card is not None
    assert turn.card["improved"]
    assert turn.card["drafts"][0]["text"] == CURT
    assert any(card["note"] and card["note"].startswith("Writing it again") for card in turn.cards)


async def test_without_live_scores_nothing_is_shown_and_all_is_stored(talking: Served, page: SocketPage) -> None:
    await page.choose(model="talker", live_scores=False)
    turn = await page.send("My week was too much.")
    assert turn.cards == []
    assert "element" not in [event.name for event in turn.events]
    scores = "SELECT count(*) FROM score s JOIN draft d ON d.id = s.draft_id JOIN reply r ON r.id = d.reply_id"
    assert talking.rows(f"{scores} WHERE r.message_id = ?", turn.message_id) == [(1,)]


async def test_the_embedded_model_answers(talking: Served, page: SocketPage) -> None:
    await page.choose(model="smollm2")
    turn = await page.send("My cat is ill.", seconds=240)
    assert len(turn.text.split()) >= 3
    assert turn.card is not None
    assert talking.rows(OUTCOME, turn.message_id) == [("answered",)]


# What must not be answered


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
        turn = await page.send("While it is locked.", seconds=60)
        assert "not sent to the model" in turn.text
        assert len(talking.model.requests) == before
        crisis = await page.send(CRISIS, seconds=60)
        assert crisis.reply["name"] == "heard safety"  # numbers come even then
        other.execute("ROLLBACK")
    assert (await page.send("And after.")).text == WARM


async def test_a_crisis_hand_off_does_not_wait_for_the_database(talking: Served, page: SocketPage) -> None:
    with locked(talking.data_dir) as other:
        turn = await page.begin(CRISIS)
        await page.until(lambda: any(step["name"] == "heard safety" for step in page.steps.values()), 0.9)
        other.execute("ROLLBACK")
        await page.end(turn)


# Stop, two tabs, reload, reconnect


async def test_stop_keeps_what_had_arrived(talking: Served, page: SocketPage) -> None:
    talking.play(slow(200))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 3)
    await page.stop()
    await page.end(turn)
    assert turn.text.startswith("word0 ")
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
    talking.play(slow(200))
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
        assert reloaded.steps[reply_id]["output"].split() == [f"word{n}" for n in range(60)]
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
        assert texts[1].split() == [f"word{n}" for n in range(30)]
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
    assert replies[0]["output"].split() == [f"word{n}" for n in range(60)]
    assert replies[0]["id"] in page.cards
    assert talking.rows("SELECT count(*) FROM reply r WHERE r.message_id = ?", turn.message_id) == [(1,)]


async def test_a_conversation_opens_again_as_it_was(talking: Served, page: SocketPage) -> None:
    await page.choose(model="talker", auto_improve=True, threshold=2.9, strategy="chain-of-empathy", country="GB")
    talking.play(reply(CURT), reply(WARM), reply(WARM), cut("It sounds as if"), reply(WARM))
    answered = await page.send("It hurts.")
    broken = await page.send("Listen.")
    crisis = await page.send(CRISIS)
    shown = {step["id"]: step["output"] for step in page.steps.values()}
    await page.close()
    async with page.visitor.page(thread=page.thread) as again:
        assert {step["id"]: step["output"] for step in again.steps.values()} == shown
        assert again.cards == {answered.reply["id"]: answered.card}
        assert again.settings == {
            "model": "talker",
            "strategy": "chain-of-empathy",
            "live_scores": True,
            "auto_improve": True,
            "threshold": 2.9,
            "country": "GB",
        }
        assert again.steps[broken.reply["id"]]["isError"]
        assert again.steps[crisis.reply["id"]]["name"] == "heard safety"
        assert (await again.send("Thank you.")).text == WARM  # and it goes on


# What a browser may not do


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


async def test_settings_changed_while_a_reply_runs_count_from_the_next(talking: Served, page: SocketPage) -> None:
    talking.play(slow(30))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 2)
    await page.choose(model="talker", live_scores=False)
    await page.end(turn)
    assert turn.cards
    assert [event.name for event in turn.events].count("task_end") == 1  # the change did not unlock the input
    assert (await page.send("Next.")).cards == []


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


async def test_a_sent_message_cannot_be_edited(talking: Served, page: SocketPage) -> None:
    turn = await page.send("As it was.")
    await page.emit("edit_message", {"message": {"id": turn.message_id, "output": "changed"}})
    await page.until(lambda: bool(page.toasts))
    assert "cannot be changed" in page.toasts[0]
    await talking.settled([("As it was.",)], "SELECT output FROM steps WHERE id = ?", turn.message_id)


# What stays behind


async def test_no_run_marks_and_no_second_copy_of_the_words(talking: Served, page: SocketPage) -> None:
    turn = await page.send("Only once, please.")
    await page.close()
    await talking.settled(
        [("user_message", "Only once, please.", None), ("assistant_message", turn.text, None)],
        'SELECT type, output, nullif(input, \'\') FROM steps WHERE "threadId" = ? ORDER BY "createdAt"',
        page.thread,
    )
    assert talking.rows("SELECT count(*) FROM elements") == [(0,)]  # cards come from the scores


def test_the_log_holds_nobody_s_words(talking: Served) -> None:
    """Runs last in this file, over all that was written before."""
    log = talking.log.read_text(encoding="utf-8")
    for words in ("private words", "Private words", "kill myself", "too much", "secret detail", "While it is locked"):
        assert words not in log


def test_the_page_s_start_leaves_the_checkout_clean() -> None:
    tracked = ["chainlit.md", ".chainlit", "public"]
    done = subprocess.run(["git", "status", "--porcelain", "--", *tracked], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    assert not [line for line in done.stdout.splitlines() if line.startswith("??")]
