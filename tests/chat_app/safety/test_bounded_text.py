"""What is read of a text that is too long, and that the rules' work grows with the text and no faster."""

import pytest

from heard.chat_app.safety.bounded_text import ENDS, bounded_text
from heard.chat_app.safety.crisis_check import check, checker
from heard.chat_app.safety.matcher import Matcher

CRISIS = "I want to kill myself. "
GAME = "I don't want to die in a game because "
MOST_ALIVE = 150
"""States of the automaton at once: its largest sets, of all that texts of these words reach."""


@pytest.mark.parametrize("size", [0, 1, 7_999, 8_000])
def test_a_text_within_the_limit_is_read_whole(size: int) -> None:
    assert bounded_text("a" * size, 8_000) == "a" * size


@pytest.mark.parametrize("size", [8_001, 100_000, 5_000_000])
@pytest.mark.parametrize("limit", [100, 8_000, 100_000])
def test_of_a_longer_text_a_bounded_part_is_read(size: int, limit: int) -> None:
    read = bounded_text("a" * size, limit)
    assert len(read) <= max(limit, min(2 * ENDS, limit) + 2)


@pytest.mark.parametrize("place", [0, 3_000, 890_000 - 3_000, 890_000])
def test_danger_is_found_at_both_ends(place: int) -> None:
    filler = "we talked about the garden. " * 32_000
    text = filler[:place] + CRISIS + filler[place:890_000]
    assert check(bounded_text(text, 8_000)).crisis


def test_the_two_ends_are_not_one_sentence() -> None:
    text = "I want to" + " x" * 10_000 + " die"
    assert not check(bounded_text(text, 8_000)).crisis


def steps(matcher: Matcher, text: str) -> int:
    """How many states are looked at where starts are sought, which is the dearest part."""
    looked_at = 0

    class Counting(list):  # type: ignore[type-arg]
        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            nonlocal looked_at
            looked_at += 1
            return super().__getitem__(index)

    states = matcher._states
    matcher._states = Counting(states)
    try:
        matcher.find(checker()._normaliser.tokens(text))
    finally:
        matcher._states = states
    return looked_at


@pytest.mark.parametrize(
    "words", [GAME, "die, want, ", "want to kill, want to die in the game, ", "wish want me life "]
)
def test_the_work_grows_with_the_text_and_has_a_bound_for_each_word(words: str) -> None:
    matcher = checker()._statements
    text = words * 60
    matcher.find(checker()._normaliser.tokens(text))  # fills the memory of sets
    one, ten = steps(matcher, text), steps(matcher, text * 10)
    assert ten <= 10.5 * one + 1_000
    assert ten <= MOST_ALIVE * len(checker()._normaliser.tokens(text * 10))
    assert max(map(len, matcher._seen.sets)) <= MOST_ALIVE
