"""The daily run of a server: old messages go, hand-offs are counted, and the log holds numbers and no word."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.web.daily import AGAIN_SECONDS, DAY_SECONDS, FIRST_SECONDS, Daily
from heard.db.errors import StoreUnavailable
from heard.db.records import Outcome
from heard.db.store import Store
from tests.db.conftest import Make, engine, file_url, make, path, person, store, url

__all__ = ["engine", "file_url", "make", "path", "person", "store", "url"]  # fixtures

NOW = datetime(2026, 5, 31, 4, 0, tzinfo=UTC)
SECRET = "zaphod-beeblebrox"


class Pauses:
    """Notes the pauses down, and breaks off after some of them."""

    def __init__(self, most: int = 1000) -> None:
        self.seconds: list[float] = []
        self.most = most
        self.over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if len(self.seconds) > self.most:
            self.over.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)


def daily(store: Any, pause: Pauses, now: Callable[[], datetime] = lambda: NOW, **settings: Any) -> Daily:
    services = cast(Any, SimpleNamespace(settings=Settings(**settings), store=store))
    return Daily(services, now=now, pause=pause)


async def wrote(store: Store, make: Make, person: str, *at: datetime, outcome: Outcome = Outcome.PENDING) -> str:
    conversation = make.conversation(person, created_at=min(at))
    for one in at:
        await store.open_turn(conversation, make.message(conversation, SECRET, created_at=one, outcome=outcome))
    return conversation.id


async def test_old_messages_go_with_numbers_in_the_log(
    store: Store, make: Make, person: str, caplog: pytest.LogCaptureFixture
) -> None:
    talk = await wrote(store, make, person, NOW - timedelta(days=8), NOW - timedelta(days=6))
    pause = Pauses()
    await daily(store, pause, retention_days=7).once()
    assert len(await store.messages(talk)) == 1
    assert pause.seconds == [0.05], "turns come between the batches"
    assert "deleted after 7 days, rows: 1 of message" in caplog.text
    assert SECRET not in caplog.text
    assert person not in caplog.text
    caplog.clear()
    await daily(store, pause, retention_days=7).once()
    assert caplog.text == ""


async def test_without_the_setting_nothing_goes(store: Store, make: Make, person: str) -> None:
    talk = await wrote(store, make, person, NOW - timedelta(days=9000))
    await daily(store, Pauses()).once()
    assert len(await store.messages(talk)) == 1


async def test_hand_offs_of_the_day_before_are_counted_where_a_rule_asks_for_it(
    store: Store, make: Make, person: str, caplog: pytest.LogCaptureFixture
) -> None:
    yesterday = datetime(2026, 5, 30, tzinfo=UTC)
    await wrote(store, make, person, yesterday, yesterday + timedelta(hours=23), NOW, outcome=Outcome.CRISIS)
    await daily(store, Pauses()).once()
    assert caplog.text == ""
    # The count comes before its messages go.
    await daily(store, Pauses(), places=("US-CA",), retention_days=1).once()
    assert "hand-offs shown on 2026-05-30: 2" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.INFO] * 2
    assert SECRET not in caplog.text


class Sick:
    """A database that does not answer, once."""

    def __init__(self) -> None:
        self.asked = 0

    async def people_with_expired(self, before: datetime) -> list[str]:
        self.asked += 1
        if self.asked == 1:
            raise StoreUnavailable(SECRET)
        return []


async def test_it_runs_once_a_day_and_an_hour_after_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    pause, sick = Pauses(most=3), Sick()
    async with daily(sick, pause, retention_days=7).running():
        await pause.over.wait()
    assert pause.seconds == [FIRST_SECONDS, AGAIN_SECONDS, DAY_SECONDS, DAY_SECONDS]
    assert sick.asked == 3
    assert "StoreUnavailable" in caplog.text
    assert SECRET not in caplog.text
