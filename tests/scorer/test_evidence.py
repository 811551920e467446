"""Which words carried a component: spans of the reply as it was given."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from heard.scorer.evidence import phrased, sentences, strongest
from heard.scorer.records import COMPONENTS
from heard.scorer.score import Scorer

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


def test_the_words_beside_a_word_have_a_share_within_its_sentence() -> None:
    """Worked by hand: one word of weight 1 in a sentence of six; a reach of four gives .8, .6, .4, .2."""
    words = ["Oh.", "one", "two", "three", "four", "five", "six.", '"Well."', "x"]
    sentence = sentences(words)
    assert sentence.tolist() == [0, 1, 1, 1, 1, 1, 1, 2, 3]
    own = np.zeros((len(words), 2))
    own[1, 0], own[3, 0], own[8, 1] = 1, -5, 2
    found = phrased(own, sentence)
    assert found[:, 0] == pytest.approx([0, 1, 0.8, 0.6, 0.4, 0.2, 0, 0, 0])
    assert found[:, 1] == pytest.approx([0] * 8 + [2])
    assert strongest(found[:, 0]).tolist() == [False, True, True, False, False, False, False, False, False]
    assert not strongest(np.zeros(3)).any()
    assert phrased(np.ones((1, 1)), sentences(["Hi"])) == pytest.approx(1)


def test_a_span_ends_with_its_sentence(scorer: Scorer) -> None:
    reply = "I'm so sorry! That must hurt so much. Are you safe tonight? You could call a friend."
    for component in COMPONENTS:
        assert not any(sign in span[:-1] for span in words(scorer, reply, component) for sign in "!.?")
