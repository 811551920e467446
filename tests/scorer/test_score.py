"""The Scorer on real weights: never raises, always on the scale, deterministic, and in a sane order."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heard.scorer.errors import ScorerError
from heard.scorer.records import COMPONENTS, EmpathyScore, ScoreStatus
from heard.scorer.score import DEFAULT_HEAD, HEADS, MOST_TOKENS, Scorer
from heard.scorer.training.data import project_set
from tests.scorer.pairs import PAIRS

REPLIES = [
    "I'm so sorry to hear that. It sounds like you feel really alone with this. Would you like to tell me more?",
    "Have you tried writing it down before you sleep? It helps to get it out of your head.",
    "That sucks, but you'll be fine.",
    "It makes sense that you're angry, after everything you did for her and not one word of thanks.",
    "Congratulations, I'm really happy for you!",
]


def empathy(scorer: Scorer, text: str) -> float:
    value = scorer.score("", text).empathy
    assert value is not None, text
    return value


def check(score: EmpathyScore) -> None:
    values = [getattr(score, name) for name in COMPONENTS]
    if score.status is ScoreStatus.SCORED:
        assert all(1 <= value <= 3 for value in values)
        assert score.reason is None
    else:
        assert values == [None, None, None]
        assert score.reason


@given(reply=st.text(max_size=200), seeker=st.text(max_size=50))
@settings(max_examples=150, deadline=None)
def test_any_two_strings_give_a_status(scorer: Scorer, reply: str, seeker: str) -> None:
    check(scorer.score(seeker, reply))


ODD_WORDS = ["I", "am so", "sorry", "you feel", "how", "why", "1", "?", "😀", "<b>", "**", "\ud800", "\u200b", "но"]


@given(st.lists(st.sampled_from(ODD_WORDS), max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_mix_of_words_gives_a_status(scorer: Scorer, words: list[str]) -> None:
    check(scorer.score("", " ".join(words)))


def test_the_same_text_gives_the_same_numbers_from_many_threads(scorer: Scorer) -> None:
    alone = [scorer.score("", reply) for reply in REPLIES]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda reply: scorer.score("", reply), REPLIES * 12))
    assert together == alone * 12
    assert scorer.score_many([("hello", reply) for reply in REPLIES]) == alone


def test_a_second_scorer_gives_the_same_numbers(scorer: Scorer, encoder_folder: Path) -> None:
    other = Scorer.load(HEADS / DEFAULT_HEAD, encoder_folder, threads=2)
    for reply in REPLIES:
        assert empathy(other, reply) == pytest.approx(empathy(scorer, reply), abs=1e-4)


def test_the_record_names_what_scored_it(scorer: Scorer) -> None:
    score = scorer.score("", REPLIES[0])
    assert score.head_name == "both"
    assert score.head_sha256 == scorer.head.file.weights_sha256
    assert score.encoder_sha256 == scorer.encoder.sha256
    assert len(score.head_sha256) == len(score.encoder_sha256) == 64


def test_a_640_token_reply_is_scored_and_its_warmth_is_not_lost(scorer: Scorer) -> None:
    plain = [example.reply for example in project_set() if example.style == "clinical"]
    half = len(plain) // 4
    before, after = " ".join(plain[:half]), " ".join(plain[half : 2 * half])
    long = f"{before} {REPLIES[0]} {after}"
    assert 640 < len(scorer.encoder.ids(long)) < MOST_TOKENS
    assert empathy(scorer, long) > empathy(scorer, f"{before} {after}")


def test_a_loop_has_no_score(scorer: Scorer) -> None:
    loop = "The form has several pages and each of them asks for the same address again. " * 22
    assert scorer.score("", loop).status is ScoreStatus.INCOHERENT


def test_a_longer_text_than_any_reply_is_not_scored(scorer: Scorer) -> None:
    score = scorer.score("", "I hear you, and I am here. " * 400)
    assert score.status is ScoreStatus.TOO_LONG
    check(score)


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_better_reply_of_a_pair_gets_the_higher_score(scorer: Scorer, component: str) -> None:
    """Pairs that no head has seen. Most, not all: the bound is what this head does, less a little."""
    pairs = PAIRS[component]
    assert len(pairs) >= 25
    wrong = [
        better
        for better, worse in pairs
        if getattr(scorer.score("", better), component) <= getattr(scorer.score("", worse), component) + 0.1
    ]
    assert len(wrong) <= 3, wrong


@pytest.mark.parametrize(
    "dismissal",
    [
        "Just get over it.", "Just get over it already, it's not a big deal.", "Get over it, you'll be fine.",
        "Stop crying and grow up.", "You're overreacting, calm down.", "Others have it much worse than you.",
    ],
)  # fmt: skip
def test_a_dismissal_is_not_warm(scorer: Scorer, dismissal: str) -> None:
    score = scorer.score("My dog died.", dismissal)
    assert score.emotional is not None
    assert score.emotional < 1.8


def test_advice_counts_as_behaviour(scorer: Scorer) -> None:
    bare = scorer.score("", "I'm sorry that work is so hard right now.")
    advice = scorer.score(
        "",
        "I'm sorry that work is so hard. You could ask your manager for one day at home, and block your lunch hour.",
    )
    assert bare.behavioral is not None
    assert advice.behavioral is not None
    assert advice.behavioral > bare.behavioral + 0.3


def test_an_assistants_warm_reply_is_not_rated_below_a_persons(scorer: Scorer) -> None:
    person = ["Oh no, I'm so sorry. That must hurt so much.", "Ugh, that's awful. I feel so bad for you."]
    assistant = [
        "I'm so sorry you're going through this. It sounds incredibly painful, and it makes sense that you feel hurt. "
        "Would you like to share more about what happened?",
        "That must feel overwhelming, and I'm glad you told me. Your feelings are valid. What has been hardest so far?",
    ]
    means = [fmean(empathy(scorer, text) for text in texts) for texts in (assistant, person)]
    assert means[0] >= means[1]


PERTURBATIONS = {
    "letters and signs": lambda text: text.replace("so", "sooooo").replace("!", "!!!!").replace(".", "....."),
    "Greek letters": lambda text: text.translate(str.maketrans("aeiouvpk", "αειουνρκ")),
    "Cyrillic letters": lambda text: text.translate(str.maketrans("aeocpxy", "аеосрху")),
    "leetspeak": lambda text: text.translate(str.maketrans("aeios", "43105")),
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "HTML": lambda text: f"<div class='a'><p>{text}</p><br/></div>",
    "Markdown": lambda text: f"> **{text}**",
    "zero width": lambda text: "\u200b".join(text),
    "curly quotes": lambda text: text.replace("'", "’"),
    "capitals": str.upper,
    "one typo": lambda text: text.replace("sounds", "sonuds").replace("sorry", "sory").replace("because", "becuase"),
}


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_disguises_hardly_move_the_score(scorer: Scorer, name: str) -> None:
    changes = [abs(empathy(scorer, PERTURBATIONS[name](reply)) - empathy(scorer, reply)) for reply in REPLIES]
    assert sum(changes) / len(changes) <= 0.08, changes


def test_a_head_for_another_encoder_is_refused(tmp_path: Path, encoder_folder: Path) -> None:
    import shutil

    folder = tmp_path / "default"
    shutil.copytree(HEADS / DEFAULT_HEAD, folder)
    text = (folder / "head.toml").read_text()
    (folder / "head.toml").write_text(text.replace('encoder_sha256 = "53aa', 'encoder_sha256 = "ffff'))
    with pytest.raises(ScorerError, match="not the one asked for"):
        Scorer.load(folder, encoder_folder)
