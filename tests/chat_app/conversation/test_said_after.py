"""What people say after a hand-off, with the real encoder, and what is said back."""

from pathlib import Path

import pytest

from heard.chat_app.conversation.said_after import SaidAfter, SupportReaders, ends_support
from heard.prompts.safety_turn_files import AfterHandoff, Question, load_after_handoff, load_check_in, load_recovery
from heard.scorer.vectors import Vectors
from tests.chat_app.conversation.test_bot_questions import vectors

__all__ = ["vectors"]  # a fixture of questions about the bot

ENGLISH = load_after_handoff()["en"]
SAID = {
    "hung_up": ["i called but hung up", "rang them but i couldnt say a word"],
    "cut_off": ["they put me on hold", "no one picked up", "they hung up on me", "busy tone again"],
    "bad_call": ["it didnt help", "they were useless", "that woman was reading from a script"],
    "alone": ["ok. i just feel so alone"],
    "not_safe": ["i am not safe", "no, i'm not safe", "im scared of what i might do"],
    "safe": ["yes im safe", "I'm safe now.", "yeah i'm ok, i'm safe", "im with my sister and i'm safe"],
    "somebody": ["my sister is coming", "i texted my friend", "my husband just came home", "i woke up my dad"],
    "nobody": ["i dont have any friends", "everybody is sleeping", "no one would come anyway", "nobody cares"],
    "thanks": ["thanks", "ty"],
    "anger": ["fuck you", "leave me alone", "you dont understand", "stop telling me to call"],
    "silence": ["k", "ok", "idk", "whatever", "no", "yes"],
    "wont_call": ["i dont wanna call", "i cant do phone calls", "i hate talking to strangers", "i dont have a phone"],
    "will_call": ["ok i'll call", "calling now"],
    "called": ["i talked to a lady, she was nice", "i called and talked for 20 min"],
    "fear": ["they'll just send cops", "will this go on my record"],
    "away": ["i flushed them", "i put them away"],
    "to_say": ["what do i even say", "what number"],
    "who": ["are you a bot", "this is automated isnt it"],
    "stay": ["can we just talk", "please dont go", "are you there"],
    "sorry": ["sorry", "im so embarrassed"],
    "mistaken": ["lol i was joking", "thats not what i meant", "i'm not suicidal, i just hate my job"],
    "about_other": ["its not me its my best friend", "i was talking about my brother"],
    "pain": ["it hurts", "i cant stop crying", "im exhausted"],
    "unclear": ["what should i cook tonight", "work was stressful today", ""],
}  # fmt: skip
NEVER_SAFE = [
    "i'm not safe", "i wish i was safe", "im safe i guess", "am i safe here", "if i'm safe is another question",
    "i don't feel safe", "safe for now but not for long", "im never safe", "i am not joking", "i'm not kidding",
]  # fmt: skip


@pytest.fixture(scope="module")
def english(vectors: Vectors, tmp_path_factory: pytest.TempPathFactory) -> SaidAfter:
    return SupportReaders(lambda: vectors, tmp_path_factory.mktemp("said")).of("en")


@pytest.mark.parametrize(("intent", "text"), [(intent, text) for intent, texts in SAID.items() for text in texts])
def test_what_is_said_is_read(english: SaidAfter, intent: str, text: str) -> None:
    assert english.intent(text, None) == intent


@pytest.mark.parametrize("text", NEVER_SAFE)
def test_nobody_is_taken_for_safe_who_does_not_say_so(english: SaidAfter, text: str) -> None:
    for asked in (None, "safe"):
        assert not ends_support(english.intent(text, asked)), text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "text", "intent"),
    [
        ("safe", "yes", "safe"), ("safe", "No.", "not_safe"), ("safe", "no, not really", "not_safe"),
        ("safe", "yes, i think so", "silence"), ("person", "yes", "somebody"), ("person", "no", "nobody"),
        ("person", "yes my brother", "somebody"), ("person", "no they are asleep", "nobody"),
        ("call", "yeah", "will_call"),
        ("call", "nope", "wont_call"), ("call", "i can't", "wont_call"), ("safe", "they put me on hold", "cut_off"),
    ],
)  # fmt: skip
def test_a_bare_yes_or_no_answers_the_last_question(
    english: SaidAfter, asked: Question, text: str, intent: str
) -> None:
    assert english.intent(text, asked) == intent


def test_any_text_is_taken(english: SaidAfter) -> None:
    for text in ("\ud800", "🙂" * 900, "[" * 3000, " ", "\n" * 50):
        assert english.intent(text, "safe") in ENGLISH.intents


def test_without_an_encoder_the_patterns_answer() -> None:
    reader = SupportReaders().of("en")
    assert reader.intent("i called but hung up", None) == "hung_up"
    assert reader.intent("the whole thing is beyond me tonight", None) == "unclear"
    assert SupportReaders().of("xx") is not None


def every_text(texts: AfterHandoff) -> list[str]:
    return [text.says for intent in texts.intents.values() for text in intent.texts]


def test_a_given_text_is_known_again_with_any_numbers() -> None:
    reader = SupportReaders().of("en")
    for intent in ENGLISH.intents.values():
        for text in intent.texts:
            said = text.says.replace("{numbers}", "call 116 123").replace("{emergency}", "call 112")
            assert reader.text_of(said) == text
    assert reader.text_of("Hello.") is None


def test_there_are_enough_texts_and_each_is_short_true_and_asks_no_detail() -> None:
    texts = [*every_text(ENGLISH), *load_recovery()["en"], *load_check_in()["en"].thanks]
    assert len(every_text(ENGLISH)) >= 60
    page = (Path(__file__).parents[3] / "docs" / "remembering.md").read_text(encoding="utf-8")
    assert f"one of {len(every_text(ENGLISH))} written texts" in page
    assert f"which of {len(ENGLISH.intents)} things" in page
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert len(text) <= 260, text
        for word in (
            "promise",
            "will get better",
            "how would you",
            "which pills",
            "i feel you",
            "as a human",
            "therapist",
        ):
            assert word not in text.casefold(), text
    asked = {text.asks for intent in ENGLISH.intents.values() for text in intent.texts}
    assert asked == {"safe", "person", "call", None}
    for intent in ENGLISH.intents.values():
        for text in intent.texts:
            assert text.asks is None or text.says.rstrip('"').endswith("?") or "?" in text.says, text
