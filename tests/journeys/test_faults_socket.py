"""Faults while a chat runs: each ends in a plain sentence on the page, the input unlocked, and whole rows."""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from tests.journeys.talking import HALVES, OUTCOME, WARM, Served, begun, locked, serving, slow
from tests.servers import Script, busy, cut, error_event, garbage, nothing, refusal, reply, silence, stall, unfinished
from tests.socket_client import SocketPage, Turn, Visitor

ROOT = Path(__file__).parents[2]
SERVER = """
import time
from tests.servers import ScriptedServer, reply
with ScriptedServer(reply("And so. " * 400, pause=0.02)) as server:
    print(server.base_url, flush=True)
    time.sleep(600)
"""
WRITTEN = "SELECT m.outcome, d.status, d.text FROM message m JOIN reply r ON r.message_id = m.id "
WRITTEN += "JOIN draft d ON d.reply_id = r.id WHERE m.id = ?"


@pytest.fixture(autouse=True)
async def nothing_half_written(talking: Served) -> AsyncIterator[None]:
    """After every test of this file."""
    yield
    await talking.settled([(0, 0, 0, 0)], HALVES)


def plain(turn: Turn) -> str:
    """The sentence of a fault: there, ended, without traces of code."""
    text = turn.text
    assert text.rstrip().endswith(".")
    for trace in ("Traceback", "Error:", "sqlite", "SELECT", "http://", "status_code", "{"):
        assert trace not in text
    return text


async def test_a_model_server_that_is_killed_in_the_middle(tmp_path: Path, weights: Weights) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout
        address = (await process.stdout.readline()).decode().strip()
        models = tmp_path / "mortal.toml"
        models.write_text(f'mortal = {{ provider = "openai", model = "m", base_url = "{address}" }}\n')
        with serving(tmp_path, models_file=str(models), default_model="mortal") as own:
            async with Visitor.agree(own.url) as somebody, somebody.page() as page:
                turn = await page.begin("Tell me more.")
                await begun(page, turn)
                os.kill(process.pid, signal.SIGKILL)
                await page.end(turn)
                assert "This reply broke off." in plain(turn)
                assert turn.text.startswith("And so. ")
                assert turn.cards == []
                ((outcome, status, text),) = own.rows(WRITTEN, turn.message_id)
                assert (outcome, status) == ("broken", "broken")
                assert text.startswith("And so. ")
                gone = await page.send("Are you there?")
                assert gone.cards == []
                assert len(plain(gone)) > 20
                assert own.rows(OUTCOME, gone.message_id) == [("broken",)]
                assert own.rows(HALVES) == [(0, 0, 0, 0)]
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize(
    ("fault", "kept"),
    [
        (busy(), ""),
        (refusal(500, "secret detail"), ""),
        (refusal(503, "secret detail"), ""),
        (refusal(404, "secret detail"), ""),
        (silence(), ""),
        (nothing(), ""),
        (garbage(), ""),
        (cut("It sounds as if"), "It sounds as if"),
        (unfinished("It sounds as if"), "It sounds as if"),
        (garbage("It sounds as if"), "It sounds as if"),
        (error_event("secret detail", "It sounds as if"), "It sounds as if"),
        (stall("It sounds as if"), "It sounds as if"),
    ],
    ids=["429", "500", "503", "404", "silent", "nothing", "garbage", "cut", "unfinished", "garbage-later",
         "error-later", "stall"],
)  # fmt: skip
async def test_a_model_s_fault(talking: Served, page: SocketPage, fault: Script, kept: str) -> None:
    talking.play(fault)
    turn = await page.send("my private words", seconds=60)
    assert not page.loading
    assert turn.reply["isError"]
    text = plain(turn)
    assert text.startswith(kept)
    assert ("This reply broke off." in text) == bool(kept)
    assert "private words" not in text
    assert "secret detail" not in text
    assert turn.cards == []
    asked = len(talking.model.requests)
    assert asked == 1 or not kept  # retried before the first token only
    rows = talking.rows(WRITTEN, turn.message_id)
    assert [(row[0], row[1], row[2].strip()) for row in rows] == [("broken", "broken", kept)]
    talking.play(reply(WARM))
    assert (await page.send("And now?")).text == WARM


