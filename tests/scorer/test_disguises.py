"""Disguises are undone and clean text is left alone: words of these tests' own, and the default head's scores."""

import random
import re
from collections.abc import Callable

import pytest

from heard.scorer.evaluation.perturb import DISGUISES
from heard.scorer.score import Scorer
from heard.scorer.text import read

CLEAN = [
    "I'm so sorry that the adoption fell through. You had painted the room, and now you walk past it every day.",
    "It sounds like you're carrying your sister's secret alone. Would it help to decide together who could be told?",
    "That took courage. What did your coach say when you told her that you want to stop?",
    "You could ask the nurse for the quieter ward, and write down two questions before the visit at 10 am.",
    "Ugh, being left on read for three days is the worst. I'd be hurt too.",
    "You've been the reliable one since your dad left, so of course it stings when nobody asks how you are.",
    "Well done! I'm thrilled that the choir took you, after all those evenings of practice.",
    "No wonder you can't sleep: the bank wrote twice, your landlord called, and the baby is teething.",
    "I hear a lot of anger towards Marcus, and underneath it maybe some fear of losing him. Is that right?",
    "Try to eat something warm tonight. Tomorrow we can look at the letter from the school again, line by line.",
    "I don't think you're lazy. Since the burnout, even small things like answering mail cost you a whole afternoon.",
    "Thank you for telling me about the relapse. I'm not disappointed in you, and I'm still here.",
]
"""Replies written for these tests."""

MOVES = {
    "repetition": 0.03,
    "look-alikes": 0.03,
    "full-width": 0.03,
    "HTML": 0.03,
    "leetspeak": 0.05,
    "misspelling": 0.05,
}
"""How far Empathy may move on average under each of the disguises."""


def spaced(text: str, seed: int) -> str:
    return " ".join(text)


def spaced_words(text: str, seed: int) -> str:
    dice = random.Random(seed)
    return " ".join("-".join(word) if len(word) > 3 and dice.random() < 0.5 else word for word in text.split())


def markdown(text: str, seed: int) -> str:
    first, _, rest = text.partition(" ")
    return f"> **{first}** *{rest}*\n"


def web_page(text: str, seed: int) -> str:
    head, table = "<head><title>Form 5</title></head>", f"<table><tr><td>{text}</td></tr></table>"
    return f"<!DOCTYPE html><html>{head}<body>{table}</body></html>"


MORE: dict[str, Callable[[str, int], str]] = {
    "spaced": spaced,
    "spaced words": spaced_words,
    "Markdown": markdown,
    "a web page": web_page,
    "Markdown in full width": lambda text, seed: DISGUISES["full-width"](markdown(text, seed), seed),
}
"""Further disguises, which may move it by .03."""


@pytest.mark.parametrize("text", CLEAN)
def test_clean_text_is_left_as_it_is(text: str) -> None:
    assert read(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Okonkwo and Ms. Lindqvist both said so.", "Plan A, B, C or D, you choose.", "W. H. Auden wrote about it.",
        "At 5 pm on the 2nd, room B12.", "I took 50 mg at 7am and 2 more at 10pm.", "Is it 4 or 5 days?",
        "We met in 1999... and again in 2021.", "The cafe is on the 3rd floor.", "She has an A in art.",
        "I, too, am tired.", "Meet me off the bus, too.", "ADHD and PTSD are hard.", "You earned $50 and spent $20.",
        "A 20-year-old son.", "He said it was 100% your fault?!", "Let's talk at 3:15, ok?",
        "Aisling really misses her brother Krzysztof.",
    ],
)  # fmt: skip
def test_what_only_looks_disguised_is_left_as_it_is(text: str) -> None:
    assert read(text).text == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Thaaaat is sooooo goood of youuuu", "That is so good of you"),
        ("I feeeelll for you", "I feel for you"),
        ("You are looooved and we neeeed you sooon", "You are loved and we need you soon"),
        ("What?!?!?! That's awful!!?!", "What? That's awful?"),
        ("I am here..... always,,,, truly", "I am here. always, truly"),
        ("ι hεαr yου", "i hear you"),
        ("Τhατ sουηds hαrd", "That sounds hard"),
        ("τακε yουr τιmε", "take your time"),
        ("Ι'm sоrry thаt уоu fееl ѕо аlоne", "I'm sorry that you feel so alone"),
        ("ｙｏｕ ａｒｅ ｎｏｔ ａｌｏｎｅ", "you are not alone"),
        ("1 4m 50 50rry 7h47 y0u f331 l1k3 7h15", "i am so sorry that you feel like this"),
        ("1t w1ll g3t b3tt3r, 1 pr0m153", "it will get better, i promise"),
        ("th@t p@in is re@l and str@ng", "that pain is real and strong"),
        ("I am s o r r y to hear that", "I am sorry to hear that"),
        ("y o u   a r e   n o t   a l o n e .", "you are not alone."),
        ("y o u a r e n o t a l o n e", "you are not alone"),
        ("t-a-k-e c-a-r-e of yourself", "take care of yourself"),
        ("I a m   h e r e   f o r   y o u", "I am here for you"),
        ("teh pain yuo feel", "the pain you feel"),
        ("Thta must be terible, I undestand", "That must be terrible, I understand"),
        ("you are such a stong and lovign person", "you are such a strong and loving person"),
        ("<table><tr><td>I hear</td><td>you</td></tr></table>", "I hear you"),
        ("<ul><li>Breathe.</li><li>Walk.</li></ul>", "Breathe. Walk."),
        ("<!DOCTYPE html><head><title>x</title></head><body>Take care.</body>", "Take care."),
        ('<p\nclass="a">I&#39;m&nbsp;here</p>', "I'm here"),
        ('<p title="sad > glad">I hear you</p>', "I hear you"),
        ("I hear you <!-- and you", "I hear you"),
        ("~~Sorry~~ **take** _care_ `now`", "Sorry take care now"),
    ],
)
def test_a_disguise_is_taken_off(text: str, clean: str) -> None:
    assert read(text).text.lower() == clean.lower()


def moved(scorer: Scorer, perturb: Callable[[str, int], str]) -> float:
    """Mean size of Empathy's change over the clean replies and three seeds."""
    sizes = []
    for text in CLEAN:
        before = scorer.score("", text).empathy
        assert before is not None
        for seed in range(3):
            after = scorer.score("", perturb(text, seed)).empathy
            assert after is not None, perturb(text, seed)
            sizes.append(abs(after - before))
    return sum(sizes) / len(sizes)


@pytest.mark.parametrize("kind", MOVES)
def test_a_disguise_hardly_moves_empathy(scorer: Scorer, kind: str) -> None:
    assert moved(scorer, DISGUISES[kind]) <= MOVES[kind]


@pytest.mark.parametrize("kind", MORE)
def test_neither_does_another(scorer: Scorer, kind: str) -> None:
    assert moved(scorer, MORE[kind]) <= 0.03


def test_the_bounds_are_of_disguises_that_change_the_text() -> None:
    assert set(MOVES) == set(DISGUISES)
    for perturb in (*DISGUISES.values(), *MORE.values()):
        assert all(perturb(text, 0) != text for text in CLEAN)
    assert not any(re.search(r"(\w)\1\1", text) for text in CLEAN)
