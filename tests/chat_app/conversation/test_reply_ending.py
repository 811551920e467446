"""Sentences of a stream, and where a reply ends: each kind of debris in the words of small models, and what is none."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heard.chat_app.conversation.reply_ending import PATTERNS, ending_of, without_opening
from heard.chat_app.conversation.sentences import MOST_HELD, SentenceSplitter, is_whole

SYSTEM = "You are a warm supportive listener. Respond with empathy in a few sentences of everyday words."
DEBRIS = {
    "hashtag": "You are not alone in this #FaithCommunity #Hope",
    "date": "Posted on March 14, 2023 by the team.",
    "link": "Read more at https://example.org today.",
    "stage direction": "*smiles warmly and nods*",
    "label": "User: what do you think?",
    "placeholder": "Kind words from [Your Name] to you.",
    "sign-off": "Best regards, your listener",
    "refusal": "I'm sorry, but I can't assist with that.",
    "boilerplate": "How can I help you today?",
    "template": "<|im_end|>",
}
FINE = (
    "I'm sorry you had to sit through that.",
    "*Really* hard, that is.",
    "You did it, and #1 is what you are.",
    "The 14th of March stays with you.",
    "I'm here with you, and I'm listening.",
    "What can you tell me about him?",
    "He said: leave it. And you did.",
    "(That sounds like a lot.)",
    "5 < 7, and <b>bold</b> is markup.",
)


def test_every_kind_has_a_case() -> None:
    assert DEBRIS.keys() == PATTERNS.keys()


@pytest.mark.parametrize("kind", DEBRIS)
def test_debris_ends_the_reply(kind: str) -> None:
    assert ending_of(DEBRIS[kind], ["Oh no."], "my week was bad", SYSTEM).cause == kind


@pytest.mark.parametrize("sentence", FINE)
def test_what_people_say_is_no_debris(sentence: str) -> None:
    assert ending_of(sentence, ["Oh no."], "my week was bad", SYSTEM).cause is None


def test_what_the_person_wrote_may_be_said_back() -> None:
    link = "https://example.org"
    assert ending_of(f"I can't open {link} from here.", [], f"look at {link}", SYSTEM).cause is None
    assert ending_of(f"I can't open {link} from here.", [], "look", SYSTEM).cause == "link"


def test_a_sentence_twice_and_the_prompt_itself_end_it() -> None:
    said = "It must have been a long night for you."
    assert ending_of(said, ["Oh no.", said], "m", SYSTEM).cause == "repeat"
    assert ending_of("It must have been such a long night for you.", [said], "m", SYSTEM).cause == "repeat"
    assert ending_of("I hear you.", ["I hear you."], "m", SYSTEM).cause is None
    assert ending_of("Respond with empathy in a few sentences of everyday words.", [], "m", SYSTEM).cause == "prompt"


def test_an_example_is_not_copied() -> None:
    example = "my oven\nThe milk in the oven tells me just how much sleep you need. What was she like?"
    copied = "The milk in the oven tells me just how much sleep you need."
    assert ending_of(copied, [], "m", SYSTEM, example).cause == "prompt"
    assert ending_of("What was she like?", [], "m", SYSTEM, example).cause is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Therapist: I'm sorry.", "I'm sorry."),
        ("*smiles softly* Oh, that hurts.", "Oh, that hurts."),
        ("Assistant: *nods* Yes.", "Yes."),
        ("I said: no.", "I said: no."),
    ],
)
def test_a_label_or_a_stage_direction_at_the_start_is_left_out(text: str, left: str) -> None:
    assert without_opening(text) == left


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Oh no. That hurts! Why? ", ["Oh no.", " That hurts!", " Why?"]),
        ("Dr. Smith is in. Go on", ["Dr. Smith is in."]),
        ("It was 3.5 km. Far", ["It was 3.5 km."]),
        ('She said "no." Then', ['She said "no."']),
        ("それは大変でした。本当に", ["それは大変でした。"]),
        ("One line\nand another", ["One line\n"]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    splitter = SentenceSplitter()
    assert splitter.feed(text) == sentences
    assert "".join(sentences) + splitter.rest() == text


@given(st.text(alphabet="ab.!? \n", max_size=200), st.integers(1, 7))
def test_nothing_is_lost_however_it_arrives(text: str, size: int) -> None:
    splitter = SentenceSplitter()
    pieces = (
        ["".join(piece) for piece in itertools.batched(text, size)] if hasattr(itertools, "batched") else list(text)
    )
    found = [sentence for piece in pieces for sentence in splitter.feed(piece)]
    assert "".join(found) + splitter.rest() == text


def test_words_without_an_end_are_let_go_in_time() -> None:
    found = SentenceSplitter().feed("word " * 100)
    assert found
    assert all(len(piece) <= MOST_HELD for piece in found)


def test_whole() -> None:
    assert all(map(is_whole, ("Yes.", "Yes!", 'She said "no."', "そうです。", "Oh… ")))
    assert not any(map(is_whole, ("Yes", "and then,", "")))
