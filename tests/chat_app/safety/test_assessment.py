"""Rules and head together: who is asked, who is believed, and what a message is met with."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.models.downloads import Weights
from heard.chat_app.safety import assessment, crisis_check
from heard.chat_app.safety.assessment import DANGERS, LOOKED_BACK, Assessor, assess, use_head
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.chat_app.startup import open_services
from heard.scorer.danger_head import DEFAULT, DangerHead, DangerHeadFile
from heard.scorer.danger_lines import LABELS
from heard.scorer.encoder import Encoder
from heard.scorer.errors import ScorerError

LEAST = dict.fromkeys((*DANGERS, "crisis", "check_in", "recovery"), 1.0)
LEAST |= {"crisis_alert": 0.5, "crisis_before": 2.0, "check_in_before": 1.5}
CALM = dict.fromkeys(LABELS, -5.0)


class Told:
    """A head that says what a test tells it, and keeps what it was asked."""

    def __init__(self, together: Mapping[str, float] | None = None, **odds: float) -> None:
        """`together` is what it says of a message with those before it; as of the message alone, if not told."""
        self.file = SimpleNamespace(thresholds=LEAST)
        self.odds: Mapping[str, float] = CALM | odds
        self.together = self.odds if together is None else CALM | together
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def log_odds(self, text: str, before: Sequence[str]) -> tuple[Mapping[str, float], Mapping[str, float]]:
        self.asked.append((text, tuple(before)))
        return self.odds, self.together


def told(**odds: float) -> Assessor:
    return Assessor(cast(DangerHead, Told(**odds)))


def broken() -> Assessor:
    """Rules with a head whose encoder cannot be opened."""

    def encoder() -> Encoder:
        raise ScorerError("no encoder")

    return Assessor(DangerHead(DangerHeadFile.load(), encoder))


@pytest.fixture(scope="module")
def shipped(weights: Weights) -> Assessor:
    """The rules and the head that come with heard."""
    return Assessor.load(lambda file: Encoder.load(weights.encoder, file.layers, sha256=file.encoder_sha256))


@pytest.fixture
def nobody_in_use(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process as it starts; afterwards what was in use before."""
    monkeypatch.setattr(assessment, "_in_use", Assessor(None))
    return iter(())


@pytest.mark.parametrize(
    "text", ["I want to die", "I am going to kill myself tonight", "quiero morir", "मैं मरना चाहता हूँ"]
)
def test_what_the_rules_hand_off_waits_for_no_encoder(text: str) -> None:
    assert broken().assess(text) == crisis_check.check(text)
    assert broken().assess(text).reader == "rules"


def test_what_they_let_through_is_asked_of_the_head() -> None:
    with pytest.raises(ScorerError, match="no encoder"):
        broken().assess("We had pasta for lunch.")


@pytest.mark.parametrize(
    "text",
    [
        "Wir haben heute Nudeln gegessen und dann lange geredet.",
        "今日はとても疲れました。",
        "Я сегодня очень устал на работе.",
    ],
)
def test_another_language_is_left_to_the_rules(text: str) -> None:
    assert broken().assess(text) == SafetyVerdict()


def test_the_head_sees_the_last_messages_and_no_more() -> None:
    head = Told()
    Assessor(cast(DangerHead, head)).assess("hello there", ["one", "two", "three"])
    assert head.asked == [("hello there", ("one", "two", "three")[-LOOKED_BACK:])]


@pytest.mark.parametrize(
    ("together", "level"),
    [
        ({"crisis": 2.0}, Level.CRISIS),
        ({"crisis": 1.9}, Level.CHECK_IN),
        ({"check_in": 1.5}, Level.CHECK_IN),
        ({"check_in": 1.4}, Level.NONE),
        ({"threat": 9.0}, Level.NONE),
    ],
)
def test_with_what_was_said_before_more_is_asked_for(together: dict[str, float], level: Level) -> None:
    both = Assessor(cast(DangerHead, Told(together)))
    assert both.assess("some words in English", ["a few more words before"]).level is level
    assert both.assess("some words in English", ["few words"]).level is Level.NONE, "too little to say more together"
    assert both.assess("some words in English").level is Level.NONE, "nothing was said before"


