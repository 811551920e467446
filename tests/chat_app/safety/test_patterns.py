"""The pattern language, worked by hand: each pattern against texts that must and must not fit."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heard.chat_app.safety.matcher import Matcher, Span, uncovered_spans
from heard.chat_app.safety.normalise import BOUNDARY, SOFT_BOUNDARY, Normaliser, plain_tokens
from heard.chat_app.safety.patterns import PatternError


def spans(
    pattern: str, text: str, *, strict: bool = False, macros: dict[str, str] | None = None
) -> list[tuple[int, int]]:
    matcher = Matcher(lambda words: plain_tokens(words, {}), strict=strict)
    matcher.reader.define(macros or {})
    matcher.add(pattern, 0)
    matcher.compile()
    return [(span.start, span.end) for span in matcher.find(text.split())]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b c", "a b c d", [(1, 3)]),
        ("b c", "a b x c", []),
        ("a|b c", "b c", [(0, 2)]),
        ("(a b|c) d", "a b d c d", [(0, 3), (3, 5)]),
        ("a [b] c", "a c a b c", [(0, 2), (2, 5)]),
        ("a (b [c]|d (e|f)) g", "a b g a b c g a d f g a d g", [(0, 3), (3, 7), (7, 11)]),
        ("a ~2 b", "a x y b", [(0, 4)]),
        ("a ~2 b", "a x y z b", []),
        ("a ~2 b", "a b", [(0, 2)]),
        ("abc*", "abcd xabc", [(0, 1)]),
        ("a #", "a 12", [(0, 2)]),
        ("^ a", "a x . a", [(0, 1), (3, 4)]),
        ("a $", "a x . b a , c a", [(4, 5), (7, 8)]),
        ("a ~3 b", "a . b", []),
        ("a ~3 b", "a , b", [(0, 3)]),
        ("a b", "a . b", [(0, 3)]),
        ("a a", "a a a", [(0, 2), (1, 3)]),
        ("想死", "想 死", [(0, 2)]),
    ],
)
def test_patterns(pattern: str, text: str, expected: list[tuple[int, int]]) -> None:
    assert spans(pattern, text) == expected


def test_an_exception_ends_at_a_comma() -> None:
    assert spans("a ~3 b", "a , b", strict=True) == []
    assert spans("a b", "a , b", strict=True) == []


def test_macros() -> None:
    assert spans("{go} home", "run home walk off home", macros={"go": "run|walk off"}) == [(0, 2), (2, 5)]


@pytest.mark.parametrize(
    "pattern", ["", "[a]", "~3", "(a", "a)", "[a (b]", "{nothing}", "ab*", "(a|)", "(a ~2 b)", "[a] ~2"]
)
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        spans(pattern, "a")


@given(
    st.lists(st.sampled_from(["a", "b", "c", "a|b", "(a b|c)", "[b]", "~1", "~2"]), min_size=1, max_size=5),
    st.lists(st.sampled_from("abcd"), max_size=9),
)
@settings(max_examples=300, deadline=None)
def test_against_a_regular_expression(parts: list[str], words: list[str]) -> None:
    """The machine finds an end exactly where the same pattern as a regular expression does."""
    if not any(part[0] in "abc(" for part in parts):
        return
    as_regex = {
        "~1": "(?:. ){0,1}",
        "~2": "(?:. ){0,2}",
        "[b]": "(?:b )?",
        "a|b": "(?:a |b )",
        "(a b|c)": "(?:a b |c )",
    }
    regex = re.compile("".join(as_regex.get(part, f"{part} ") for part in parts))
    text = "".join(f"{word} " for word in words)
    ends = {
        end // 2
        for begin, end in itertools.combinations(range(0, len(text) + 1, 2), 2)
        if regex.fullmatch(text, begin, end)
    }
    assert {end for _, end in spans(" ".join(parts), text)} == ends


def test_survivors_need_whole_cover() -> None:
    tokens = ["i", "cut", "my", "hair", "and", "i", "cut", "my", "arm"]
    first, second = Span(0, 2, 0), Span(5, 7, 0)
    hair = Span(1, 4, 1)
    assert uncovered_spans([first, second], [hair], tokens) == [first, second]
    assert uncovered_spans([first, second], [hair], tokens, frozenset({"i"})) == [second]


@pytest.fixture(scope="module")
def normaliser() -> Normaliser:
    return Normaliser(
        vocabulary=["i", "want", "to", "die", "my", "will", "do", "not"],
        keys=["kill", "die", "suicide", "myself"],
        rewrites={"dont": "do not", "wanna": "want to", "u": "you", "2": "to"},
        real_words=["pill", "will", "skill"],
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("K1LL", ["kill"]),
        ("k*ll d#e", ["kill", "die"]),
        ("kil pill skill", ["kill", "pill", "skill"]),
        ("su1cide $uicide suicde", ["suicide"] * 3),
        ("dieeee killlll", ["die", "kill"]),
        ("killmyself iwanttodie", ["kill", "myself", "i", "want", "to", "die"]),
        ("k i l l m y s e l f", ["kill", "myself"]),
        ("s.u.i.c.i.d.e", ["suicide"]),
        ("sui cide", ["suicide"]),
        ("don’t dont", ["do", "not", "do", "not"]),
        ("wanna u 2", ["want", "to", "you", "to"]),
        ("soldier studied", ["soldier", "studied"]),
        ("I&#39;m <b>di</b>e", ["im", "die"]),
        ("кill ｄｉｅ 𝐝𝐢𝐞 ᴅɪᴇ 🅳🅸🅴", ["kill", "die", "die", "die", "die"]),
        ("one two. three four", ["one", "two", BOUNDARY, "three", "four"]),
        ("one. two three", ["one", SOFT_BOUNDARY, "two", "three"]),
        ("one two, three... four five", ["one", "two", SOFT_BOUNDARY, "three", SOFT_BOUNDARY, "four", "five"]),
        ("我想死", ["我", "想", "死"]),
    ],
)
def test_normalising(normaliser: Normaliser, text: str, tokens: list[str]) -> None:
    assert normaliser.tokens(text) == tokens
