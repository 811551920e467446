"""The reading of a message: what it says of plain cases, what it does with others, and a classifier trained anew."""

import re
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from heard.scorer.emotion import (
    DEFAULT,
    EMOTIONS,
    MOST_PARTS,
    UNCLEAR,
    UNSURE,
    EmotionFile,
    EmotionReader,
    parts,
    pooled,
)
from heard.scorer.encoder import Encoder
from heard.scorer.errors import ScorerError
from heard.scorer.training.data import MESSAGES
from heard.scorer.training.train_emotion import read_messages, train_emotion_reader

CARD = DEFAULT / "CARD.md"


@pytest.fixture(scope="module")
def reader(weights: Weights) -> EmotionReader:
    file = EmotionFile.load(DEFAULT)
    return EmotionReader(file, lambda: Encoder.load(weights.encoder, file.layers, sha256=file.encoder_sha256))


@pytest.mark.parametrize(
    ("message", "emotion"),
    [
        ("I'm so angry with my brother, he lied to me again.", "anger"),
        ("Hi, can we talk?", "neutral"),
        ("I'm so nervous about the exam tomorrow.", "anxiety"),
        ("I can't get out of bed, everything is grey and pointless.", "depression"),
        ("My grandmother died last week and I miss her.", "sadness"),
        ("I was so embarrassed when everyone saw what I had done.", "shame"),
        ("I passed the exam and we danced in the street, I'm so happy!", "joy"),
    ],
)
def test_plain_cases_are_read_as_what_they_say(reader: EmotionReader, message: str, emotion: str) -> None:
    assert reader.read(message).emotion == emotion


def test_the_cause_is_a_part_of_the_message(reader: EmotionReader) -> None:
    message = "Hello there. It is Tuesday today. I'm so nervous about the exam tomorrow. The sky is blue."
    found = reader.read(message)
    assert found.cause == "I'm so nervous about the exam tomorrow."
    assert found.named == "anxiety"


@pytest.mark.parametrize("message", ["", "   ", "😀😀", "Mein Hund ist gestern gestorben und ich bin sehr traurig."])
def test_what_cannot_be_read_is_unclear_and_never_a_guess(reader: EmotionReader, message: str) -> None:
    found = reader.read(message)
    assert (found.emotion, found.probability, found.named) == (UNCLEAR, 0.0, UNCLEAR)


def test_a_guess_says_that_it_is_one(reader: EmotionReader) -> None:
    found = [reader.read(text) for text in read_messages().texts[-40:]]
    guesses = [one for one in found if one.probability < UNSURE]
    assert guesses
    assert all(one.named == f"unclear, perhaps {one.emotion}" for one in guesses)
    assert all(one.named == one.emotion for one in found if one.probability >= UNSURE)


def test_long_messages_have_a_bounded_number_of_parts(reader: EmotionReader) -> None:
    message = "I lost my keys. " * 3000
    assert len(parts(message)) == MOST_PARTS
    assert reader.read(message).emotion in EMOTIONS


def test_its_weights_are_those_that_its_file_names(tmp_path: Path) -> None:
    for name in ("reading.toml", "weights.safetensors"):
        (tmp_path / name).write_bytes((DEFAULT / name).read_bytes())
    EmotionFile.load(tmp_path)
    (tmp_path / "weights.safetensors").write_bytes(b"x")
    with pytest.raises(ScorerError, match="does not belong"):
        EmotionFile.load(tmp_path)
    with pytest.raises(ScorerError, match=r"There is no reading\.toml in"):
        EmotionFile.load(tmp_path / "none")


def test_every_fault_of_its_file_is_named(tmp_path: Path) -> None:
    text = (DEFAULT / "reading.toml").read_text()
    for old, new in (("title", "titel"), ("[1, 3, 3.5]", "[1, true]"), ('"joy"', '"glee"')):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "reading.toml").write_text(text)
    with pytest.raises(ScorerError) as caught:
        EmotionFile.load(tmp_path)
    said = str(caught.value)
    assert "title is missing." in said
    assert 'unknown key "titel". Did you mean title?' in said
    assert "layers.2 must be a number, not true." in said
    assert f"emotions must be {', '.join(EMOTIONS)}, in this order." in said


def test_an_encoder_of_another_width_is_refused(weights: Weights) -> None:
    reader = EmotionReader(EmotionFile.load(DEFAULT), lambda: Encoder.load(weights.encoder, [1]))
    with pytest.raises(ScorerError, match="heard train-reading"):
        reader.read("I'm so nervous about the exam tomorrow.")


def test_training_again_gives_a_reading_that_knows_its_messages(tmp_path: Path, weights: Weights) -> None:
    data = tmp_path / "few.csv"
    lines = [
        line for line in MESSAGES.read_text(encoding="utf-8").splitlines() if not line.startswith(("part", "chat"))
    ]
    few = [line for at, line in enumerate(lines) if at % 5 == 0]
    data.write_text("\n".join(["part,emotion,message", *few]) + "\n", encoding="utf-8")
    figures = train_emotion_reader(data, weights.encoder, tmp_path / "out", lambda *_: None)
    assert f"right, of {len(few)} messages" in figures
    file, messages = EmotionFile.load(tmp_path / "out"), read_messages(data)
    encoder = Encoder.load(weights.encoder, file.layers)
    said = [int((file.weights @ pooled(encoder, text) + file.bias).argmax()) for text in messages.texts]
    assert sum(one == right for one, right in zip(said, messages.labels, strict=True)) / len(said) > 0.9


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("emotion,message\njoy,Hooray\nhope,I hope\n", "line 3: each row needs a message and an emotion of anger"),
        ("emotion,message\njoy,\n", "line 2"),
        ("text\nx\n", "line 2"),
        ("emotion,message\njoy,Hooray\n", "fewer than 5 messages of anger"),
    ],
)
def test_a_faulty_file_of_messages_says_which_line(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "m.csv").write_text(content, encoding="utf-8")
    with pytest.raises(ScorerError, match=re.escape(words)):
        read_messages(tmp_path / "m.csv")


def test_the_card_counts_what_the_reading_learnt_from() -> None:
    messages, card = read_messages(), CARD.read_text(encoding="utf-8")
    assert f"{len(messages.texts)} messages with one emotion each" in card
    for part in ("made", "named", "neutral", "chat"):
        assert f'right, part "{part}" ({messages.parts.count(part)})' in card
