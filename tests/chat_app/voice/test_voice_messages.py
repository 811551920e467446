"""The set of messages, and files of that form."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from heard.chat_app.safety import crisis_check
from heard.chat_app.voice.messages import limited, read_conversations
from heard.prompts.files import PromptFileError
from tests.chat_app.voice.saying import MESSAGES

ROOT = Path(__file__).parents[3]


def test_the_set_is_two_hundred_messages_in_ten_kinds_and_forty_talks_of_three() -> None:
    every = read_conversations()
    messages = [one for one in every if len(one.turns) == 1]
    talks = [one for one in every if len(one.turns) > 1]
    assert Counter(one.kind for one in messages) == dict.fromkeys({one.kind for one in every}, 20)
    assert Counter(one.kind for one in talks) == dict.fromkeys({one.kind for one in every}, 4)
    assert (len(messages), len(talks), {len(one.turns) for one in talks}) == (200, 40, {3})
    names = [name for one in every for name in one.names]
    assert len(set(names)) == len(names) == 320
    assert {"good_news-07", "grief-talk-2.3"} <= set(names)
    assert {one.mood for one in messages} == {"good", "bad", "mixed", "plain"}
    assert {one.kind for one in every if one.death} == {"grief"}


def test_hardly_any_of_them_is_taken_for_a_crisis() -> None:
    """None is one; those few are false alarms of the check, and are told as hand-offs."""
    turns = [text for one in read_conversations() for text in one.turns]
    assert sum(crisis_check.check(text).crisis for text in turns) <= 3


def test_no_message_is_an_example_of_a_prompt_or_nearly_one() -> None:
    """What a model was shown an answer to would measure nothing. Nearly one: of three words or more, three of five
    words of both texts together are in both."""
    own = [_words(text) for one in read_conversations() for text in one.turns]
    assert all(own)
    starters = [
        starter["message"]
        for path in sorted((ROOT / "prompts" / "personas").glob("*.yaml"))
        for starter in yaml.safe_load(path.read_text(encoding="utf-8")).get("starters", ())
    ]
    files = sorted((ROOT / "prompts" / "examples").glob("*.yaml"))
    examples = [text for path in files for text in _said(yaml.safe_load(path.read_text(encoding="utf-8")))]
    assert starters
    assert len(examples) > 1000
    shown = [(_words(text), text) for text in (*starters, *examples)]
    assert [text for words, text in shown for mine in own if _alike(words, mine)] == []


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    return words == others or (len(others) >= 3 and len(words & others) >= 0.6 * len(words | others))


def _said(values: object) -> list[str]:
    """Every text under a key `said`, however deep."""
    if isinstance(values, dict):
        own = [values["said"]] if isinstance(values.get("said"), str) else []
        return own + [text for value in values.values() for text in _said(value)]
    return [text for value in values for text in _said(value)] if isinstance(values, list) else []


def _words(text: str) -> frozenset[str]:
    return frozenset("".join(sign for sign in text.casefold() if sign.isalnum() or sign.isspace()).split())


def test_a_part_of_the_set_has_all_kinds_and_keeps_the_order() -> None:
    every = read_conversations()
    part = limited(every, 20)
    assert len(part) == 20
    assert len({one.kind for one in part}) == 10
    assert any(len(one.turns) > 1 for one in part)
    assert list(part) == [one for one in every if one in part]
    assert limited(every, 1000) == every


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("kind: everyday", "kind: everydy", ":5: messages.4.kind must be"),
        ("mood: plain", "mod: plain", 'unknown key "messages.4.mod". Did you mean mood?'),
        ('"got laid off today"', '"i passed my driving test!!!"', ":3: messages.2 says what another one says."),
        ('"k"', '""', "messages.4.text is empty"),
        ("death: true", "death: 1", "talks.1.death must"),
        (', "i keep smelling her hand cream"', "", "talks.1.turns must"),
        (MESSAGES, "messages: []", "there is no message and no talk. Write one."),
        (MESSAGES, "messages: [", "not valid YAML"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_fault(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    path = tmp_path / "messages.yaml"
    path.write_text(MESSAGES.replace(old, new), encoding="utf-8")
    with pytest.raises(PromptFileError) as caught:
        read_conversations(path)
    assert sentence in str(caught.value)
