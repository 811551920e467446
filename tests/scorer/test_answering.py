"""A reply that misses its message: noted and rated lower, while replies that answer stay as they are.

The messages and replies here are of no set that trains or calibrates the marks.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from scorer.answering import FILE, LEAST, LOOKED_BACK, Answering, kept
from scorer.errors import ScorerError
from scorer.files import file_sha256
from scorer.head import Head
from scorer.score import HEADS, Scorer
from scorer.tone import leaning

FOLDER = HEADS / "default"

OFF_TOPIC = (
    (
        "My rabbit died this morning and the hutch is empty. I keep listening for her.",
        "Job interviews make everybody nervous, so please don't be hard on yourself. Which question worries you most? "
        "We could practise your answers together before Thursday.",
    ),
    (
        "I have to tell my parents that I lost my apprenticeship and I feel sick.",
        "Running that distance in the heat takes real courage, and your training will carry you to the finish. How do "
        "your legs feel after the long run on Sunday?",
    ),
    (
        "My best friend is moving to another continent next week.",
        "A leaking roof is miserable, especially in winter. Take photographs of the damp patches and write to your "
        "landlord, because he has to have it repaired.",
    ),
)
PASSED = "I passed my final exam! I can't believe it, I'm so happy!"
LOST = "I lost my job today and I don't know how to pay the rent."
MISREAD = (
    (PASSED, "I'm so sorry to hear that. That must be really hard for you."),
    ("Our daughter was born last night, healthy and loud!", "My condolences. I'm so sorry for your loss."),
    ("My mother died last night. I don't know how to go on.", "That's wonderful news! Congratulations!"),
    (LOST, "Congratulations, how exciting! You must be so proud."),
)
ANSWERED = (
    (
        OFF_TOPIC[0][0],
        "I'm so sorry about your rabbit. The quiet of that hutch must be hard to bear. What was she like?",
    ),
    (PASSED, "Congratulations! All that work has paid off. How will you celebrate?"),
    (LOST, "That is frightening. How long would your savings last?"),
    (OFF_TOPIC[2][0], "Oh, that hurts. You will miss having her near. When does she leave?"),
    ("I feel like nobody listens to me at home.", "It sounds lonely to talk and not be heard."),
    ("I feel like nobody listens to me at home.", "I'm here."),
)


@pytest.mark.parametrize(("message", "reply"), OFF_TOPIC)
def test_a_reply_to_another_message_is_noted_and_rated_lower(scorer: Scorer, message: str, reply: str) -> None:
    there, alone = scorer.score(message, reply), scorer.score("", reply)
    assert there.notes == ("off_topic",)
    assert alone.notes == ()
    assert there.empathy is not None
    assert alone.empathy is not None
    assert there.empathy - 1 == pytest.approx(LEAST * (alone.empathy - 1), abs=1e-3)
    assert there.intervals["empathy"][0] <= there.empathy <= there.intervals["empathy"][1]


@pytest.mark.parametrize(("message", "reply"), MISREAD)
def test_joy_over_bad_news_and_sorrow_over_good_are_noted(scorer: Scorer, message: str, reply: str) -> None:
    there, alone = scorer.score(message, reply), scorer.score("", reply)
    assert there.notes == ("misread",)
    assert there.empathy is not None
    assert alone.empathy is not None
    assert there.empathy - 1 == pytest.approx(LEAST * (alone.empathy - 1), abs=1e-3)


@pytest.mark.parametrize(("message", "reply"), ANSWERED)
def test_a_reply_that_answers_is_left_alone(scorer: Scorer, message: str, reply: str) -> None:
    there, alone = scorer.score(message, reply), scorer.score("", reply)
    assert there.notes == ()
    assert there.empathy == alone.empathy


KIND = (
    "I'm so sorry you're going through this. I'm here for you.",
    "That sounds really hard. I'm here to listen.",
    "Thank you for telling me. How are you feeling about it now?",
    "I hear you. That's a lot to carry, and it's okay to feel what you feel. Would you like to tell me more?",
    "Oh no, I'm so sorry. What happened?",
)
FEW_WORDS = (
    "I failed my exam.", "My dog died.", "I got fired.", "nobody likes me", "My mum is ill", "I lost my keys",
    "We broke up.", "I was not invited to the wedding", "My car was stolen", "I hate my job",
)  # fmt: skip


def test_general_kind_words_answer_a_message_of_a_few_words(scorer: Scorer) -> None:
    noted = [(message, reply) for message in FEW_WORDS for reply in KIND if scorer.score(message, reply).notes]
    assert len(noted) <= 0.04 * len(FEW_WORDS) * len(KIND), noted


def test_a_reply_may_come_back_to_what_was_said_before(scorer: Scorer) -> None:
    told = OFF_TOPIC[0][0]
    reply = "Rabbits have such characters. What was yours like, and did she come when you called her to the hutch?"
    now = "It is raining here today."
    assert scorer.score(now, reply).notes == ("off_topic",)
    assert scorer.score(now, reply, [told]).notes == ()
    assert scorer.score(now, reply, [told, "yes", "no", "ok"]).notes == ()
    long_ago = [told, *["My phone is almost empty."] * (LOOKED_BACK - 1)]
    assert scorer.score(now, reply, long_ago).notes == ("off_topic",)


@pytest.mark.parametrize(
    "message",
    ["", "ok", "thank you", "😢😢", "Ich habe heute meine Arbeit verloren und weiß nicht weiter.", "x" * 50_000],
)
def test_where_the_message_says_nothing_nothing_is_noted(scorer: Scorer, message: str) -> None:
    assert scorer.score(message, OFF_TOPIC[0][1]).notes == ()


def test_it_sinks_in_a_line_to_what_is_left() -> None:
    assert [kept(doubt) for doubt in (-np.inf, -3, 0, 1, 5)] == pytest.approx([1, 1, 1, LEAST, LEAST])
    assert kept(0.5) == pytest.approx((1 + LEAST) / 2)


def test_a_long_message_costs_no_more_than_a_short_one_of_the_same_beginning(scorer: Scorer) -> None:
    message, reply = MISREAD[0]
    assert scorer.score(message + " And so on." * 2_000, reply).notes in ((), ("misread",))


@pytest.mark.parametrize(
    ("reply", "taken"),
    [
        ("Congratulations!", "joy"),
        ("How lovely, enjoy every minute!", "joy"),
        ("I'm sorry, what a blow.", "sorrow"),
        ("Hang in there, things will get better.", "sorrow"),
        ("I'm happy to help. What happened then?", "neither"),
        ("I'm so glad you made it, and sorry that it was so hard.", "both"),
    ],
)  # fmt: skip
def test_what_a_reply_takes_the_news_for(reply: str, taken: str) -> None:
    assert leaning(reply) == taken


def test_a_head_without_the_marks_still_scores(encoder_folder: Path, tmp_path: Path, scorer: Scorer) -> None:
    for path in FOLDER.iterdir():
        if path.name != FILE:
            lines = path.read_bytes()
            (tmp_path / path.name).write_bytes(lines)
    toml = tmp_path / "head.toml"
    toml.write_text("".join(line for line in toml.read_text().splitlines(True) if not line.startswith("answering")))
    bare = Scorer.load(tmp_path, encoder_folder)
    message, reply = OFF_TOPIC[0]
    assert bare.score(message, reply).notes == ()
    assert bare.score(message, reply).empathy == scorer.score("", reply).empathy


def test_a_missing_damaged_or_foreign_file_is_named(tmp_path: Path) -> None:
    for path in FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / FILE).write_bytes(b"no")
    with pytest.raises(ScorerError, match=r"its sha256 differs"):
        Head.load(tmp_path)
    with pytest.raises(ScorerError, match=r"answering\.safetensors is damaged"):
        Answering.load(tmp_path / FILE, file_sha256(tmp_path / FILE))
    (tmp_path / FILE).unlink()
    with pytest.raises(ScorerError, match=r"answering\.safetensors cannot be read\. Restore it"):
        Head.load(tmp_path)
    whole = load_file(FOLDER / FILE)
    save_file({**whole, "topic": np.zeros(7, np.float32)}, tmp_path / FILE)
    with pytest.raises(ScorerError, match="does not hold what marks replies"):
        Answering.load(tmp_path / FILE, file_sha256(tmp_path / FILE))
    save_file({**whole, "outlook": whole["outlook"][:-384]}, tmp_path / FILE)
    other = Answering.load(tmp_path / FILE, file_sha256(tmp_path / FILE))
    with pytest.raises(ScorerError, match="of another encoder or another head"):
        other.check_width(384, 3 * 384)


def test_what_is_stored_is_small_and_holds_no_text() -> None:
    path = FOLDER / FILE
    assert path.stat().st_size < 250_000
    size = int.from_bytes(path.read_bytes()[:8], "little")
    assert set(json.loads(path.read_bytes()[8 : 8 + size])) == {"bank", "general", "topic", "outlook", "joy", "sorrow"}
