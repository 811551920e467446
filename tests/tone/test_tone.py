"""The messages with news, and the judge of tone."""

from collections import Counter

import pytest

from heard.chat_app.safety import crisis_check
from heard.scorer.shared_emotion import EXPECTED, SharedEmotion, meets, shared_emotion
from tests.bench.tone import judge_table, shown
from tests.tone.labelled import labelled
from tests.tone.replies import cases


def test_there_are_enough_messages_of_each_kind_and_none_is_a_crisis() -> None:
    every = cases()
    kinds = Counter(case.kind for case in every)
    assert kinds["good"] >= 40
    assert kinds["bad"] >= 40
    assert kinds["mixed"] >= 20
    assert set(kinds) == set(EXPECTED)
    assert len({case.message for case in every}) == len(every)
    assert len({case.register for case in every}) >= 15
    assert [case.message for case in every if crisis_check.check(case.message).crisis] == []
    held = Counter(case.kind for case in every if case.held_out)
    assert all(2 * held[kind] == number for kind, number in kinds.items())


@pytest.mark.parametrize(
    ("reply", "tone"),
    [
        ("Congratulations! You have worked so hard for this.", "joy"),
        ("I'm so happy for you. What a relief that must be!", "joy"),
        ("That’s wonderful news, and you should be very proud.", "joy"),
        ("I'm so sorry for your loss. He must have meant the world to you.", "sorrow"),
        ("That sounds really hard, and it makes sense that you feel alone.", "sorrow"),
        ("It can be incredibly difficult to leave.", "sorrow"),
        ("Congratulations on the post! And I'm sorry that your mother is ill.", "both"),
        ("I'd be happy to help you with that. How can I assist?", "neither"),
        ("I'm sorry for any confusion. Please tell me more.", "neither"),
        ("It's great to hear from you. I'm glad you reached out.", "neither"),
        ("I'm not happy about the weather, and it isn't good.", "neither"),
        ("Tell me more.", "neither"),
        ("", "neither"),
    ],
)
def test_the_judge(reply: str, tone: SharedEmotion) -> None:
    assert shared_emotion(reply) == tone
    assert [kind for kind in EXPECTED if meets(kind, reply)] == [kind for kind, own in EXPECTED.items() if own == tone]


def test_the_judge_agrees_with_a_reader_far_oftener_than_chance() -> None:
    rows = labelled()
    assert len(rows) >= 80
    assert set(EXPECTED.values()) | {"neither"} == {row.tone for row in rows}
    agree = sum(shared_emotion(row.reply) == row.tone for row in rows) / len(rows)
    most = max(Counter(row.tone for row in rows).values()) / len(rows)
    assert agree >= 0.8 > most + 0.2
    assert judge_table(rows).row_count == 5


def test_a_share_is_shown_with_its_interval() -> None:
    assert shown(10, 20) == "50% (30 to 70, 10 of 20)"
    assert shown(0, 0) == "-"
