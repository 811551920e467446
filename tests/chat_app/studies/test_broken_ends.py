"""Which texts end in mid-sentence."""

import pytest

from heard.chat_app.studies.broken_ends import breaks_off

WHOLE = (
    "", " \n", "I hear you.", "Why?", "You did it!!", "Well…", 'She said "no."', "**You matter.**", "(I am here.)\n",
    "それは大変でしたね。", "यह कठिन है।", "هل أنت بخير؟", "I am with you 💙", "Rest.\n\nTake care",
    "Rest.\n\n- go to bed early tonight",
    "1. call a friend you trust", "ขอให้คุณสบายดีนะ และฉันอยู่ตรงนี้กับคุณ", "Kind regards,\nAnna B",
)  # fmt: skip
BROKEN = (
    "I hear you, and I", "That must be so hard,", "Here is what may help:", "You could try to (",
    "Rest.\n\nYou could also try the",
    "I hear you. You deserve to be treated with **care and", "一 二 三 四", "- first,",
)  # fmt: skip


@pytest.mark.parametrize("text", WHOLE)
def test_these_are_whole(text: str) -> None:
    assert not breaks_off(text)


@pytest.mark.parametrize("text", BROKEN)
def test_these_break_off(text: str) -> None:
    assert breaks_off(text)
    assert breaks_off(text, cut=True)


def test_after_a_limit_only_the_end_of_a_sentence_is_one() -> None:
    assert breaks_off("Rest.\n\n- go to bed", cut=True)
    assert breaks_off("Rest.\n\nTake care", cut=True)
    assert not breaks_off("Rest.", cut=True)
