"""Whole conversations through the chat's turns: no crisis reaches a model, the scorer, a summary or a ballot.

`python -m tests.bench handoffs` has many more of them.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from heard.chat_app.conversation import message_reading
from heard.chat_app.models.downloads import Weights
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.verdict import SafetyVerdict
from heard.chat_app.studies import study_answers
from heard.db.records import Safety
from tests.bench.handoffs import EVERY_BALLOT, FEWEST, MOST, Chat, chatting, drawn, holds, strings

NUMBER = 40


@pytest.fixture
async def chat(tmp_path: Path, weights: Weights) -> AsyncIterator[Chat]:
    async with chatting(tmp_path, weights) as opened:
        yield opened


async def test_none_of_them_leaks(chat: Chat) -> None:
    for place, said in enumerate(drawn(NUMBER)):
        await chat.talk(said, place)
    seen = chat.seen
    assert seen.leaks == []
    assert seen.conversations == NUMBER
    assert seen.messages > 2 * NUMBER
    # Each of them was met, or nothing was tried.
    assert min(seen.hand_offs, seen.fixed, seen.safety[Safety.CHECKED_IN], seen.prompts) > 0
    assert min(seen.scores, seen.summaries, seen.ballots) > 0
    assert seen.crises >= seen.hand_offs > NUMBER // 4


@pytest.mark.parametrize("number", [1, EVERY_BALLOT])
async def test_a_chat_that_does_not_check_is_seen_to_leak(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """In the ordinary chat, and in a live study."""
    by_rules = crisis_check.check
    for reading in (message_reading, study_answers):
        monkeypatch.setattr(reading, "assess", lambda *_, **__: SafetyVerdict())
    monkeypatch.setattr(message_reading, "first_reading", lambda _: SafetyVerdict())
    monkeypatch.setattr(crisis_check, "check", lambda _: SafetyVerdict())
    monkeypatch.setattr("tests.bench.handoffs.assess", lambda text, *_, **__: by_rules(text))
    await chat.talk(["A long week at the bakery.", "I want to kill myself tonight.", "My sister called."], number)
    found = set(chat.seen.leaks)
    assert found == (
        {"not handed off", "prompt", "score"}
        if number % EVERY_BALLOT
        else {"not handed off", "prompt", "score", "ballot"}
    )


def test_the_conversations_are_the_same_each_time_and_have_both_kinds_of_lines() -> None:
    one = list(drawn(NUMBER))
    assert one == list(drawn(NUMBER))
    assert one != list(drawn(NUMBER, seed=1))
    assert all(1 <= len(said) <= MOST and len(set(said)) == len(said) for said in one)
    assert sum(len(said) >= FEWEST for said in one) > 0.9 * NUMBER


def test_words_are_found_whole_and_wherever_they_stand() -> None:
    assert holds("User: i want  to\ndie.\nBot:", "i want to die.")
    assert holds("kms", "kms")
    assert not holds("ten kmss", "kms")
    assert strings({"messages": [{"content": "a"}, {"content": ["b", 1, None]}]}) == ["a", "b"]
