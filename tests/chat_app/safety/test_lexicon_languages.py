"""The lexicons of Ukrainian, Indonesian, Vietnamese, Swedish and Greek: how words are read, and what is not hidden."""

import unicodedata
from pathlib import Path

import pytest

from heard.chat_app.safety.crisis_check import check
from heard.chat_app.safety.marked_words import MarkedWords
from heard.chat_app.safety.measure import load_cases

FOLDER = Path(__file__).parents[2] / "safety_cases"
CASES = [case for path in sorted(FOLDER.glob("languages_b*.jsonl")) for case in load_cases(path)]
STATEMENTS = {
    "uk": "хочу померти, думаю про самогубство",
    "id": "aku pengen mati, mau bunuh diri",
    "vi": "tôi muốn chết, muốn tự tử",
    "sv": "jag vill ta livet av mig",
    "el": "θέλω να πεθάνω, σκέφτομαι την αυτοκτονία",
}


@pytest.mark.parametrize("language", sorted(STATEMENTS))
def test_few_ordinary_sentences_raise_an_alarm(language: str) -> None:
    ordinary = [case for case in CASES if case.group == f"{language}.ordinary"]
    assert len(ordinary) >= 200
    assert sum(check(case.text).crisis for case in ordinary) / len(ordinary) < 0.02


@pytest.mark.parametrize("language", sorted(STATEMENTS))
def test_no_exception_hides_the_statement_after_it(language: str) -> None:
    harmless = [case.text for case in CASES if case.group.startswith(f"{language}.") and not case.crisis]
    hidden = [text for text in harmless if not check(f"{text.rstrip('.!?;')} {STATEMENTS[language]}").crisis]
    assert not hidden


@pytest.mark.parametrize(
    ("text", "language", "crisis"),
    [
        ("em muốn tự tử", "vi", True),
        ("em muốn từ từ tìm hiểu", "vi", False),
        ("em muon tu tu", "vi", True),
        (unicodedata.normalize("NFD", "em muốn tự tử"), "vi", True),
        (unicodedata.normalize("NFD", "EM SẼ TỪ  TỪ QUEN"), "vi", False),
        ("đi muộn chết mất", "vi", False),
        ("treo cờ trước nhà", "vi", False),
        ("Я вб'ю себе", "uk", True),
        ("Я вб\u2019ю себе", "uk", True),
        ("хочу померти", "uk", True),
        ("ΘΕΛΩ ΝΑ ΠΕΘΑΝΩ", "el", True),
        ("θα κόψω τις φλέβες μου", "el", True),
        ("8elw na pe8anw", "el", True),
        ("den thelo na zw allo", "el", True),
        ("jag vill do", "sv", True),
        ("jag inte längre vill leva", "sv", True),
        ("gue pgn bundir", "id", True),
        ("gol bunuh diri di menit akhir", "id", False),
    ],
)
def test_marks_apostrophes_and_latin_letters(text: str, language: str, crisis: bool) -> None:
    verdict = check(text)
    assert verdict.crisis is crisis
    assert verdict.language == (language if crisis else None)


@pytest.mark.parametrize("text", ["i have suicidal thoughts", "my husband is suicidal", "i self harm again"])
def test_english_stays_english(text: str) -> None:
    assert check(text).language == "en"


def test_marked_words_are_replaced_whole_and_in_any_form() -> None:
    words = MarkedWords({"tự tử": "tu sat"})
    assert words.replaced("Tự  Tử nhé") == "tu sat nhé"
    assert words.replaced(unicodedata.normalize("NFD", "tự tử")) == "tu sat"
    assert words.replaced("tự tửx") == "tự tửx"
    assert words.replaced("tu tu") == "tu tu"
    assert MarkedWords({}).replaced("tự tử") == "tự tử"
