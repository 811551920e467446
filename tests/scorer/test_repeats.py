"""What says the same over and over is not scored; what people repeat for warmth is."""

import pytest

from heard.scorer.records import ScoreStatus
from heard.scorer.repeats import is_loop
from heard.scorer.score import Scorer

LOOPS = [
    "That sounds really hard, and I am here for you. " * 3,
    "That sounds hard. That sounds hard.",
    "That sounds hard! THAT SOUNDS HARD \u2026 that sounds hard",
    "I understand how you feel. It must be hard. I understand how you feel. It must be hard.",
    "It is okay okay okay okay okay.",
    "I I I feel that the the you you are are sad sad",
    "I hear you.\nI hear you.\nI hear you.",
]
NO_LOOPS = [
    "I'm sorry. I'm sorry.",
    "That sounds hard. Really, really hard. What happened then?",
    "You are not alone. Whatever comes of it, you have come this far by yourself. You are not alone.",
    "No, no, no! That is not your fault, and nobody who knows you would say that it was.",
    "I had had enough of it too.",
    "Very, very sorry to hear that.",
    "",
    "...",
]


@pytest.mark.parametrize("text", LOOPS)
def test_a_loop_is_no_reply_to_score(text: str, scorer: Scorer) -> None:
    score = scorer.score("It rains and I feel so low today.", text)
    assert score.status is ScoreStatus.INCOHERENT
    assert score.empathy is None
    assert "loops" in (score.reason or "")


@pytest.mark.parametrize("text", NO_LOOPS)
def test_what_people_repeat_is_none(text: str) -> None:
    assert not is_loop(text)
