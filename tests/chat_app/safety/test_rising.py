"""Signs of several messages together: conversations that rise, and ordinary ones that sound alike."""

from pathlib import Path

import pytest
import yaml

from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.rising import LONGEST, WINDOW, RisingReader, rising_reader
from heard.chat_app.safety.verdict import Level
from heard.prompts.files import PromptFileError
from heard.prompts.safety_files import FOLDER
from heard.prompts.signs_file import load_signs
from heard.scorer.vectors import Vectors
from tests.chat_app.conversation.test_bot_questions import vectors

__all__ = ["vectors"]  # a fixture of questions about the bot

CASES = Path(__file__).parents[2] / "rising_cases"
RISING = yaml.safe_load((CASES / "rising.yaml").read_text(encoding="utf-8"))
ORDINARY = yaml.safe_load((CASES / "ordinary.yaml").read_text(encoding="utf-8"))
READER = rising_reader()
"""Patterns alone."""
GIVEN, CALM = "i gave my guitar to my little brother today", "i feel strangely calm now"


@pytest.fixture(scope="module")
def near(vectors: Vectors, tmp_path_factory: pytest.TempPathFactory) -> RisingReader:
    """The chat's own, with the encoder."""
    return rising_reader(lambda: vectors, tmp_path_factory.mktemp("signs"))


def levels(messages: list[str], reader: RisingReader = READER) -> list[Level]:
    """What is found after each message."""
    return [reader.read(messages[: place + 1]).level for place in range(len(messages))]


def test_there_are_enough_conversations_each_way() -> None:
    assert min(len(RISING), len(ORDINARY)) >= 30
    page = " ".join((CASES.parents[1] / "docs" / "remembering.md").read_text(encoding="utf-8").split())
    missed = sum(bool(case.get("miss")) for case in RISING)
    assert f"Of {len(RISING)} conversations" in page
    assert f"{len(RISING) - missed} are found, and of {len(ORDINARY)} ordinary ones none" in page


@pytest.mark.parametrize("case", RISING, ids=lambda case: case["messages"][-1][:40])
def test_harmless_messages_count_together(case: dict[str, object]) -> None:
    messages = [str(text) for text in case["messages"]]  # type: ignore[attr-defined]
    assert not [text for text in messages if crisis_check.check(text).crisis], "each is harmless by itself"
    found = levels(messages)
    assert found[0] is Level.NONE
    if case.get("miss"):
        assert set(found) == {Level.NONE}, "found now: take the mark away"
    elif case.get("crisis"):
        assert Level.CRISIS in found
    else:
        assert {Level.CHECK_IN, Level.CRISIS} & set(found)


@pytest.mark.parametrize("messages", ORDINARY, ids=lambda messages: messages[0][:40])
def test_ordinary_conversations_are_quiet(messages: list[str]) -> None:
    assert set(levels(messages)) == {Level.NONE}


def test_with_the_encoder_more_is_found_and_the_ordinary_stays_quiet(near: RisingReader) -> None:
    for case in RISING:
        assert case.get("miss") or set(levels(case["messages"], near)) != {Level.NONE}, case
    for messages in ORDINARY:
        assert set(levels(messages, near)) == {Level.NONE}, messages
    unseen = ["it was nice knowing all of you", "my flatmate got my turntable, it's hers now"]
    assert levels(unseen) == [Level.NONE, Level.NONE]
    assert near.signs_of(unseen[0]) == {"goodbye"}


def test_a_verdict_says_that_the_conversation_was_read() -> None:
    verdict = READER.read([GIVEN, CALM])
    assert (verdict.level, verdict.reader, verdict.language) == (Level.CHECK_IN, "conversation", "en")


def test_only_the_last_messages_count_and_the_newest_must_carry_a_sign() -> None:
    between = ["nice weather"] * (WINDOW - 2)
    assert READER.read([GIVEN, *between, CALM]).level is Level.CHECK_IN
    assert READER.read([GIVEN, *between, "more of it", CALM]).level is Level.NONE
    assert READER.read([GIVEN, CALM, "nice weather"]).level is Level.NONE


def test_a_message_is_read_to_its_bound_and_any_text_is_taken() -> None:
    assert READER.read([GIVEN, "x " * (LONGEST // 2) + CALM]).level is Level.NONE
    for text in ("", "\ud800", "🙂" * 5000, "[" * 3000):
        assert READER.read([text, text]).level is Level.NONE
    assert READER.read([]).level is Level.NONE


def test_a_sign_that_no_rule_knows_is_refused_by_its_name(tmp_path: Path) -> None:
    broken = tmp_path / "signs.yaml"
    text = (FOLDER / "signs.en.yaml").read_text(encoding="utf-8")
    broken.write_text(text.replace("  goodbye:", "  godbye:"), encoding="utf-8")
    with pytest.raises(PromptFileError, match=r"signs\.yaml:\d+: .*godbye"):
        load_signs(broken)
