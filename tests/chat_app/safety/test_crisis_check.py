"""The crisis check: cases of our own, tricks, exceptions that must not hide a statement, and what it costs."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heard.chat_app.safety.crisis_check import check
from heard.chat_app.safety.measure import confusion_matrix, has_common_words, load_cases
from heard.chat_app.safety.verdict import Level, SafetyVerdict
from heard.prompts.safety_files import CATEGORIES

CASES = load_cases(Path(__file__).parents[2] / "safety_cases")
ENGLISH = [case for case in CASES if case.crisis and case.group.startswith("en.") and case.text.isascii()]
FOUND = [case.text for case in ENGLISH if check(case.text).crisis]
ORDINARY = (
    "We had a long week at the office and on Sunday we drove out to the coast. My sister brought a cake, the children "
    "built a castle of sand, and in the evening we watched the boats come in. The car needs new tyres soon. "
)


def test_there_are_enough_cases_of_every_kind() -> None:
    assert len(CASES) >= 1000
    assert len({case.id for case in CASES}) == len(CASES)
    groups = {case.group for case in CASES}
    for language in ("es", "fr", "de", "pt", "zh", "hi", "ar", "fa", "he", "bn"):
        assert {f"{language}.crisis", f"{language}.safe"} <= groups


def test_recall_and_false_alarms_on_all_cases() -> None:
    ours = confusion_matrix(CASES, lambda text: check(text).crisis)
    theirs = confusion_matrix(CASES, has_common_words)
    assert ours.recall is not None
    assert theirs.recall is not None
    assert ours.false_alarm_rate is not None
    assert ours.recall >= 0.97
    assert ours.false_alarm_rate <= 0.02
    assert ours.recall > theirs.recall + 0.5


@pytest.mark.parametrize("group", sorted({case.group for case in CASES}))
def test_no_group_is_left_behind(group: str) -> None:
    some = [case for case in CASES if case.group == group]
    wrong = [case.id for case in some if check(case.text).crisis != case.crisis]
    assert len(wrong) <= max(1, len(some) // 6), wrong


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("I want to die", "ideation"),
        ("I wish I could fall asleep and never wake up", "passive"),
        ("I am going to jump off the bridge", "plan"),
        ("I attempted suicide last year", "attempt"),
        ("I cut my wrists again", "self_harm"),
        ("my friend says he wants to end it", "third_person"),
        ("my friend is offing herself", "third_person"),
        ("how many pills would it take to die", "method_question"),
    ],
)
def test_categories(text: str, category: str) -> None:
    assert check(text) == SafetyVerdict(Level.CRISIS, category, "en", reader="rules")
    assert category in CATEGORIES


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("quiero suicidarme", "es"),
        ("je pense au suicide tous les jours", "fr"),
        ("ich habe Suizidgedanken", "de"),
        ("não quero mais viver", "pt"),
        ("我想自殺", "zh"),
        ("मैं मरना चाहता हूँ", "hi"),
        ("mujhe marna hai", "hi"),
        ("jeena nahi chahti", "hi"),
        ("أريد أن أموت", "ar"),
        ("مش عايزة أعيش", "ar"),
        ("می‌خوام بمیرم", "fa"),
        ("אני רוצה למות", "he"),
        ("আমি মরতে চাই", "bn"),
        ("ami morte chai", "bn"),
        ("I keep thinking about suicide", "en"),
        ("after my suicide attempt I moved house", "en"),
    ],
)
def test_language_of_the_statement(text: str, language: str) -> None:
    assert check(text).language == language


@pytest.mark.parametrize(
    "text",
    [
        "I'm not suicidal but I don't want to wake up",
        "I don't want to live",
        "I can't stop thinking about ending it",
        "I'm dying to see you, then I want to kill myself",
        "my uncle killed himself and now I want to die too",
        "I would never hurt anybody but I want to hurt myself",
        "no, suicidal",
        "I can't cope. Suicidal thoughts every day",
        "I'm not okay, suicidal again",
        "I love the suicide squad movie. I want to kill myself",
        "I volunteer at a suicide hotline and I am suicidal myself",
        "my phone is dying and so should I, I want to die",
        "I want to die of embarrassment. No really, I want to die",
        "why haven't I killed myself yet",
        "I don't know why I can't kill myself",
        "फिल्म देखने के बाद मैं आत्महत्या करना चाहता हूं",
        "हंसते हंसते थक गया हूं अब मरना चाहता हूं",
        "mai suicide nahi karunga par jeena nahi chahta",
        "garmi se mar gaya aur ab sach me marna chahta hu",
        "بعد ما شفت الفيلم صرت أفكر في الانتحار",
        "انتحر صديقي وأنا أريد أن أموت",
        "هموت من الضحك بس بجد عايز أموت",
        "دوستم خودکشی کرد و منم می‌خوام بمیرم",
        "به خودکشی فکر نمی‌کنم ولی نمی‌خوام زنده باشم",
        "אחרי הסרט אני רוצה להתאבד",
        "אני לא רוצה למות אני רוצה להרוג את עצמי",
        "সিনেমা দেখে আমি আত্মহত্যা করতে চাই",
        "খবর পড়ে আমারও মরে যেতে ইচ্ছা করছে",
    ],
)
def test_an_exception_never_hides_a_second_statement(text: str) -> None:
    assert check(text).crisis


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "\ud800",
        "\udfff\ud800",
        "🙂",
        "?!",
        "...",
        "^ $ # ~3 [x] {want} (a|b)",
        "&#xD800;",
        "&#99999999;",
        "<",
    ],
)
def test_odd_strings_are_no_crisis_and_do_not_raise(text: str) -> None:
    assert check(text) == SafetyVerdict()


@given(st.text(alphabet=st.characters(), max_size=200))
@settings(max_examples=200, deadline=None)
def test_never_raises_and_is_deterministic(text: str) -> None:
    assert check(text) == check(text)


def test_a_lone_surrogate_or_a_nul_in_the_middle_hides_nothing() -> None:
    assert check("I want\ud800 to kill my\x00self").crisis


LOOK_ALIKES = str.maketrans("aceopsxyij", "асеорѕхуіј")
FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
BOLD = {ord("a") + n: 0x1D41A + n for n in range(26)} | {ord("A") + n: 0x1D400 + n for n in range(26)}


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.title,
        lambda text: text.replace("'", "\u2019"),
        lambda text: text.replace("'", ""),
        lambda text: text.replace(" ", "\u00a0 \t "),
        lambda text: text.replace(" ", "\n"),
        lambda text: text.translate(LOOK_ALIKES),
        lambda text: text.translate(FULL_WIDTH),
        lambda text: text.translate(BOLD),
        lambda text: "\u200b".join(text),
        lambda text: "\u00ad".join(text),
        lambda text: "".join(c + "\u0336" for c in text),
        lambda text: text.replace("e", "é").replace("i", "ï"),
        lambda text: "".join(f"&#{ord(c)};" for c in text),
        lambda text: f"<p>{text.replace(' ', '&nbsp;')}</p>",
        lambda text: f"**{text}**",
        lambda text: f'"{text}"!!!',
    ],
)
def test_disguises_make_no_difference(change: object) -> None:
    assert callable(change)
    lost = [text for text in FOUND if not check(change(text)).crisis]
    # Capitals, blanks and the like lose nothing; a look-alike or a lost apostrophe may cost one in a hundred.
    assert len(lost) <= len(FOUND) // 100, lost


@given(st.sampled_from(FOUND), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_invisible_letters_and_case_anywhere(text: str, chance: random.Random) -> None:
    out = []
    for char in text:
        out.append(chance.choice((char, char.upper(), char.lower())))
        if chance.random() < 0.3:
            out.append(chance.choice("\u200b\u200c\u200d\u2060\u00ad\ufeff\u034f"))
        if char == " " and chance.random() < 0.5:
            out.append(chance.choice("  \u00a0\u2003\u3000\t"))
    assert check("".join(out)).crisis


@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_a_statement_in_a_long_ordinary_text(place: str) -> None:
    assert not check(ORDINARY * 12).crisis
    for text in FOUND:
        whole = {
            "start": f"{text}. {ORDINARY * 4}",
            "middle": f"{ORDINARY * 3}{text}. {ORDINARY * 3}",
            "end": f"{ORDINARY * 4}{text}",
        }[place]
        assert check(whole).crisis, text


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a " * 50_000,
        "k i l l " * 12_500,
        "not " * 25_000,
        "i want to " * 10_000,
        "dying to see you " * 6_000,
        "i am not suicidal. " * 5_500,
        "<a " * 33_000,
        "&amp;" * 20_000,
        "k*l " * 25_000,
        "\u200b" * 100_000,
        "a\u0301" * 50_000,
        "我想" * 50_000,
        "न्मु" * 30_000,
        "لا أريد أن " * 8_000,
        "می نمی " * 12_000,
        "ושה" * 30_000,
        "আমি না থাকলে " * 6_000,
        "1!" * 50_000,
        " ".join(f"w{n}x" for n in range(15_000)),
    ],
    ids=lambda text: text[:8],
)
def test_time_is_linear_in_hostile_text(text: str) -> None:
    """Ten times the text may cost about ten times the time: in CPU time, since other work shares the machine."""
    short = _seconds(text[: len(text) // 10])
    whole = _seconds(text)
    if whole >= 40 * short + 0.2:  # a machine that was slow for a moment is so once
        short, whole = max(short, _seconds(text[1 : len(text) // 10])), min(whole, _seconds(text[1:]))
    assert whole < 3
    assert whole < 40 * short + 0.2
    assert not check(text).crisis


def _seconds(text: str) -> float:
    begin = time.process_time()
    check(text)
    return time.process_time() - begin
