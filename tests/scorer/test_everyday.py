"""How empathic people would call a reply, and faults: the formula by hand, and what the shipped head says."""

from typing import Any

import numpy as np
import pytest

from heard.scorer.everyday import HARM_BEGINS, HARM_WHOLE, WARMTH, perceived
from heard.scorer.head import Head
from heard.scorer.records import ScoreStatus, level_of
from heard.scorer.score import HEADS, Scorer

MIXED = np.array([0.4, 0.7, 0.9])


def facets(
    perceived: float, warmth: float = 0, cold: float = 0, harm: float = 0, counselling: float = 0
) -> dict[str, np.ndarray[Any, Any]]:
    values = {"perceived": perceived, "warmth": warmth, "cold": cold, "harm": harm, "counselling": counselling}
    return {name: np.array(value) for name, value in values.items()}


def test_the_formula_by_hand() -> None:
    line, cold = (1.0, 2.0), (0.4, 0.8)
    assert perceived(facets(0.5), MIXED, line, cold) == pytest.approx(2)
    assert perceived(facets(0.5, warmth=1), MIXED, line, cold) == pytest.approx(2 + 2 * WARMTH)
    assert perceived(facets(0.5, cold=0.4), MIXED, line, cold) == pytest.approx(2)
    assert perceived(facets(0.5, cold=0.6), MIXED, line, cold) == pytest.approx(1.5)
    assert perceived(facets(0.5, cold=0.9), MIXED, line, cold) == pytest.approx(1)
    assert perceived(facets(0.5, harm=(HARM_BEGINS + HARM_WHOLE) / 2), MIXED, line, cold) == pytest.approx(1.5)
    assert perceived(facets(-9), MIXED, line, cold) == pytest.approx(1)
    assert perceived(facets(9), MIXED, line, cold) == pytest.approx(3)


def test_in_counselling_the_rubric_stands_in_its_place() -> None:
    line, cold = (1.0, 2.0), (0.4, 0.8)
    for said in (-9, 0.5, 9):
        assert perceived(facets(said, counselling=1), MIXED, line, cold) == pytest.approx(2.2)
    assert perceived(facets(0.5, counselling=0.5), MIXED, line, cold) == pytest.approx(2.05)
    assert perceived(facets(0.5, cold=0.6, counselling=1), MIXED, line, cold) == pytest.approx(1.6)
    assert perceived(facets(0.5, harm=1, counselling=1), MIXED, line, cold) == pytest.approx(1)


def test_levels_are_those_of_the_number_as_it_is_shown() -> None:
    assert [level_of(value) for value in (1.44, 1.46, 1.48, 1.5, 2.44, 2.46, 2.5)] == [
        "Low", "Moderate", "Moderate", "Moderate", "Moderate", "High", "High",
    ]  # fmt: skip


BROKE = "my car broke down on the way to work again"
DOG = "my dog died last night"


@pytest.mark.parametrize(
    ("message", "reply", "least", "most"),
    [
        (BROKE, "ugh not again, that is the worst. ive been there, ruins the whole day", 2.2, 3),
        ("I got the job!!", "no way, congratulations!! you must be over the moon", 2.2, 3),
        (DOG, "I'm so sorry, losing a dog is losing family. I cried for weeks over mine", 2.2, 3),
        ("people keep jumping the queue", "I hate it when that happens, some people have no consideration", 1.5, 2.5),
        ("just got back from the shop", "oh nice, what did you buy?", 1.5, 2.5),
        (BROKE, "As an AI language model, I cannot help with that.", 1, 1.3),
        ("I got the job!!", "I'm sorry, but I am not able to discuss personal matters.", 1, 1.3),
        ("I hate it when people jump the queue", "you are pathetic, stop whining you idiot", 1, 1.3),
        (DOG, "I hear you. I understand. Your feelings are valid. I truly empathize. I feel your feelings.", 1, 1.3),
    ],
)
def test_how_empathic_people_would_call_it(scorer: Scorer, message: str, reply: str, least: float, most: float) -> None:
    score = scorer.score(message, reply)
    assert score.perceived is not None
    assert least <= score.perceived <= most
    low, high = score.intervals["perceived"]
    assert 1 <= low <= score.perceived <= high <= 3


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
