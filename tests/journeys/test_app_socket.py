"""The chat page over its real socket: real server process, real database, a real model server on loopback.

Nothing is patched. What is checked is what a browser is sent and what stands in SQL afterwards.
"""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from tests.journeys.talking import CRISIS, CURT, OUTCOME, WARM, Served, serving, slow
from tests.servers import cut, reply
from tests.socket_client import SocketPage, Visitor

ROOT = Path(__file__).parents[2]


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
    assert turn.text.split() == [f"word{n}." for n in range(40)]
    first = next(event.data["output"] for event in turn.events if event.name == "stream_start")
    assert first.strip() == "word0."
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


async def test_scores_can_be_for_people_in_a_study_alone(tmp_path: Path, weights: Weights) -> None:
    settings = {"default_model": "talker", "scores_outside_studies": "false"}
    with serving(tmp_path, **settings) as served:
        served.play(reply(WARM))
        async with Visitor.agree(served.url) as visitor:
            async with visitor.page() as page:
                assert (await page.send("Hello there.")).card is None
                await page.choose(live_scores=True)
                assert (await page.send("And now?")).card is not None
            for ended, shows in ((None, True), ("2026-02-01 00:00:00.000000", False)):
                enrol(served, ended)
                async with visitor.page() as page:
                    assert ((await page.send("Hello again.")).card is not None) == shows


def enrol(served: Served, ended: str | None) -> None:
    """Put everybody into a study, which has `ended` or not."""
    with closing(sqlite3.connect(served.data_dir / "heard.db")) as database, database:
        database.execute("DELETE FROM enrolment")
        database.execute("DELETE FROM study")
        database.execute(
            "INSERT INTO study (id, kind, definition, definition_sha256, created_at, ended_at)"
            " VALUES ('words', 'survey', '{}', '', '2026-01-01 00:00:00.000000', ?)",
            (ended,),
        )
        database.execute(
            "INSERT INTO enrolment (study_id, participant_id, seed, started_at)"
            " SELECT 'words', id, 1, '2026-01-01 00:00:00.000000' FROM participant"
        )


async def test_without_live_scores_nothing_is_shown_and_all_is_stored(talking: Served, page: SocketPage) -> None:
    await page.choose(model="talker", live_scores=False)
    turn = await page.send("My week was too much.")
    assert turn.cards == []
    assert "element" not in [event.name for event in turn.events]
    scores = "SELECT count(*) FROM score s JOIN draft d ON d.id = s.draft_id JOIN reply r ON r.id = d.reply_id"
    assert talking.rows(f"{scores} WHERE r.message_id = ?", turn.message_id) == [(1,)]


async def test_the_embedded_model_answers(tmp_path: Path, weights: Weights) -> None:
    with serving(tmp_path) as patient:  # not the shared one, whose haste a busy machine's engine would not meet
        async with Visitor.agree(patient.url) as somebody, somebody.page() as page:
            await page.choose(model="smollm2")
            turn = await page.send("My cat is ill.", seconds=240)
        assert len(turn.text.split()) >= 3
        assert turn.card is not None
        assert patient.rows(OUTCOME, turn.message_id) == [("answered",)]


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
        await again.send("I'm safe now.")
        assert (await again.send("Thank you.")).text == WARM  # and it goes on


async def test_no_run_marks_and_no_second_copy_of_the_words(talking: Served, page: SocketPage) -> None:
    turn = await page.send("Only once, please.")
    await page.close()
    await talking.settled(
        [("user_message", "Only once, please.", None), ("assistant_message", turn.text, None)],
        'SELECT type, output, nullif(input, \'\') FROM steps WHERE "threadId" = ? ORDER BY "createdAt"',
        page.thread,
    )
    assert talking.rows("SELECT count(*) FROM elements") == [(0,)]  # cards come from the scores


def test_the_page_s_start_leaves_the_checkout_clean(talking: Served) -> None:
    done = subprocess.run(["git", "status", "--porcelain", "--ignored"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    new = [line[3:] for line in done.stdout.splitlines() if line.startswith(("??", "!!"))]
    assert [name for name in new if "chainlit" in name or "public" in name or ".files" in name] == []
