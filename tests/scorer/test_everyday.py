"""How empathic people would call a reply, and faults: the formula by hand, and what the shipped head says."""

import numpy as np
import pytest

from heard.scorer.everyday import WARMTH, called, on_scale, spared
from heard.scorer.head import Head
from heard.scorer.records import Level, ScoreStatus, level_of
from heard.scorer.score import HEADS, Scorer


def test_the_formula_by_hand() -> None:
    p, w = np.array([0.5, 0.5, 1.0]), np.array([0.0, 1.0, 1.0])
    assert called(p, w).tolist() == pytest.approx([0.5, 0.5 + WARMTH, 1 + WARMTH])
    assert spared(np.array([0.1, 0.4, 0.6, 0.9]), 0.4, 0.8).tolist() == pytest.approx([1, 1, 0.5, 0])
    numbers = on_scale(np.array([0.5, 0.5, -9.0, 9.0]), np.array([1.0, 0.5, 1.0, 1.0]), (1.0, 2.0))
    assert numbers.tolist() == pytest.approx([2.0, 1.5, 1.0, 3.0])


def test_levels_are_those_of_the_number_as_it_is_shown() -> None:
    assert [level_of(value) for value in (1.44, 1.46, 1.48, 1.5, 2.44, 2.46, 2.5)] == [
        "Low", "Moderate", "Moderate", "Moderate", "Moderate", "High", "High",
    ]  # fmt: skip


WARM = [
    (
        "my car broke down on the way to work again",
        "ugh not again, that is the worst. ive been there, ruins the whole day",
    ),
    ("I got the job!!", "no way, congratulations!! you must be over the moon"),
    ("my dog died last night", "I'm so sorry, losing a dog is losing family. I cried for weeks over mine"),
]
PLAIN = [
    ("people keep jumping the queue at the bakery", "I hate it when that happens, some people have no consideration"),
    ("just got back from the shop", "oh nice, what did you buy?"),
]
COLD = [
    ("my car broke down on the way to work again", "As an AI language model, I cannot help with that."),
    ("I got the job!!", "I'm sorry, but I am not able to discuss personal matters."),
    ("I hate it when people jump the queue", "you are pathetic, stop whining you idiot"),
    (
        "my dog died last night",
        "I hear you. I understand. Your feelings are valid. I truly empathize. I deeply understand your feelings.",
    ),
]


@pytest.mark.parametrize(("message", "reply"), WARM)
def test_what_people_call_empathic_is_called_so(scorer: Scorer, message: str, reply: str) -> None:
    score = scorer.score(message, reply)
    assert score.perceived is not None
    assert score.perceived >= 2.2
    low, high = score.intervals["perceived"]
    assert 1 <= low <= score.perceived <= high <= 3


@pytest.mark.parametrize(("message", "reply"), PLAIN)
def test_an_ordinary_friendly_reply_lies_between(scorer: Scorer, message: str, reply: str) -> None:
    score = scorer.score(message, reply)
    assert score.perceived is not None
    assert level_of(score.perceived) is Level.MODERATE


@pytest.mark.parametrize(("message", "reply"), COLD)
def test_what_nobody_calls_empathic_lies_at_the_bottom(scorer: Scorer, message: str, reply: str) -> None:
    score = scorer.score(message, reply)
    assert score.perceived is not None
    assert score.perceived <= 1.3


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("I'm sorry, but as an AI I can't assist with that.", "refusal"),
        ("We are unable to discuss personal matters here. Please contact a professional.", "refusal"),
        ("you are so stupid, nobody likes you", "insult"),
    ],
)
def test_a_fault_is_noted(scorer: Scorer, reply: str, note: str) -> None:
    assert note in scorer.score("I had a bad day at work", reply).notes


@pytest.mark.parametrize(
    "reply",
    [
        "I can't imagine how hard that was. I'm glad you told me.",
        "no no no, that's awful. your boss is a complete idiot",
        "I don't know what to say, but I'm here.",
    ],
)
def test_its_good_twin_is_not(scorer: Scorer, reply: str) -> None:
    score = scorer.score("my boss shouted at me in front of everybody", reply)
    assert score.status is ScoreStatus.SCORED
    assert not {"refusal", "insult"} & {*score.notes}


@pytest.mark.parametrize(
    "reply",
    [
        "the the sad of the feeling day is the you of happy feeling the day of the #sad #feel the of",
        "I am sorry. I am sorry. I am sorry. I am sorry. I am sorry. I am sorry. I am sorry. I am sorry. I am sorry.",
        "Dear {name}, thank you for [insert feeling]. Best regards, [your name here]",
    ],
)
def test_debris_has_no_score_and_the_reason_is_said(scorer: Scorer, reply: str) -> None:
    score = scorer.score("I had a bad day at work", reply)
    assert score.status in (ScoreStatus.INCOHERENT, ScoreStatus.UNREADABLE)
    assert score.perceived is None
    assert score.reason
    assert not any(scorer.explain("I had a bad day at work", reply).evidence.values())


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("I lost my job today and I don't know what to do", "Lo siento mucho, debe ser muy difícil para ti."),
        ("I lost my job today and I don't know what to do", "Das tut mir so leid, das ist bestimmt schwer für dich."),
        ("Estoy muy triste porque ayer perdí mi trabajo", "I'm so sorry, that must be hard."),
        ("Сегодня я потерял работу", "I'm so sorry, that must be hard."),
    ],
)
def test_a_reply_in_another_language_has_no_score(scorer: Scorer, message: str, reply: str) -> None:
    score = scorer.score(message, reply)
    assert score.status is ScoreStatus.OTHER_LANGUAGE
    assert score.reason
    assert not any(scorer.explain(message, reply).evidence.values())


def test_in_the_messages_own_language_it_is_only_not_english(scorer: Scorer) -> None:
    score = scorer.score(
        "Estoy muy triste porque ayer perdí mi trabajo", "Lo siento mucho, debe ser muy difícil para ti."
    )
    assert score.status is ScoreStatus.NOT_ENGLISH


def test_a_head_of_before_loads_and_has_no_such_number(scorer: Scorer) -> None:
    older = Head.load(HEADS / "counselling")
    assert older.perceived(np.zeros(len(older.file.facets), np.float32)) is None
    assert older.faults(np.ones(len(older.file.facets), np.float32)) == ()