def test_an_alarm_that_what_was_said_before_speaks_against_becomes_a_question_and_is_never_dropped() -> None:
    for together, level in (
        ({}, Level.CHECK_IN),
        ({"crisis": -0.1}, Level.CHECK_IN),
        ({"check_in": 0.0}, Level.CRISIS),
    ):
        both = Assessor(cast(DangerHead, Told(together, crisis=1.0)))
        assert both.assess("some words in English", ["a few more words before"]).level is level
        other = Assessor(cast(DangerHead, Told(together, threat=1.0)))
        assert other.assess("some words in English", ["a few more words before"]).danger is Danger.THREAT


def test_without_a_head_the_rules_are_alone() -> None:
    assert Assessor(None).assess("see you on the other side", ["wrote the letters"]) == SafetyVerdict()
    assert Assessor(None).assess("I want to die").crisis


@pytest.mark.parametrize(
    ("odds", "alert", "level"),
    [
        ({}, False, Level.NONE),
        ({"crisis": 1.0}, False, Level.CRISIS),
        ({"crisis": 0.9}, False, Level.NONE),
        ({"crisis": 0.9}, True, Level.CRISIS),
        ({"crisis": 0.4}, True, Level.NONE),
        ({"check_in": 1.0}, False, Level.CHECK_IN),
        ({"check_in": 0.9}, False, Level.NONE),
        ({"check_in": 1.0, "crisis": 0.6}, True, Level.CRISIS),
        ({"recovery": 1.0}, False, Level.NONE),
        ({"recovery": 1.0, "crisis": 1.5}, False, Level.CRISIS),
    ],
)
def test_levels_follow_the_thresholds_and_an_alert_lowers_the_crisis_s(
    odds: dict[str, float], alert: bool, level: Level
) -> None:
    assert told(**odds).assess("some words in English", alert=alert).level is level


@pytest.mark.parametrize("label", DANGERS)
def test_each_danger_is_a_crisis_of_its_own_kind(label: str) -> None:
    found = told(**{label: 1.2, "crisis": 1.1}).assess("some words in English")
    assert found == SafetyVerdict(Level.CRISIS, label, "en", Danger(label), "head")
    nearer = told(**{label: 1.1, "crisis": 1.2}).assess("some words in English")
    assert nearer == SafetyVerdict(Level.CRISIS, "ideation", "en", Danger.SUICIDE, "head")


@pytest.mark.parametrize("label", DANGERS)
def test_a_danger_below_its_threshold_is_none(label: str) -> None:
    assert told(**{label: 0.9}).assess("some words in English") == SafetyVerdict()


def test_a_child_who_tells_of_something_past_is_still_a_child() -> None:
    text = "im 14 and last year i used to cut but i am clean since therapy"
    assert crisis_check.check(text).danger is Danger.MINOR
    assert told(recovery=3.0).assess(text).danger is Danger.MINOR


def test_a_text_that_repeats_itself_is_left_to_the_rules() -> None:
    assert broken().assess("My garden is dry. " * 50) == SafetyVerdict()
    assert broken().assess("I want to die. " * 50).crisis