async def test_the_database_is_locked_when_a_reply_ends(talking: Served, page: SocketPage) -> None:
    talking.play(slow(30))
    turn = await page.begin("Tell me more.")
    await begun(page, turn)
    with locked(talking.data_dir):
        await page.end(turn, 60)
        assert "not in your history" in plain(turn)
        assert turn.text.startswith("word0. ")
        assert turn.card is not None  # it was rated all the same
        assert talking.rows("SELECT count(*) FROM reply WHERE message_id = ?", turn.message_id) == [(0,)]
    talking.play(reply(WARM))
    assert (await page.send("And after.")).text == WARM
    # What could not be closed stays pending until the next start marks it; nothing of it is half there.
    with closing(sqlite3.connect(talking.data_dir / "heard.db", timeout=10)) as other, other:
        changed = other.execute("UPDATE message SET outcome = 'interrupted' WHERE outcome = 'pending'").rowcount
    assert changed == 1


async def test_stop_twice_and_again(talking: Served, page: SocketPage) -> None:
    talking.play(slow(1000))
    turn = await page.begin("Tell me more.")
    await begun(page, turn)
    for _ in range(4):
        await page.stop()
    await page.end(turn)
    await page.stop()
    assert turn.text.endswith("> Stopped. What had arrived is kept.")
    assert len(turn.replies) == 1
    assert [row[:2] for row in talking.rows(WRITTEN, turn.message_id)] == [("stopped", "stopped")]
    talking.play(reply(WARM))
    assert (await page.send("On we go.")).text == WARM


async def test_stop_while_the_end_is_being_saved(talking: Served, page: SocketPage) -> None:
    talking.play(slow(12))
    turn = await page.begin("Tell me more.")
    await begun(page, turn, 2)
    with locked(talking.data_dir) as other:
        await page.until(lambda: bool(page.cards))  # rated: what is left is to save it
        await page.stop()
        await page.stop()
        await asyncio.sleep(0.3)
        other.execute("ROLLBACK")
        await page.end(turn)
    rows = talking.rows(WRITTEN, turn.message_id)
    assert [row[:2] for row in rows] == [("answered", "complete")]
    assert rows[0][2].split() == [f"word{n}." for n in range(12)]
    assert "word11" in turn.text


async def test_stop_before_the_first_word(talking: Served, page: SocketPage) -> None:
    talking.play(silence())
    turn = await page.begin("Tell me more.")
    await talking.settled([("pending",)], OUTCOME, turn.message_id)
    await page.stop()
    await page.end(turn)
    assert turn.text == "> Stopped before the reply began."
    assert turn.cards == []
    assert talking.rows(OUTCOME, turn.message_id) == [("stopped",)]


async def first_to_wait(pages: list[SocketPage]) -> SocketPage:
    for _ in range(1200):
        for page in pages:
            if any("ahead of you" in str(step["output"]) for step in page.steps.values()):
                return page
        await asyncio.sleep(0.05)
    raise TimeoutError("nobody had to wait")


async def test_stop_while_waiting_in_line(talking: Served, visitor: Visitor) -> None:
    """Six talks at once with the embedded model, which has four places."""
    pages = [visitor.page(profile="listener") for _ in range(6)]
    try:
        for each in pages:
            await each.open()
            await each.choose(model="smollm2")
        turns = [await each.begin("Tell me a very long story of the sea.") for each in pages]
        # Which two of them have to wait is not ours to say.
        last = await first_to_wait(pages)
        waiting = turns[pages.index(last)]
        await last.stop()
        await last.end(waiting, 60)
        assert waiting.text == "> Stopped before the reply began."
        assert talking.rows(OUTCOME, waiting.message_id) == [("stopped",)]
        for each, turn in zip(pages, turns, strict=True):
            await each.stop()
            await each.end(turn, 60)
        await last.choose(model="talker")
        assert (await last.send("And now?")).text == WARM
    finally:
        for each in pages:
            await each.close()
