"""Words of Arabic, Hebrew, Devanagari and Bengali: one spelling, clitics, and nothing else touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heard.chat_app.safety.crisis_check import check
from heard.chat_app.safety.normalise import Normaliser, plain_tokens
from heard.chat_app.safety.scripts import VOWEL_SIGNS, is_own_script, one_spelling, without_clitics


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("أُرِيدُ أَنْ أَمُوت", "اريد ان اموت"),  # vowel points and hamzas
        ("الحيـــاة", "الحياه"),  # tatweel, teh marbuta
        ("می‌خواهم", "می خواهم"),  # with a joiner, and apart
        ("ميخواهم", "میخواهم"),  # an Arabic keyboard
        ("كمك", "کمک"),
        ("רוֹצֶה לָמוּת", "רוצה למות"),
        ("ज़िंदगी", "जिन्दगी"),  # nukta, half nasal
        ("नहीं", "नही"),
        ("हूँ", "हुं"),
        ("বাঁচতে", "বাচতে"),
        ("বাংলা", "বাঙলা"),
        ("\u200fאני רוצה\u200e", "אני רוצה"),
    ],
)
def test_one_spelling(one: str, other: str) -> None:
    assert plain_tokens(one, {}) == plain_tokens(other, {})


@pytest.mark.parametrize(
    ("one", "other"),
    [("मरना", "मारना"), ("मरना", "मरने"), ("মরতে", "মারতে"), ("জীবন", "জবান"), ("أموت", "أمات"), ("میرم", "نمیرم")],
)
def test_words_that_stay_apart(one: str, other: str) -> None:
    assert plain_tokens(one, {}) != plain_tokens(other, {})


def test_a_word_with_vowel_signs_is_one_token() -> None:
    assert plain_tokens("मुझे मरना है", {}) == ["मुझे", "मरना", "है"]
    assert plain_tokens("আমি বাঁচতে চাই", {}) == ["আমি", "বাচতে", "চাই"]


def test_clitics_are_cut_only_from_an_unknown_word() -> None:
    normaliser = Normaliser({"أريد".replace("أ", "ا"), "למות", "চাই", "ولد"}, (), {}, ())
    assert normaliser.tokens("وأريد فأريد ولد") == ["اريد", "اريد", "ولد"]
    assert normaliser.tokens("ולמות שלמות כשלמות") == ["למות"] * 3
    assert normaliser.tokens("وقت") == ["وقت"]
    assert list(without_clitics("לא")) == []


def test_ends_of_sentences() -> None:
    normaliser = Normaliser((), (), {}, ())
    assert normaliser.tokens("मौसम अच्छा है।चलो बाहर चलें।").count(".") == 1
    assert normaliser.tokens("كيف حالك اليوم؟ أنا بخير، والحمد لله").count(",") == 1


def test_a_word_of_its_own_script_is_no_latin_word_in_disguise() -> None:
    assert is_own_script("दिए")  # its sounds are d, i, e
    assert not is_own_script("suіcide")
    assert Normaliser({"die"}, {"die"}, {}, ()).tokens("दिए") == ["दिए"]


@given(st.text())
def test_other_letters_stay_as_they_are(text: str) -> None:
    plain = "".join(char for char in text if not (0x0590 <= ord(char) < 0x0700 or 0x0900 <= ord(char) < 0x0A00))
    assert one_spelling(plain) == plain


def test_vowel_signs_are_signs() -> None:
    assert len(set(VOWEL_SIGNS)) == len(VOWEL_SIGNS) > 20


@pytest.mark.parametrize(
    "text",
    ["هموت من الضحك", "از خنده مردم", "हंसते हंसते मर गया", "מתה מצחוק", "হাসতে হাসতে মরে গেলাম", "has has ke mar gaya yaar"],
)
def test_dying_of_laughter(text: str) -> None:
    assert not check(text).crisis
