"""Which words carried a component: spans of the reply as it was given."""

from dataclasses import replace
from itertools import pairwise

import pytest

from scorer.records import COMPONENTS
from scorer.score import Scorer

REPLY = "The bus was late again. I'm so sorry, that must hurt so much. Have you thought about calling your sister?"


def words(scorer: Scorer, reply: str, component: str) -> list[str]:
    return [reply[span.start : span.end] for span in scorer.explain("", reply).evidence[component]]


def test_warm_words_carry_the_emotional_and_a_question_the_behavioral(scorer: Scorer) -> None:
    assert any("sorry" in span for span in words(scorer, REPLY, "emotional"))
    asked = scorer.explain("", REPLY).evidence["behavioral"]
    assert asked
    assert all(span.start >= REPLY.index("Have") for span in asked)
    assert not any("bus" in span for span in words(scorer, REPLY, "emotional"))


def test_spans_lie_within_the_reply_do_not_overlap_and_come_strongest_first(scorer: Scorer) -> None:
    for spans in scorer.explain("", REPLY).evidence.values():
        weights = [span.weight for span in spans]
        assert weights == sorted(weights, reverse=True)
        assert all(0 < weight <= 1 for weight in weights)
        places = sorted((span.start, span.end) for span in spans)
        assert all(start < end <= len(REPLY) for start, end in places)
        assert all(end <= after for (_, end), (after, _) in pairwise(places))


@pytest.mark.parametrize(
    "reply", ["I'm soooo sorry, that must hurt!!!", "I'm s0rry, that must hurt", "**I'm sorry**, that must hurt"]
)
def test_a_mended_text_points_into_the_text_as_given(scorer: Scorer, reply: str) -> None:
    assert any("rry" in span for span in words(scorer, reply, "emotional"))


def test_a_text_longer_than_a_window_is_pointed_into_at_its_end_too(scorer: Scorer) -> None:
    reply = "The shop opens at nine and closes at five. " * 60 + "I'm so sorry, that must hurt so much."
    spans = scorer.explain("", reply).evidence["emotional"]
    assert all("sorry" in reply[span.start :] for span in spans)


@pytest.mark.parametrize("reply", ["", "\U0001f642", "Das ist ein deutscher Satz, der nicht bewertet wird."])
def test_what_has_no_score_has_no_evidence(scorer: Scorer, reply: str) -> None:
    assert scorer.explain("", reply).evidence == dict.fromkeys(COMPONENTS, ())


def test_a_low_component_has_none(scorer: Scorer) -> None:
    assert scorer.explain("", "The shop opens at nine.").evidence == dict.fromkeys(COMPONENTS, ())


def test_the_score_is_the_same_with_and_without_the_words(scorer: Scorer) -> None:
    for reply in (REPLY, "", "\U0001f642"):
        assert replace(scorer.explain("", reply), evidence={}) == scorer.score("", reply)
