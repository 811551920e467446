"""A reply that misses its message: noted and rated lower, while replies that answer stay as they are.

The messages and replies here are of no set that trains or calibrates the marks.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.evaluation.evaluate_relevance import MET_WITH, PLAIN_NEWS
from heard.scorer.head import Head
from heard.scorer.relevance import FILE, LEAST, LOOKED_BACK, Relevance, kept
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer
from heard.scorer.shared_emotion import implied_emotion
from heard.scorer.training.data import MESSAGES
from heard.scorer.training.example import rows_of
from heard.scorer.training.train_relevance import OUTLOOKS

FOLDER = HEADS / DEFAULT_HEAD

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


PLAIN_BAD = (
    "My dog died.", "My dog died yesterday.", "My grandmother died this morning.", "My mother has cancer.",
    "My mum just got diagnosed with cancer.", "I lost my job today.", "I just lost my job.",
    "I got fired this morning.", "I failed my final exam again.", "I failed the bar exam.",
    "My girlfriend broke up with me last night.", "My husband left me.", "My wife wants a divorce.",
    "I had a miscarriage last week.", "I can't stop crying.", "I feel so lonely lately.", "Nobody likes me.",
    "I feel worthless.", "My house was broken into.", "I crashed my car on the way to work.",
    "I'm being bullied at school.", "My best friend stopped talking to me.", "I didn't get into my dream college.",
    "I was rejected again.", "My son is in the hospital.", "My father had a heart attack last night.",
    "I am so stressed about money.", "I'm getting evicted next week.", "I had a terrible day at work.",
    "I'm really anxious about my surgery.", "My cat ran away and I can't find her.", "I lost the baby.",
    "My brother was in an accident.", "I'm failing all my classes.", "My boyfriend cheated on me.",
    "Everyone forgot my birthday.", "I relapsed last night.", "I hate myself for what I did.",
    "My boss humiliated me in front of everyone.", "I'm so tired of being in pain.",
)  # fmt: skip
PLAIN_GOOD = (
    "I got the job!", "I got promoted today!", "I passed my exam!", "I passed my driving test.",
    "I got accepted into my dream university.", "I just got engaged!", "We're having a baby!",
    "My daughter was born last night.", "I got my first paycheck today.", "My cancer is in remission.",
    "My son took his first steps today.", "I finished my first marathon!", "I won the competition!",
    "We bought our first house.", "I graduated with honors.", "My best friend is coming to visit.",
    "I finally finished my thesis.", "My test results came back negative, I'm healthy.",
    "I'm one year sober today.", "I made a new friend at school.", "My team won the championship.",
    "I got a scholarship.", "My dad is coming home from the hospital.", "I published my first book.",
    "I adopted a puppy today!", "She said yes!", "I'm getting married in June!", "I had the best day ever.",
    "I got a raise.", "My boyfriend proposed to me.",
)  # fmt: skip


@pytest.mark.parametrize(
    ("messages", "fitting", "contrary"), [(PLAIN_BAD, "sorrow", "joy"), (PLAIN_GOOD, "joy", "sorrow")]
)
def test_plain_news_of_a_few_words_is_told_good_or_bad(
    scorer: Scorer, messages: tuple[str, ...], fitting: str, contrary: str
) -> None:
    def noted(feeling: str) -> float:
        return float(np.mean([bool(scorer.score(m, r).notes) for m in messages for r in MET_WITH[feeling]]))

    assert noted(contrary) >= 0.75
    assert noted(fitting) <= 0.02


def test_what_the_marks_are_measured_by_is_not_among_what_they_learnt() -> None:
    learnt = {_letters(row["message"]) for path in (OUTLOOKS, MESSAGES) for row in rows_of(path)}
    measured = {_letters(row["message"]) for row in rows_of(PLAIN_NEWS)}
    assert len(measured) == 80
    assert not learnt & measured
    assert not learnt & {_letters(message) for message in (*PLAIN_BAD, *PLAIN_GOOD, *FEW_WORDS)}


def _letters(message: str) -> str:
    return " ".join("".join(c for c in message.lower() if c.isalnum() or c.isspace()).split())


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
    assert implied_emotion(reply) == taken


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
        Relevance.load(tmp_path / FILE, file_sha256(tmp_path / FILE))
    (tmp_path / FILE).unlink()
    with pytest.raises(ScorerError, match=r"answering\.safetensors cannot be read\. Restore it"):
        Head.load(tmp_path)
    whole = load_file(FOLDER / FILE)
    save_file({**whole, "topic": np.zeros(7, np.float32)}, tmp_path / FILE)
    with pytest.raises(ScorerError, match="does not hold what marks replies"):
        Relevance.load(tmp_path / FILE, file_sha256(tmp_path / FILE))
    save_file({**whole, "outlook": whole["outlook"][:-384]}, tmp_path / FILE)
    other = Relevance.load(tmp_path / FILE, file_sha256(tmp_path / FILE))
    with pytest.raises(ScorerError, match="of another encoder or another head"):
        other.check_width(384, 3 * 384)


def test_what_is_stored_is_small_and_holds_no_text() -> None:
    path = FOLDER / FILE
    assert path.stat().st_size < 250_000
    size = int.from_bytes(path.read_bytes()[:8], "little")
    assert set(json.loads(path.read_bytes()[8 : 8 + size])) == {"bank", "general", "topic", "outlook", "joy", "sorrow"}
