"""Where it is said in a talk that this is an AI."""

from datetime import UTC, datetime, timedelta

import pytest

from heard.chat_app.common.places import InForce
from heard.chat_app.page.talk_notes import disclosed_at
from heard.db.message_times import MessageTime
from heard.db.records import Outcome

NOON = datetime(2026, 5, 31, 12, 0, tzinfo=UTC)
THREE = InForce(in_talk=True, every=timedelta(hours=3))


def talk(*minutes: int, **outcomes: Outcome) -> list[MessageTime]:
    """Messages called m0, m1 ... of so many minutes after noon."""
    return [
        MessageTime(f"m{place}", NOON + timedelta(minutes=at), outcomes.get(f"m{place}", Outcome.ANSWERED))
        for place, at in enumerate(minutes)
    ]


@pytest.mark.parametrize(
    ("minutes", "rules", "told"),
    [
        ((0, 5), InForce(), []),
        ((0, 5, 9000), InForce(in_talk=True), ["m0"]),
        ((0, 100, 179), THREE, ["m0"]),
        ((0, 100, 180), THREE, ["m0", "m2"]),
        ((0, 170, 190, 340, 369, 370), THREE, ["m0", "m2", "m5"]),
        ((0, 1000, 1001, 2000), THREE, ["m0", "m1", "m3"]),
        ((), THREE, []),
    ],
)
def test_it_is_said_at_the_start_and_counted_from_the_last_time(
    minutes: tuple[int, ...], rules: InForce, told: list[str]
) -> None:
    assert list(disclosed_at(talk(*minutes), rules)) == told


def test_a_hand_off_and_a_refusal_have_none_and_the_next_message_has_it() -> None:
    messages = talk(0, 1, 2, m0=Outcome.CRISIS, m1=Outcome.REFUSED)
    assert list(disclosed_at(messages, THREE)) == ["m2"]
    assert list(disclosed_at(talk(0, 200, 201, m1=Outcome.CRISIS), THREE)) == ["m0", "m2"]
    assert list(disclosed_at(talk(0, m0=Outcome.PENDING), THREE)) == ["m0"], "the one that is being answered"
