"""What is read, what is mended, and what cannot be scored."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heard.scorer.records import ScoreStatus
from heard.scorer.text import LONGEST, read

SHORT_ENGLISH = [
    "That sounds hard.", "ok", "Same here, it sucks lol", "lol", "Hmm.", "Oh no.", "hugs", "Congrats!!", "No.",
    "u ok?", "im so sorry 4 ur loss", "omg that's awful, r u alright", "I hear you.", "Me too.", "Sorry.",
    "Damn", "Breathe.", "Call a doctor.", "Take care, Maria.", "Yikes", "hang in there, buddy", "same",
    "idk man", "gonna be fine", "Grief has no timetable.", "I undrstand how dificult this mst be for yu",
    "haha", "k", "Good luck!", "Ugh. Mondays.", "You've got this!", "SO SORRY", "wanna talk?", "brb",
    "Hugs from Kraków", "aww", "no worries", "thx", "what happened?",
]  # fmt: skip
FOREIGN = [
    "Lo siento mucho, eso suena muy difícil.", "Lo siento", "no te preocupes", "Hola, como estas?", "gracias",
    "que mal", "Je suis vraiment désolé, c'est dur.", "Désolé", "Courage, ça va aller", "je comprends",
    "bonjour mon ami", "Das tut mir sehr leid.", "Es tut mir leid, das klingt schwer", "Kopf hoch", "danke",
    "guten Tag", "Sinto muito que você esteja passando por isso.", "sinto muito", "Estou aqui com voce",
    "我很抱歉听到这个消息", "大丈夫ですか", "괜찮아요", "Мне очень жаль", "Λυπάμαι πολύ γι' αυτό",
    "أنا آسف جدا", "मुझे बहुत दुख है", "Yaar mujhe bahut bura lag raha hai, tu theek hai na?",
    "sab theek ho jayega", "arre tension mat le bhai", "Mi dispiace tanto",
    "Wat vervelend voor je, ik begrijp het", "Jag förstår hur du känner", "Bardzo mi przykro", "Çok üzgünüm",
    "Aku ikut sedih mendengarnya", "Naiintindihan kita, kaya mo yan", "Toi rat tiec ve dieu do",
]  # fmt: skip


@pytest.mark.parametrize("text", SHORT_ENGLISH)
def test_short_english_can_be_scored(text: str) -> None:
    assert read(text).status is ScoreStatus.SCORED


@pytest.mark.parametrize("text", FOREIGN)
def test_other_languages_cannot(text: str) -> None:
    reading = read(text)
    assert reading.status is ScoreStatus.NOT_ENGLISH
    assert reading.text == ""
    assert reading.reason is not None
    assert "English" in reading.reason


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("I'm so sorry, lo siento mucho, that is really hard", ScoreStatus.SCORED),
        ("I'm sorry 我很抱歉, that must hurt a lot.", ScoreStatus.SCORED),
        ("I am here. Estoy aqui contigo, no tengas miedo, todo va a salir bien.", ScoreStatus.NOT_ENGLISH),
    ],
)
def test_mixed_languages_go_by_the_greater_part(text: str, status: ScoreStatus) -> None:
    assert read(text).status is status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", ScoreStatus.EMPTY),
        (" \n\t", ScoreStatus.EMPTY),
        ("\u200b\u200d\ufeff", ScoreStatus.EMPTY),
        ("\ud800", ScoreStatus.EMPTY),
        ("😀😀 ❤️", ScoreStatus.EMOJI_ONLY),
        ("👩‍👩‍👧", ScoreStatus.EMOJI_ONLY),
        ("🇩🇪", ScoreStatus.EMOJI_ONLY),
        ("1️⃣", ScoreStatus.EMOJI_ONLY),
        (":) <3", ScoreStatus.EMOJI_ONLY),
        ("xD", ScoreStatus.EMOJI_ONLY),
        ("...?!", ScoreStatus.UNREADABLE),
        ("12345", ScoreStatus.UNREADABLE),
        ("asdkfj lkjsdf qwerty", ScoreStatus.UNREADABLE),
        ("```python\nprint(1)\n```", ScoreStatus.UNREADABLE),
        ("def f(x): return {x: [1,2]}; a = b[0] + c; if (a == b) { x += 1; }", ScoreStatus.UNREADABLE),
        ("https://example.org/a/b", ScoreStatus.UNREADABLE),
        ("<script>alert('I am so sorry')</script>", ScoreStatus.UNREADABLE),
        ("I hear you. " * 3_000, ScoreStatus.TOO_LONG),
    ],
)
def test_texts_without_a_score_have_the_right_reason(text: str, status: ScoreStatus) -> None:
    reading = read(text)
    assert reading.status is status
    assert reading.reason


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("<p>I am <b>sorry</b></p>", "I am sorry"),
        ("**I hear you** and _care_", "I hear you and care"),
        ("# Hi\n1. Breathe\n2. Walk", "Hi Breathe Walk"),
        ("See [this page](https://example.org) for help", "See this page for help"),
        ("Ι αm sοrry yοu'rε fεεlιng this wαy", "I am sorry you're feeling this way"),
        ("Ι аm sоrry", "I am sorry"),
        ("1'm s0rry y0u f33l th1s w4y", "i'm sorry you feel this way"),
        ("Ｉ ａｍ ｓｏｒｒｙ", "I am sorry"),
        ("𝓘 𝓪𝓶 𝓼𝓸𝓻𝓻𝔂", "I am sorry"),
        ("So\u200brry to he\u00adar", "Sorry to hear"),
        ("Iâ€™m here", "I'm here"),
        ("Soooo sorryyyyy!!!!", "So sorry!"),
        ("That&amp;#x200B; sucks &lt;3", "That sucks <3"),
        ("I love you 😀", "I love you"),
        ("i undrstand you", "i understand you"),
        ("Z̷a̴r̵a̶ is here \ud83d", "Zara is here"),
    ],
)
def test_disguise_and_markup_are_taken_off(text: str, clean: str) -> None:
    assert read(text).text == clean


@pytest.mark.parametrize(
    "text",
    ["It was covid19 and I took 50mg", "I was born in 2001", "Ask Shayla and Mikhail", "a < b and c > d, you know"],
)
def test_what_only_looks_disguised_stays(text: str) -> None:
    assert read(text).text.lower() == text.lower()


@pytest.mark.parametrize(
    "unit",
    ["a<", "<script", "<!--", "*a_", "[", "![](", "`a ", "> ", "&amp;", "xqzv ", "1a", "é", "ﷺ", "😀", "a\u0301"],
)
def test_hostile_texts_take_bounded_time(unit: str) -> None:
    """The longest text of each kind; the bound is wide for a busy machine, a quadratic rule takes minutes."""
    began = time.perf_counter()
    read(unit * (LONGEST // len(unit)))
    assert time.perf_counter() - began < 15


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_the_same_way_twice(text: str) -> None:
    first = read(text)
    assert first == read(text)
    assert bool(first.text) is (first.status is ScoreStatus.SCORED)
    first.text.encode()  # no lone surrogate is left


@given(st.text(alphabet=st.characters(categories=["Cs", "Cf", "Mn", "So", "Ll", "Nd", "Po"]), max_size=80))
@settings(max_examples=200, deadline=None)
def test_odd_characters_never_raise(text: str) -> None:
    assert read(text).status in ScoreStatus


@given(st.sampled_from(SHORT_ENGLISH))
@settings(max_examples=60, deadline=None)
def test_a_mended_text_is_stable(text: str) -> None:
    once = read(text).text
    assert read(once).text == once
