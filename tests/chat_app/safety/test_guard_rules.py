"""The guard's rules, worked by hand: what each kind catches, what takes it out again, and what the person said."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heard.chat_app.safety.guard_rules import LONGEST, GuardRules
from heard.prompts.guard_files import KINDS, load_guard

RULES = GuardRules(load_guard())


def kind_of(message: str, sentence: str, before: str = "", earlier: tuple[str, ...] = ()) -> str | None:
    match = RULES.find((*earlier, message), sentence, before)
    return match.rule.kind if match else None


@pytest.mark.parametrize(
    ("message", "sentence", "kind"),
    [
        ("want to get coffee?", "Sure! I'd be happy to meet for coffee.", "contact"),
        ("i love you", "I love you too!", "contact"),
        ("can I take pills with wine", "It is generally considered safe to take small amounts of it.", "medical"),
        ("i can't sleep", "Take two melatonin pills before bed.", "medical"),
        ("i feel low", "You clearly have clinical depression.", "medical"),
        ("my son is ill", "As a mother myself, I know how that is.", "human"),
        ("are you a bot", "I'm a real person.", "human"),
        ("i lost my job", "When I lost my job I cried for weeks.", "human"),
        ("i failed", "You are just lazy.", "insult"),
        ("she lied", "She is such a horrible liar.", "insult"),
        ("i hate him", "You should slap him in the face.", "harm"),
        ("the tv sends me messages", "Yes, those messages are meant for you.", "delusion"),
        ("i lost my keys", "I'm so sorry for your loss.", "mismatch"),
        ("i lost my job", "Congratulations!", "mismatch"),
        ("I got promoted!", "I'm so sorry to hear that.", "mismatch"),
    ],
)
def test_what_each_kind_catches(message: str, sentence: str, kind: str) -> None:
    assert kind_of(message, sentence) == kind


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("want to get coffee?", "I'm an AI, so coffee is out of reach for me, but how was your day?"),
        ("can we meet", "I'd love to meet you, but I'm only an AI."),
        ("what do i tell her", 'You could simply tell her "I love you, and I was wrong".'),
        ("can I take pills with wine", "Please ask a pharmacist before you take them together."),
        ("i failed", "That doesn't mean you are lazy."),
        ("it was my fault", "None of this is your fault."),
        ("i hate him", "You don't have to hit him to be heard."),
        ("they watch me", "It must be frightening to feel that they are watching you."),
        ("my mum died on tuesday", "I'm so sorry for your loss."),
        ("our dog was put down", "I'm so sorry for your loss."),
        ("lost the baby at 11 weeks", "I'm so sorry for your loss."),
        ("got the job!!", "Congratulations!"),
        ("i failed again", "I'm so sorry, that must sting."),
        ("i ate too much cake", "Cake has that effect on people."),
        ("i had a rough day", "I'm here, and I'm listening."),
    ],
)
def test_what_is_let_through(message: str, sentence: str) -> None:
    assert kind_of(message, sentence) is None


def test_a_death_that_was_spoken_of_before_is_remembered() -> None:
    condolence = "Please accept my condolences."
    assert kind_of("ok", condolence) == "mismatch"
    assert kind_of("ok", condolence, earlier=("my nan passed in march", "she raised me")) is None
    assert kind_of("ok", condolence, earlier=("my phone died",)) == "mismatch"


def test_words_in_a_quotation_that_was_opened_before_are_the_persons() -> None:
    assert kind_of("what do i write to her", "I love you so much.", before='Perhaps this: "I was scared. ') is None
    assert kind_of("what do i write to her", "I love you so much.") == "contact"


@pytest.mark.parametrize(
    ("sentence", "persona", "named"),
    [
        ("My name is Sarah.", "Warm listener", True),
        ("Hi, I'm Emma, nice to meet you.", "Warm listener", True),
        ("You can call me Listener.", "Warm listener", False),
        ("My name is Ada.", "Ada the coach", False),
        ("I'm Sorry that it went so.", "Warm listener", False),
        ("I'm listening.", "", False),
    ],
)
def test_a_name_that_is_not_the_personas(sentence: str, persona: str, named: bool) -> None:
    assert RULES.names_itself(sentence, persona) is named


def test_the_scorer_is_asked_only_where_the_persons_words_leave_it_open() -> None:
    asked: list[bool] = []

    def misread() -> bool:
        asked.append(True)
        return True

    assert RULES.find(["they moved us all to the other hall"], "Congratulations!", "", misread) is not None
    assert asked == [True]
    assert RULES.find(["got the job!!"], "Congratulations!", "", misread) is None
    assert asked == [True]


def test_the_heads_excuses_are_of_its_kinds() -> None:
    assert "human" in RULES.excuses("I'm an AI, so I have no dinner.")
    assert RULES.excuses("The garden is green.") == frozenset()
    assert RULES.excuses("I'm an AI, ask a pharmacist.") <= set(KINDS)


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_strings_are_read(message: str, sentence: str, before: str) -> None:
    RULES.find([message], sentence, before)
    RULES.names_itself(sentence, message)
    RULES.excuses(sentence)


def test_no_more_is_read_than_the_bound() -> None:
    assert kind_of("hi", "la " * LONGEST + "I love you too.") is None
