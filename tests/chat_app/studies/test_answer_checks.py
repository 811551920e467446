"""Answers that are very long, and answers of one item that are nearly the same."""

import pytest

from heard.chat_app.studies.answer_checks import LONG_WORDS, likeness, notices
from heard.chat_app.studies.item_drafts import ItemDraft


def test_long_answers_and_doubles_are_told_by_their_lines() -> None:
    long = " ".join(f"word{number}" for number in range(LONG_WORDS + 1))
    drafts = [ItemDraft(line, "m", {"human": f"{long}.", "gpt": "I hear you, that is hard."}) for line in range(2, 9)]
    drafts.append(ItemDraft(9, "m", {"human": "I hear you; that’s hard!", "gpt": "i hear you thats hard.", "x": "No."}))
    assert notices(drafts, "row") == [
        f"7 answers are longer than {LONG_WORDS} words (rows 2, 3, 4, 5, 6 and 2 more): nobody may read them, and "
        "their length tells who wrote them.",
        "1 item has two answers that are nearly the same (row 9): there is little to choose between.",
    ]


def test_answers_that_end_in_mid_sentence_are_told_by_their_lines() -> None:
    drafts = [ItemDraft(line, "m", {"human": "I hear you, and I", "gpt": "I hear you."}) for line in (2, 5)]
    assert notices(drafts) == [
        "2 answers end in mid-sentence (lines 2, 5): people would mark the break and not the answer. Look at them, and "
        "mend or leave out what was cut."
    ]


def test_nothing_is_told_of_ordinary_answers() -> None:
    drafts = [ItemDraft(2, "m", {"human": "I hear you.", "gpt": "That sounds hard, and I am here."}), ItemDraft(3, "m")]
    assert notices(drafts) == []


@pytest.mark.parametrize(
    ("one", "other", "least", "most"),
    [
        ("That is hard, and I am with you today.", "that is hard and I am with you today", 1, 1),
        ("That is hard, and I am with you today and tomorrow.", "That is hard, and I am with you today.", 0.7, 0.9),
        ("That is hard.", "Call somebody.", 0, 0),
        ("?", "!", 1, 1),
        ("Yes.", "No.", 0, 0),
    ],
)
def test_how_alike_two_texts_are(one: str, other: str, least: float, most: float) -> None:
    assert least <= likeness(one, other) <= most
    assert likeness(one, other) == likeness(other, one)
