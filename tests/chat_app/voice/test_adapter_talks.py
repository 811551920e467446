"""The talks that an adapter learns from, and how they are packed."""

import json
import random
import re
from pathlib import Path

import pytest

from heard.chat_app.voice.adapter_talks import (
    HELD_OUT,
    SEQUENCE,
    TALKS,
    Talk,
    TalksError,
    fingerprint,
    in_two,
    read_talks,
    sequences,
    systems_of,
)
from heard.chat_app.voice.messages import read_conversations
from heard.prompts.library import PromptLibrary

LIBRARY = PromptLibrary.load()
SECRET = "zebra-marmalade-4711"
GOOD = {"turns": [{"said": SECRET, "reply": "one two"}]}


def encode(text: str) -> list[int]:
    """A token a word or mark."""
    return [sum(word.encode()) for word in re.findall(r"<\|\w+\|>|\w+|\S|\n", text)]


def written(folder: Path, *rows: object) -> Path:
    path = folder / "talks.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_talks_are_read_with_their_persona(tmp_path: Path) -> None:
    first, second = read_talks(written(tmp_path, GOOD, "", {**GOOD, "persona": "coach", "kind": "worry"}))
    assert first == Talk("listener", ((SECRET, "one two"),))
    assert second.persona == "coach"


@pytest.mark.parametrize("row", [SECRET, [SECRET], {"turns": []}, {"turns": [{"said": SECRET}]}, {"persona": SECRET}])
def test_a_faulty_line_is_named_by_its_number_and_never_by_its_words(tmp_path: Path, row: object) -> None:
    with pytest.raises(TalksError, match="line 2: ") as fault:
        read_talks(written(tmp_path, GOOD, row))
    assert SECRET not in str(fault.value)


def test_files_without_talks(tmp_path: Path) -> None:
    with pytest.raises(TalksError, match="holds no talks"):
        read_talks(written(tmp_path, ""))
    with pytest.raises(TalksError, match="cannot be read as UTF-8 text"):
        read_talks(tmp_path / "none.jsonl")


def test_a_persona_that_is_none_is_named() -> None:
    with pytest.raises(TalksError, match='the persona "nobody", which there is not: listener'):
        systems_of(LIBRARY, [Talk("nobody", (("a", "b"),))])


def test_the_prompt_is_the_chat_s_own_without_examples() -> None:
    (system,) = systems_of(LIBRARY, [Talk("listener", (("a", "b"),))]).values()
    assert system == LIBRARY.personas["listener"].system


def test_of_a_sequence_replies_alone_are_learnt_and_each_talk_begins_after_the_prompt() -> None:
    talks = [Talk("listener", (("how so", "one two"), ("and", "three"))), Talk("listener", (("hello", "four"),))]
    (packed,) = sequences({"listener": "be kind"}, talks, encode)
    prompt = encode("<|im_start|>system\nbe kind<|im_end|>\n")
    assert packed.tokens[: len(prompt)] == prompt
    learnt = [token for token, reply in zip(packed.tokens, packed.replies, strict=True) if reply]
    assert learnt == encode("one two<|im_end|>three<|im_end|>four<|im_end|>")
    assert packed.talks[: len(prompt)] == [0] * len(prompt)
    assert set(packed.talks) == {0, 1, 2}
    for number in (1, 2):
        own = [place for place, talk in zip(packed.positions, packed.talks, strict=True) if talk == number]
        assert own == list(range(len(prompt), len(prompt) + len(own)))


def test_sequences_are_bounded_and_lose_nothing() -> None:
    talks = read_talks(TALKS)
    packed = list(sequences(systems_of(LIBRARY, talks), talks, encode))
    assert max(len(one.tokens) for one in packed) <= SEQUENCE
    assert sum(max(one.talks) for one in packed) == len(talks)


def test_some_talks_of_each_persona_are_kept_apart_and_the_same_each_time() -> None:
    talks = read_talks(TALKS)
    learnt, kept = in_two(talks, random.Random(0))
    assert (learnt, kept) == in_two(talks, random.Random(0))
    assert len(kept) == HELD_OUT * len({talk.persona for talk in talks})
    assert sorted(map(repr, learnt + kept)) == sorted(map(repr, talks))
    assert fingerprint(talks) == fingerprint(list(talks)) != fingerprint(talks[1:])


def test_no_talk_is_one_that_the_voice_is_measured_with() -> None:
    measured = {text.casefold() for talk in read_conversations() for text in talk.turns}
    assert not [talk for talk in read_talks(TALKS) for said, _ in talk.exchanges if said.casefold() in measured]
