"""A reply that only gives the message back: noted, rated lower, and nothing else is."""

import pytest

from heard.scorer.parrot import NOTED, UNTOUCHED, echoed, kept
from heard.scorer.score import Scorer
from heard.scorer.training.data import project_set

MESSAGE = "My landlord gave us notice and I have no idea where my kids and I will sleep in March."


def test_what_counts_is_the_message_s_own_content_words() -> None:
    assert (
        echoed(MESSAGE, "So your landlord gave you notice and you have no idea where you will sleep in March.") > NOTED
    )
    assert echoed(MESSAGE, "That is frightening. Is there a housing office near you?") == 0
    assert echoed(MESSAGE, "In March?") == 0  # too short to say
    assert echoed("On paper it was right, there was no budget.", "Right on paper, and not at the candle.") == 0
    assert echoed("", "Anything at all, really quite long.") == 0
    assert echoed("I don\u2019t trust him", "you don't trust him at all, trust him") == echoed(
        "I don't trust him", "you don\u2019t trust him at all, trust him"
    )


def test_it_sinks_in_a_line_between_the_two_bounds() -> None:
    assert [kept(UNTOUCHED), kept(NOTED), kept(0), kept(1)] == [1, 0, 1, 0]
    assert kept((UNTOUCHED + NOTED) / 2) == pytest.approx(0.5)


def test_the_own_set_s_parroting_replies_are_found_and_no_others() -> None:
    found = {example.style for example in project_set() if echoed(example.seeker, example.reply) >= NOTED}
    assert found == {"parrot"}
    parrots = [example for example in project_set() if example.style == "parrot"]
    assert sum(echoed(e.seeker, e.reply) >= NOTED for e in parrots) >= 0.9 * len(parrots)


def test_the_score_notes_it_and_is_lower_than_without_the_message(scorer: Scorer) -> None:
    reply = "Your landlord gave you notice and you have no idea where you and your kids will sleep in March."
    with_it, without = scorer.score(MESSAGE, reply), scorer.score("", reply)
    assert with_it.notes == ("parrot",)
    assert without.notes == ()
    assert with_it.empathy is not None
    assert without.empathy is not None
    assert with_it.empathy == pytest.approx(1.0)
    assert without.empathy > with_it.empathy
