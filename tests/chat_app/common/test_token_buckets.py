"""How often somebody may do something: bursts, the filling again, debt, and a bounded memory."""

import pytest

from heard.chat_app.common import token_buckets
from heard.chat_app.common.token_buckets import TokenBuckets


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_minutes_worth_at_once_and_then_as_it_fills() -> None:
    clock = Clock()
    buckets = TokenBuckets(6, clock=clock)
    assert [buckets.seconds_to_wait("a") for _ in range(7)] == [0, 0, 0, 0, 0, 0, 10]
    assert buckets.seconds_to_wait("b") == 0
    clock.now += 4
    assert buckets.seconds_to_wait("a") == pytest.approx(6)  # a refusal costs nothing
    clock.now += 6
    assert [buckets.seconds_to_wait("a"), buckets.seconds_to_wait("a")] == [0, pytest.approx(10)]
    clock.now += 10_000
    assert [buckets.seconds_to_wait("a") for _ in range(7)][-2:] == [0, 10]  # it holds no more than a minute's


def test_whoever_pauses_takes_from_what_comes() -> None:
    clock = Clock()
    buckets = TokenBuckets(60, clock=clock)
    pauses = [buckets.seconds_to_pause("a") for _ in range(63)]
    assert pauses[59:] == [0, 1, 2, 3]


def test_nought_is_no_limit() -> None:
    buckets = TokenBuckets(0)
    assert {buckets.seconds_to_wait("a") for _ in range(1_000)} == {0}


def test_few_senders_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_buckets, "MOST_SENDERS", 3)
    buckets = TokenBuckets(1, clock=Clock())
    for name in "abcd":
        assert buckets.seconds_to_wait(name) == 0
    assert buckets.seconds_to_wait("d") > 0
    assert buckets.seconds_to_wait("a") == 0
