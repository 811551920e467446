"""What is kept of a long conversation, and the prompt that sums up the rest."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from heard.prompts.build import build_prompt
from heard.prompts.files import PromptFileError
from heard.prompts.history import (
    estimate_tokens,
    exchange_tokens,
    exchanges_included,
    kept_history,
    prompt_tokens,
    with_summary,
)
from heard.prompts.library import PromptLibrary
from heard.prompts.records import PromptMessage
from heard.prompts.summary import build_summary_prompt

TURNS = [(f"question {n} " + "x" * 400, f"answer {n} " + "y" * 400) for n in range(20)]


@pytest.fixture(scope="module")
def library() -> PromptLibrary:
    return PromptLibrary.load()


def test_the_first_turn_and_the_newest_stay_when_the_window_is_small(library: PromptLibrary) -> None:
    persona, plain = library.personas["listener"], library.strategies["plain"]
    prompt = build_prompt(persona, plain, TURNS, "now", context_tokens=2048)
    contents = [message.content for message in prompt.messages]
    assert contents[1:3] == list(TURNS[0])
    assert contents[-3:] == [*TURNS[-1], "now"]
    assert not any("question 1 " in text for text in contents)
    held = exchanges_included(prompt, TURNS)
    assert held == [True, *[False] * held.count(False), *[True] * (held.count(True) - 1)]
    assert prompt_tokens(prompt.messages, estimate_tokens) <= 2048 - persona.max_tokens
    another = exchange_tokens(TURNS[held.index(False)], estimate_tokens)
    assert prompt_tokens(prompt.messages, estimate_tokens) + another > 2048 - persona.max_tokens
    roles = [message.role for message in prompt.messages]
    assert roles == ["system", *["user", "assistant"] * ((len(roles) - 2) // 2), "user"]


def test_what_fits_is_kept_whole_and_nothing_is_counted(library: PromptLibrary) -> None:
    def count(text: str) -> int:
        raise AssertionError("no counting is needed")

    prompt = build_prompt(library.personas["quiet"], library.strategies["plain"], TURNS[:4], "now", count=count)
    assert exchanges_included(prompt, TURNS) == [True] * 4 + [False] * 16


LIBRARY = PromptLibrary.load()
CUT = [("I lost my job.", ""), ("Are you there?", "Yes, and"), ("Hello?", ""), ("Hello again?", "")]


def test_a_message_without_a_reply_goes_before_the_next(library: PromptLibrary) -> None:
    prompt = build_prompt(library.personas["quiet"], library.strategies["plain"], CUT, "now")
    assert [(message.role, message.content) for message in prompt.messages if message.role != "system"] == [
        ("user", "I lost my job.\n\nAre you there?"),
        ("assistant", "Yes, and"),
        ("user", "Hello?\n\nHello again?\n\nnow"),
    ]
    assert exchanges_included(prompt, [*CUT, ("Hello?", "Yes, and"), ("no", "")]) == [True] * 4 + [False] * 2


def test_what_was_sent_again_stands_there_once(library: PromptLibrary) -> None:
    history = [("Hello?", ""), ("I lost my job.", ""), ("Hello?", "")]
    prompt = build_prompt(library.personas["quiet"], library.strategies["plain"], history, "I lost my job.")
    assert prompt.messages[-1].content == "Hello?\n\nI lost my job."
    assert exchanges_included(prompt, history) == [True] * 3


@given(some.lists(some.tuples(some.text("ab ", min_size=1), some.sampled_from(["", "said"])), max_size=8))
def test_user_and_assistant_take_turns_whatever_broke_off(history: list[tuple[str, str]]) -> None:
    prompt = build_prompt(LIBRARY.personas["quiet"], LIBRARY.strategies["plain"], history, "now")
    roles = [message.role for message in prompt.messages if message.role != "system"]
    assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))]
    assert roles[-1] == "user"
    assert all(exchanges_included(prompt, history))


def test_a_first_turn_that_takes_most_of_the_room_is_left_out_like_any_other() -> None:
    history = [("a " * 300, "b"), ("c", "d"), ("e", "f")]
    assert kept_history(history, 200, len) == history[1:]
    assert kept_history(history, 800, len) == history
    assert kept_history(history[:1], 300, len) == []
    assert kept_history([], 300, len) == []
    assert kept_history(history, -1, len) == []


@given(
    some.lists(some.tuples(some.text(max_size=60), some.text(max_size=60)), max_size=12),
    some.integers(-10, 600),
)
def test_what_is_kept_fits_is_in_order_and_could_hold_no_more(history: list[tuple[str, str]], room: int) -> None:
    numbered = [(f"{n}:{message}", reply) for n, (message, reply) in enumerate(history)]
    kept = kept_history(numbered, room, len)
    sizes = {pair: exchange_tokens(pair, len) for pair in numbered}
    assert sum(sizes[pair] for pair in kept) <= max(0, room)
    assert kept == [pair for pair in numbered if pair in kept]
    if sum(sizes.values()) <= room:
        assert kept == numbered


def test_the_summary_stands_once_at_the_end_of_the_system_text(library: PromptLibrary) -> None:
    persona, plain = library.personas["listener"], library.strategies["plain"]
    prompt = build_prompt(persona, plain, TURNS[:2], "now", summary="They lost a dog.")
    assert [message.role for message in prompt.messages].count("system") == 1
    assert prompt.messages[0].content.startswith(persona.system)
    assert prompt.messages[0].content.endswith("They lost a dog.")
    study = build_prompt(library.personas["study"], plain, TURNS[:2], "now", summary="They lost a dog.")
    assert study.messages[0].role == "system"
    assert with_summary([], None) == []


def test_the_summary_gives_way_before_the_last_message(library: PromptLibrary) -> None:
    persona, plain = library.personas["quiet"], library.strategies["plain"]
    last = "word " * 250
    prompt = build_prompt(persona, plain, TURNS, last, summary="They lost a dog. " * 30, context_tokens=660)
    assert [message.content for message in prompt.messages] == [persona.system, last]


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("", 0),
        ("I feel left out today.", 6),
        ("数" * 10, 10),
        ("😀" * 10, 20),
        ("a1b2c3", 6),
        ("\n\n\n", 3),
        ("\ud83d", 1),
    ],
)
def test_the_estimate_is_rather_too_high(text: str, least: int) -> None:
    assert least <= estimate_tokens(text) <= 4 * len(text)


def test_a_summary_is_made_from_the_old_one_and_as_many_turns_as_fit() -> None:
    told = PromptLibrary.load().summary
    prompt, number = build_summary_prompt(told, "A dog.", TURNS, context_tokens=1200, count=estimate_tokens)
    assert 1 <= number < len(TURNS)
    system, asked = prompt.messages
    assert system.content == told.instructions
    assert asked.content.startswith("Summary so far:\nA dog.\n\nPerson: question 0 ")
    assert f"answer {number - 1} " in asked.content
    assert f"question {number} " not in asked.content
    assert prompt_tokens(prompt.messages, estimate_tokens) <= 1200 - told.max_tokens
    assert prompt.max_tokens == told.max_tokens
    fresh, _ = build_summary_prompt(told, None, TURNS[:1], context_tokens=4000, count=estimate_tokens)
    assert "Summary so far" not in fresh.messages[1].content


def test_a_summary_says_nothing_of_a_reply_that_did_not_come() -> None:
    instructions = PromptLibrary.load().summary
    prompt, held = build_summary_prompt(instructions, None, CUT[:2], context_tokens=2048, count=estimate_tokens)
    assert held == 2
    assert prompt.messages[-1].content == "Person: I lost my job.\n\nPerson: Are you there?\nListener: Yes, and"


def test_one_turn_that_is_longer_than_the_window_is_shortened() -> None:
    told = PromptLibrary.load().summary
    giant = ("My dog died. " + "数" * 100_000, "I am so sorry. " + "x" * 100_000)
    prompt, number = build_summary_prompt(told, None, [giant, *TURNS], context_tokens=2048, count=estimate_tokens)
    assert number == 1
    assert "My dog died." in prompt.messages[1].content
    assert prompt_tokens(prompt.messages, estimate_tokens) <= 2048 - told.max_tokens


def test_a_folder_may_have_its_own_summary_file_and_edit_it(folder: Path) -> None:
    library = PromptLibrary.load(folder)
    assert library.summary == PromptLibrary.load().summary
    file = folder / "summary.yaml"
    file.write_text("instructions: Sum up.\nmax_tokens: 32\n", encoding="utf-8")
    assert library.refresh()
    assert library.summary.max_tokens == 32
    file.write_text("instrutions: Sum up.\n", encoding="utf-8")
    assert library.refresh()
    assert library.summary.max_tokens == 32  # the last good one
    with pytest.raises(PromptFileError, match="Did you mean instructions"):
        PromptLibrary.load(folder)


def test_messages_of_other_kinds_are_not_taken_for_history() -> None:
    prompt = build_prompt(PromptLibrary.load().personas["study"], PromptLibrary.load().strategies["plain"], [], "a")
    assert exchanges_included(prompt, [("a", "b")]) == [False]
    assert with_summary([PromptMessage("user", "u")], "s")[1].content == "u"
