"""Which messages are questions about the bot, with the real encoder: on the half of the cases that chose nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from heard.chat_app.conversation.bot_questions import BotQuestions
from heard.chat_app.conversation.question_text import LONGEST, MOST_WORDS, ClauseReader
from heard.chat_app.models.downloads import Weights
from heard.prompts.bot_answer_files import bot_question_words, read_bot_answers
from heard.prompts.library import BUILT_IN
from heard.scorer.emotion import DEFAULT, EmotionFile
from heard.scorer.encoder import Encoder
from heard.scorer.vectors import Vectors

CASES = Path(__file__).parents[2] / "bot_questions"
POSITIVES: dict[str, list[str]] = yaml.safe_load((CASES / "positives.yaml").read_text(encoding="utf-8"))
NEGATIVES: dict[str, list[str]] = yaml.safe_load((CASES / "negatives.yaml").read_text(encoding="utf-8"))
HELD_OUT = slice(1, None, 2)
ANSWERS = read_bot_answers(BUILT_IN / "bot_answers.yaml")


@pytest.fixture(scope="session")
def vectors(weights: Weights) -> Vectors:
    file = EmotionFile.load(DEFAULT)
    encoder = Encoder.load(weights.encoder, file.layers, sha256=file.encoder_sha256)
    return Vectors.load(encoder, weights.encoder, file.layers)


@pytest.fixture(scope="session")
def questions(vectors: Vectors, tmp_path_factory: pytest.TempPathFactory) -> BotQuestions:
    return BotQuestions(lambda: vectors, tmp_path_factory.mktemp("phrasings"))


def test_of_questions_in_other_words_most_are_found_and_of_other_messages_hardly_any(questions: BotQuestions) -> None:
    """The figures of docs/prompts.md."""
    asked = [(intent, text) for intent, texts in POSITIVES.items() for text in texts[HELD_OUT]]
    others = [text for texts in NEGATIVES.values() for text in texts[HELD_OUT]]
    for opening, fewest_found, fewest_right in ((True, 107, 103), (False, 104, 100)):
        found = [(intent, questions.intents(text, ANSWERS, opening=opening)) for intent, text in asked]
        assert sum(bool(got) for _, got in found) >= fewest_found
        assert sum(intent in got for intent, got in found) >= fewest_right
        assert len([text for text in others if questions.intents(text, ANSWERS, opening=opening)]) <= 2


def test_no_case_is_a_phrasing_of_the_file(questions: BotQuestions) -> None:
    known = {text for intent in ANSWERS.intents.values() for text in intent.phrasings}
    assert known & {text for texts in (*POSITIVES.values(), *NEGATIVES.values()) for text in texts} == set()
    assert sum(map(len, POSITIVES.values())) >= 250
    assert sum(map(len, NEGATIVES.values())) >= 300
    assert POSITIVES.keys() == ANSWERS.intents.keys()


@pytest.mark.parametrize(
    ("text", "intents"),
    [
        ("are you real", ("real",)),
        ("ARE YOU REAL???", ("real",)),
        ("r u a bot", ("real",)),
        ("hey, so.. r u a robot or what??", ("real",)),
        ("areee you reeeal", ("real",)),
        ("are you humna", ("real",)),
        ("who can read this??", ("readers",)),
        ("whats ur name", ("name",)),
        ("do u love me", ("love",)),
        ("are you a therapist?", ("therapist",)),
        ("are you a robot copying replies", ("scripted",)),
        ("What’s your name, and how old are you?", ("name", "life")),
        ("are you real? who reads this? what is your name?", ()),
        ("are you real with me rn my mum died", ()),
        ("my mum died. are you real?", ()),
        ("who are you to judge me", ()),
        ("he said do you love me", ()),
        ("what's your name was all he said", ()),
        ('she asked "are you real"', ()),
        ('"do you love me"', ()),
        ("do you think she loves me", ()),
        ("can you believe it", ()),
        ("are you serious", ()),
        ("my therapist left", ()),
        ("hello", ()),
        ("?!", ()),
        ("", ()),
        ("are you real " * 30, ()),
        ("Как тебя зовут?", ()),
    ],
)
def test_single_messages(questions: BotQuestions, text: str, intents: tuple[str, ...]) -> None:
    assert questions.intents(text, ANSWERS, opening=False) == intents


def test_what_names_nothing_counts_only_where_nothing_was_said_before(questions: BotQuestions) -> None:
    for text in ("is it free", "how much does it cost?"):
        assert questions.intents(text, ANSWERS, opening=True) == ("cost",)
        assert questions.intents(text, ANSWERS, opening=False) == ()
    assert questions.intents("is this chat free", ANSWERS, opening=False) == ("cost",)


def test_an_edited_file_holds_from_the_next_message_on(questions: BotQuestions) -> None:
    shoe = replace(ANSWERS.intents["name"], phrasings=("what is your shoe size",))
    edited = replace(ANSWERS, intents={**ANSWERS.intents, "shoes": shoe})
    assert questions.intents("whats ur shoe size", edited, opening=False) == ("shoes",)
    assert questions.intents("whats ur shoe size", ANSWERS, opening=False) != ("shoes",)


def test_a_kept_or_damaged_file_of_vectors_changes_nothing(vectors: Vectors, tmp_path: Path) -> None:
    few = replace(ANSWERS, intents={"real": ANSWERS.intents["real"]})

    def asked() -> tuple[str, ...]:
        return BotQuestions(lambda: vectors, tmp_path).intents("might you be a machine", few, opening=False)

    first = asked()
    assert first == ("real",)
    (kept,) = (tmp_path / "bot-questions").iterdir()
    written = kept.stat().st_mtime_ns
    assert asked() == first
    assert kept.stat().st_mtime_ns == written, "it is read and not made again"
    kept.write_bytes(b"damaged")
    assert asked() == first
    assert kept.stat().st_size > 1000


def test_long_messages_are_not_read() -> None:
    reader = ClauseReader(bot_question_words(), ["are you real"])
    assert reader.clauses("are you real") == [("are", "you", "real")]
    assert reader.clauses("a" * (LONGEST + 1)) == []
    assert reader.clauses("so " * (MOST_WORDS + 1)) == []