ORDINARY = (
    "I am back.",
    "We had soup and watched the match.",
    "what do i say to them",
    "my train is late again, classic",
    "Can you help me word an email to my landlord?",
    "the baby slept four hours!!",
    "Second message.",
    "they put me on hold",
    "my sister is coming",
    "Thank you, that helps a bit.",
    "It rained all weekend so we played cards.",
    "i burnt the rice",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_are_answered_as_such(shipped: Assessor, text: str) -> None:
    assert shipped.assess(text) == SafetyVerdict()
    assert not shipped.assess(text, alert=True).crisis


def test_every_danger_of_the_labels_has_a_hand_off() -> None:
    assert {"suicide", *DANGERS} == {danger.value for danger in Danger}


def test_an_alarm_is_taken_back_only_where_the_words_speak_of_the_past() -> None:
    head = Told(recovery=3.0)
    both = Assessor(cast(DangerHead, head))
    now, past = "I want to kill myself", "Three years ago I wanted to kill myself"
    assert crisis_check.check(now).crisis
    assert crisis_check.check(past).crisis
    assert both.assess(now).crisis
    assert head.asked == [], "nobody was asked"
    assert both.assess(past).level is Level.RECOVERY
    assert told(recovery=3.0, crisis=4.0).assess(past) == crisis_check.check(past)
    assert told().assess(past) == crisis_check.check(past)


def test_a_head_that_is_given_to_the_process_answers_in_all_of_it(nobody_in_use: None) -> None:
    assert assess("some words in English") == SafetyVerdict()
    use_head(told(threat=2.0))
    assert assess("some words in English").danger is Danger.THREAT
    use_head(told(crisis=0.7))
    assert assess("some words in English", alert=True).crisis
    assert not assess("some words in English").crisis


@pytest.mark.parametrize("text", ["", " ", "😀", "\ud800", "hello \udc00 my friend", "a" * 100_000, "[" * 3000, "\0"])
def test_any_text_has_a_verdict(shipped: Assessor, text: str) -> None:
    for alert in (False, True):
        assert isinstance(shipped.assess(text, [text, text], alert=alert), SafetyVerdict)


DANGER = [
    # The lines of other dangers, and their like: any of the kinds that a careful reader could name.
    ("my husband is beating me right now im locked in the bathroom", {"domestic_violence", "child_abuse"}),
    ("he raped me last night", {"sexual_assault"}),
    ("im 13 and my dad hits me", {"child_abuse", "minor"}),
    ("i want to kill my wife, i have a gun", {"threat"}),
    ("the voices tell me to kill my neighbour", {"psychosis", "threat"}),
    ("I have not eaten for six days", {"eating_disorder"}),
    ("I swallowed all my pills an hour ago", {"poisoning", "suicide"}),
]
QUIET = [
    "my kid beat me at chess",
    "I'd kill for chocolate",
    "my dog would die for chocolate",
    "how many pills a day can I take on this prescription",
    "My prescription says two pills a day",
    "I want to dye my hair",
    "this homework is killing me",
    "i called but hung up",
    "ok. i just feel so alone",
    "I stopped seeing my therapist because you are better",
]
"""Of these the turns after a hand-off, and over-reliance, are answered elsewhere; none is a hand-off by itself."""
PROUD = ["I used to be suicidal and therapy helped", "I used to be suicidal, and I'm proud that therapy helped me"]


@pytest.mark.parametrize(("text", "dangers"), DANGER)
def test_other_dangers_are_handed_off_as_such(shipped: Assessor, text: str, dangers: set[str]) -> None:
    found = shipped.assess(text)
    assert found.crisis
    assert found.danger.value in dangers


@pytest.mark.parametrize("text", QUIET)
def test_what_only_sounds_alike_is_quiet(shipped: Assessor, text: str) -> None:
    assert shipped.assess(text).level is Level.NONE


@pytest.mark.parametrize("text", PROUD)
def test_a_danger_long_past_is_not_handed_off(shipped: Assessor, text: str) -> None:
    assert shipped.assess(text).level is Level.RECOVERY


@pytest.mark.parametrize("damage", ["weights", "toml", "gone"])
async def test_a_head_that_is_not_the_one_of_its_file_keeps_the_chat_from_starting(
    tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch, nobody_in_use: None, damage: str
) -> None:
    folder = tmp_path / "head"
    folder.mkdir()
    for name in ("danger.toml", "weights.safetensors"):
        (folder / name).write_bytes((DEFAULT / name).read_bytes())
    # DEFAULT is the value of an argument by now.
    monkeypatch.setattr(cast(Any, Assessor.load).__func__, "__defaults__", (folder,))
    settings = Settings(data_dir=tmp_path)
    if damage == "weights":
        whole = bytearray((folder / "weights.safetensors").read_bytes())
        whole[-1] ^= 1
        (folder / "weights.safetensors").write_bytes(whole)
    elif damage == "toml":
        (folder / "danger.toml").write_text("title = 'a head'\n")
    else:
        (folder / "danger.toml").unlink()
    with pytest.raises(ScorerError):
        async with open_services(settings, weights):
            pytest.fail("it serves unguarded")
    assert assessment._in_use._head is None
