"""The generators of perturbed text, and the change of scores that they make, counted by hand."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heard.scorer.evaluation.perturb import DISGUISES, STUDY, shortened
from heard.scorer.evaluation.registers import CASUAL, CONTRACTIONS, ELEVATED
from heard.scorer.evaluation.sensitivity import changes, summarise
from heard.scorer.records import EmpathyScore, ScoreStatus

REPLY = (
    "I'm really sorry that the landlord said no, and I can hear how tired you are. You've tried so hard to find a good "
    "place for your family. Would you like to talk about what you need now?"
)
EVERY = {**STUDY, **DISGUISES}


def test_there_are_the_studys_seven_kinds_and_six_disguises() -> None:
    assert list(STUDY) == [
        "excessive punctuation and letter repetition", "Greek letters", "spelling errors and truncation", "leetspeak",
        "shortened", "elevated language", "casual language",
    ]  # fmt: skip
    assert list(DISGUISES) == ["repetition", "look-alikes", "full-width", "HTML", "leetspeak", "misspelling"]


@pytest.mark.parametrize("kind", EVERY)
def test_the_same_seed_gives_the_same_text(kind: str) -> None:
    texts = {EVERY[kind](REPLY, seed) for seed in (0, 0, 0)}
    assert len(texts) == 1
    assert texts != {REPLY}


@pytest.mark.parametrize("kind", ["excessive punctuation and letter repetition", "misspelling", "look-alikes"])
def test_another_seed_gives_another_text(kind: str) -> None:
    assert len({EVERY[kind](REPLY, seed) for seed in range(5)}) == 5


def test_nothing_depends_on_the_process() -> None:
    """Written down once: Python's own generator and its seeding by text are the same everywhere."""
    assert DISGUISES["misspelling"]("You must feel completely abandoned after that.", 1) == MISSPELT


MISSPELT = "You mist feel commpletely abandoned after thta."


@pytest.mark.parametrize("kind", EVERY)
@given(text=st.text(max_size=80), seed=st.integers())
@settings(max_examples=40, deadline=None)
def test_any_text_can_be_perturbed(kind: str, text: str, seed: int) -> None:
    assert isinstance(EVERY[kind](text, seed), str)


def test_each_kind_does_what_its_name_says() -> None:
    spoilt = {kind: perturb(REPLY, 0) for kind, perturb in EVERY.items()}
    assert re.search(r"([a-z])\1\1", spoilt["excessive punctuation and letter repetition"])
    assert re.search(r"\?{3}$", spoilt["excessive punctuation and letter repetition"])
    assert re.search(r"([a-z])\1\1", spoilt["repetition"])
    assert "??" not in spoilt["repetition"]
    assert len(re.findall("[α-ωΑ-Ω]", spoilt["Greek letters"])) > 80
    assert re.search("[а-я]", spoilt["look-alikes"])
    assert re.search("[α-ω]", spoilt["look-alikes"])
    assert "50 h4rd" in spoilt["leetspeak"]
    assert spoilt["shortened"] == REPLY.partition(". ")[0] + "."
    assert "I am truly profoundly regretful" in spoilt["elevated language"]
    assert "You have" in spoilt["elevated language"]
    assert "wanna talk bout what u need" in spoilt["casual language"]
    assert spoilt["full-width"].startswith("Ｉ＇ｍ ｒｅａｌｌｙ")
    assert spoilt["HTML"].startswith("<div")
    for kind in ("misspelling", "spelling errors and truncation"):
        words, others = REPLY.split(), spoilt[kind].split()
        assert len(words) == len(others)
        changed = sum(a != b for a, b in zip(words, others, strict=True))
        assert 3 <= changed <= len(words) / 2
        assert all(a[0] == b[0] for a, b in zip(words, others, strict=True))


def test_a_single_sentence_is_shortened_to_its_first_clause() -> None:
    assert shortened("I hear you, and I wish that it were easier.", 0) == "I hear you."
    assert shortened("I hear you.", 0) == "I hear you."
    assert shortened("", 0) == ""


def test_the_tables_exchange_whole_words_only_and_keep_capitals() -> None:
    assert STUDY["elevated language"]("Very sad. Sadness is everywhere.", 0) == (
        "Exceedingly sorrowful. Sadness is everywhere."
    )
    assert STUDY["elevated language"]("Don’t worry.", 0) == "Do not worry."
    assert STUDY["casual language"]("I am sure that it is fine.", 0) == "i'm sure that it's fine"
    for table in (ELEVATED, CASUAL, CONTRACTIONS):
        assert all(entry.strip() and other.strip() and entry != other for entry, other in table.items())
    assert all(entry == entry.lower() for entry in (*ELEVATED, *CASUAL, *CONTRACTIONS))


class ByLength:
    """Rates a reply by its length in words, 3 at most; what has no word is not scored."""

    def score(self, seeker: str, reply: str) -> EmpathyScore:
        """1 for one word, 2 for two, 3 for more."""
        value = float(min(3, len(reply.split())))
        if not value:
            return EmpathyScore(ScoreStatus.EMPTY, None, None, None, "There is no text.", "h", "0", "0")
        return EmpathyScore(ScoreStatus.SCORED, value, value, 1.0, None, "h", "0", "0")


KINDS = {
    "half": lambda text, seed: " ".join(text.split()[: len(text.split()) // 2]),
    "none": lambda text, seed: text,
    "one": lambda text, seed: "one",
}


def test_changes_are_perturbed_less_original() -> None:
    original, (half, none, one) = changes(ByLength(), "", "two words", KINDS)
    assert original.cognitive == 2
    assert (half.kind, half.text, half.same) == ("half", "two", False)
    assert half.by == pytest.approx({"cognitive": -1, "emotional": -1, "behavioral": 0, "empathy": -2 / 3})
    assert (none.same, none.by["empathy"]) == (True, 0)
    assert one.by == half.by
    lost = changes(ByLength(), "", "word", KINDS)[1][0]
    assert (lost.text, lost.by, lost.score.status) == ("", {}, ScoreStatus.EMPTY)


def test_the_summary_is_over_what_was_changed() -> None:
    found = [change for reply in ("a b c d e f", "a b", "a") for change in changes(ByLength(), "", reply, KINDS)[1]]
    half, none, one = summarise(found)
    assert (half.kind, half.changed, half.same, half.lost) == ("half", 2, 0, 1)
    assert half.mean["cognitive"] == pytest.approx(-0.5)  # 3 to 3, 2 to 1
    assert half.spread["cognitive"] == pytest.approx(2**-0.5)
    assert half.moved == pytest.approx(1 / 3)
    assert (none.changed, none.same, none.mean, none.moved) == (0, 3, {}, None)
    assert one.mean["empathy"] == pytest.approx((-4 / 3 - 2 / 3 + 0) / 3)
