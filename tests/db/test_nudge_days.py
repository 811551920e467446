"""The day of a nudge, once a day and erased with the person; and how long and how often somebody has written."""

from datetime import UTC, date, datetime, timedelta

import pytest

from heard.db.nudge_days import talked_without_break
from heard.db.store import Store
from tests.db.conftest import Make

TODAY = date(2026, 5, 31)
NOON = datetime(2026, 5, 31, 12, 0, tzinfo=UTC)
BREAK = timedelta(minutes=30)


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


async def test_a_nudge_is_taken_once_a_day_and_nothing_but_its_day_is_kept(store: Store, person: str) -> None:
    assert await store.nudged_on(person) is None
    assert await store.take_nudge(person, TODAY)
    assert not await store.take_nudge(person, TODAY)
    assert not await store.take_nudge(person, TODAY - timedelta(days=1)), "a clock that was set back gives no second"
    assert await store.nudged_on(person) == TODAY
    stored = await store.export_participant(person)
    assert stored["participant"].keys() == {"id", "created_at", "nudged_on"}
    assert await store.take_nudge(person, TODAY + timedelta(days=1))
    await store.erase_participant(person)
    assert await store.nudged_on(person) is None
    assert not await store.take_nudge(person, TODAY + timedelta(days=2))


async def test_messages_of_all_conversations_count_and_nobody_else_s(store: Store, make: Make, person: str) -> None:
    await store.ensure_participant("other")
    for who, minutes in ((person, 10), (person, 40), (person, 700), ("other", 1)):
        conversation = make.conversation(who)
        await store.open_turn(conversation, make.message(conversation, created_at=NOON - timedelta(minutes=minutes)))
    times = await store.written_since(person, NOON - timedelta(minutes=60))
    assert list(times) == [NOON - timedelta(minutes=10), NOON - timedelta(minutes=40)]


def every(minutes: int, number: int) -> list[datetime]:
    return [NOON - timedelta(minutes=minutes * place) for place in range(number)]


def test_a_talk_lasts_until_a_break() -> None:
    assert talked_without_break([], NOON, BREAK) == timedelta()
    assert talked_without_break(every(29, 6), NOON, BREAK) == timedelta(minutes=29 * 5)
    assert talked_without_break(every(30, 6), NOON, BREAK) == timedelta()
    assert talked_without_break([*every(10, 4), NOON - timedelta(hours=3)], NOON, BREAK) == timedelta(minutes=30)


@pytest.mark.parametrize(("days", "row"), [(3, True), (4, False)])
async def test_days_in_a_row_have_no_gap_and_end_today(
    store: Store, make: Make, person: str, days: int, row: bool
) -> None:
    await store.ensure_participant("other")
    midnight = datetime(2026, 5, 31, tzinfo=UTC)
    mine, theirs = make.conversation(person), make.conversation("other")
    for conversation, at in (
        (mine, midnight), (mine, midnight + timedelta(hours=23)), (mine, midnight - timedelta(seconds=1)),
        (mine, midnight - timedelta(days=2)), (mine, midnight - timedelta(days=4)),
        (theirs, midnight - timedelta(days=3)),
    ):  # fmt: skip
        await store.open_turn(conversation, make.message(conversation, created_at=at))
    assert await store.wrote_daily(person, TODAY, days) is row
    assert not await store.wrote_daily(person, TODAY + timedelta(days=1), days)
