"""Counts of words and Markdown, on texts counted by hand."""

import pytest

from heard.chat_app.studies.text_features import FORMATTING_KEYS, count_formatting, count_words

LONG = """# First steps

That sounds **hard**, and __tiring__.

- breathe
- call [Anna](https://example.org)
  1. today
  2. or tomorrow

1. sleep

See https://example.org/help or www.example.org. \u2764\ufe0f\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea
"""


def test_a_text_with_everything() -> None:
    assert count_formatting(LONG) == {
        "paragraphs": 2,
        "headings": 1,
        "bullets": 2,
        "numbered": 3,
        "bold": 2,
        "links": 3,
        "emoji": 3,
    }


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", {}),
        ("One line.", {"paragraphs": 1}),
        ("One.\n\nTwo.\nStill two.", {"paragraphs": 2}),
        ("2 * 3 * 4 is no list", {"paragraphs": 1}),
        ("\U0001f44d\U0001f3fd 1\ufe0f\u20e3", {"paragraphs": 1, "emoji": 2}),
        ("3 # 4", {"paragraphs": 1}),
        ("[a](<https://a.example>) and <https://b.example>", {"paragraphs": 1, "links": 2}),
        ("**" * 2000, {"paragraphs": 0}),
        ("\ud800", {"paragraphs": 1}),
    ],
)
def test_small_texts(text: str, counts: dict[str, int]) -> None:
    found = count_formatting(text)
    assert tuple(found) == FORMATTING_KEYS
    assert {name: number for name, number in found.items() if number} == {n: c for n, c in counts.items() if c}


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("Hello there", 2), ("- one\n- two", 2), ("well \u2014 yes", 2), ("I'm 24", 2), ("**bold**", 1)],
)
def test_words(text: str, words: int) -> None:
    assert count_words(text) == words
