"""The layer that undoes disguises, by itself, and in both rooms that read through it."""

import pytest

from heard.chat_app.safety.crisis_check import check
from heard.scorer.disguises import LATIN, LEET, look, plain_letters, readings, shortened, sound, split_words
from heard.scorer.text import read


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("plain text,\nas it is", "plain text,\nas it is"),
        ("Ｉ’ｍ “ｆｉｎｅ”", 'I\'m "fine"'),
        ("k\u200bi\u0301l\u00adl\ue000", "kill"),
        ("a\r\nb\rc\u2028d\te", "a\nb\nc\nd e"),
        ("I´m ﬁne \u2202o", "I'm fine do"),
        ("\ud800\x00", ""),
    ],
)
def test_letters_come_out_plain(text: str, plain: str) -> None:
    assert plain_letters(text) == plain


def test_what_is_to_be_kept_is_kept() -> None:
    assert plain_letters("1\u20e3\u0301", "\u20e3") == "1\u20e3"


@pytest.mark.parametrize(("char", "letters"), [("а", "a"), ("η", "nhe"), ("ᴋ", "k"), ("ɡ", "g"), ("我", "")])
def test_a_letter_stands_for_those_that_it_looks_like(char: str, letters: str) -> None:
    assert look(char) == letters


def test_a_letter_has_a_sound() -> None:
    assert [sound(char) for char in "θжñ"] == ["th", "zh", "n"]
    assert all(letters.isascii() and letters.isalpha() for letters in (*LATIN.values(), *LEET.values()))


def test_every_reading_is_given_once_the_likeliest_first_and_not_too_many() -> None:
    assert list(readings([LEET["1"], "k"])) == ["ik", "lk"]
    assert "".join(piece[0] for piece in shortened("soooo good")) == "so good"
    assert set(readings(shortened("goood"))) == {"god", "good"}
    assert list(readings(["ab"] * 40, 64)) == ["a" * 40]


def test_letters_are_split_into_the_words_of_greatest_value() -> None:
    words = {"kill": -1.0, "my": -1.0, "self": -1.0, "myself": -1.0}
    assert split_words("killmyself", words.get, 6) == ["kill", "myself"]
    assert split_words("killmyselfx", words.get, 6) == []


DISGUISED = (
    "Ι wαητ το κιll myσεlf τοηιghτ",
    "I wаnt tо kіll mуsеlf tоnіght",
    "Ｉ ｗａｎｔ ｔｏ ｋｉｌｌ ｍｙｓｅｌｆ ｔｏｎｉｇｈｔ",
    "I w4nt t0 k1ll mys3lf t0n1ght",
    "I waaant to killlll myseeelf toniiight",
    "I want to k i l l m y s e l f tonight",
    "I wa\u200bnt to ki\u00adll mys\u0336elf tonight",
    "I want to kill mysel tonight",
)


@pytest.mark.parametrize("text", DISGUISED)
def test_both_rooms_read_the_same_words(text: str) -> None:
    assert read(text).text.lower() == "i want to kill myself tonight"
    assert check(text).crisis


@pytest.mark.parametrize("text", ["Ι αm ηοτ σuιcιdαl", "τhε dοcumεηταry οη σuιcιdε wασ gοοd"])
def test_a_disguised_denial_is_no_crisis(text: str) -> None:
    assert not check(text).crisis
