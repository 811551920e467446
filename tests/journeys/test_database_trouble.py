"""The database in trouble while a chat runs: what is said to be stored is, /health knows it, and nothing hangs."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.db.postgres import NEEDED, cluster, frozen
from tests.journeys.talking import OUTCOME, WARM, Served, begun, locked, serving, slow
from tests.servers import reply
from tests.socket_client import Visitor

STORED = "your messages are stored"
"""What the page may say only where it is so."""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, default_model="talker", save_seconds="0.5") as served:
        served.play(reply(WARM))
        yield served


async def health(served: Served) -> dict[str, str]:
    async with httpx.AsyncClient(base_url=served.url, timeout=5) as client:
        return dict((await client.get("/health")).json())


async def until_health(served: Served, fault: str | None) -> dict[str, str]:
    for _ in range(300):
        state = await health(served)
        if state.get("fault") == fault:
            return state
        await asyncio.sleep(0.1)
    raise AssertionError(f"not {fault}: {state}")


async def test_a_moved_file_takes_no_message_and_put_back_it_does(own: Served) -> None:
    database = own.data_dir / "heard.db"
    async with Visitor.agree(own.url) as somebody, somebody.page() as page:
        first = await page.send("Tell me more.")
        assert first.text == WARM
        os.rename(database, own.data_dir / "away.db")
        refused = await page.send("my private words")
        assert "moved, deleted or replaced" in refused.text
        assert "not sent to the model" in refused.text
        assert refused.cards == []
        state = await until_health(own, "moved")
        assert (state["status"], state["database"]) == ("degraded", "failed")
        assert state["sentence"] in refused.text
        assert not os.path.exists(database)  # noqa: ASYNC240
        answer = await somebody.http.get("/chat/", headers={"accept": "text/html"})
        assert answer.status_code == 503
        assert "moved, deleted or replaced" in answer.text
        os.rename(own.data_dir / "away.db", database)
        await until_health(own, None)
        assert (await page.send("And now?")).text == WARM
    assert own.rows("SELECT count(*) FROM message") == [(2,)]
    assert own.words_in_log() == []


async def test_a_file_that_is_replaced_while_a_reply_is_written(own: Served) -> None:
    database = own.data_dir / "heard.db"
    async with Visitor.agree(own.url) as somebody, somebody.page() as page:
        own.play(slow(30))
        turn = await page.begin("Tell me more.")
        await begun(page, turn)
        shutil.copyfile(database, own.data_dir / "copy.db")
        os.replace(own.data_dir / "copy.db", database)
        await page.end(turn, 60)
        assert turn.text.startswith("word0. ")
        assert "moved, deleted or replaced" in turn.text
        assert "on this page only and is not in your history" in turn.text
        assert not any(STORED in str(toast) for toast in page.toasts)
        assert own.rows("SELECT count(*) FROM reply") == [(0,)]


async def test_a_lock_is_told_by_health_and_its_end(own: Served) -> None:
    await until_health(own, None)
    with locked(own.data_dir):
        state = await until_health(own, "locked")
        assert "busy with another program" in state["sentence"]
    await until_health(own, None)


async def test_a_stop_that_cannot_be_stored_promises_nothing(own: Served) -> None:
    async with Visitor.agree(own.url) as somebody, somebody.page() as page:
        own.play(slow(1000))
        turn = await page.begin("Tell me more.")
        await begun(page, turn)
        with locked(own.data_dir):
            await page.stop()
            await page.end(turn, 60)
        assert turn.text.startswith("word0. ")
        assert "Stopped." in turn.text
        assert "is kept" not in turn.text
        assert "on this page only" in turn.text
        assert not any(STORED in str(toast) for toast in page.toasts)
        assert own.rows(OUTCOME, turn.message_id) == [("pending",)]


@pytest.fixture
def on_postgres(tmp_path: Path) -> Iterator[tuple[Served, str]]:
    with cluster() as url, serving(tmp_path, default_model="talker", save_seconds="0.5", database_url=url) as served:
        served.play(reply(WARM))
        yield served, url


class TestOnPostgres:
    """With a server that can be frozen."""

    pytestmark = NEEDED

    async def test_a_frozen_server_hangs_neither_a_turn_nor_health(self, on_postgres: tuple[Served, str]) -> None:
        served, url = on_postgres
        async with Visitor.agree(served.url) as somebody, somebody.page() as page:
            assert (await page.send("Tell me more.")).text == WARM
            with frozen(url):
                refused = await page.send("my private words", seconds=60)
                assert "does not answer" in refused.text
                assert "not sent to the model" in refused.text
                crisis = await page.send("I want to kill myself", seconds=60)
                assert "does not answer" not in crisis.text
                state = await until_health(served, "silent")
                assert state["database"] == "failed"
            await until_health(served, None)
            served.play(reply(WARM))
        assert served.words_in_log() == []

    async def test_a_server_that_freezes_while_a_reply_is_written(self, on_postgres: tuple[Served, str]) -> None:
        served, url = on_postgres
        async with Visitor.agree(served.url) as somebody, somebody.page() as page:
            served.play(slow(30))
            turn = await page.begin("Tell me more.")
            await begun(page, turn)
            with frozen(url):
                await page.end(turn, 60)
            assert turn.text.startswith("word0. ")
            assert "not in your history" in turn.text
            assert not any(STORED in str(toast) for toast in page.toasts)
