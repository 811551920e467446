"""The file of answers to questions about the bot: whole, short, and refused where an answer could not be filled in."""

import re
from pathlib import Path

import pytest

from heard.prompts.bot_answer_files import DEFAULT, VARIABLES, answer_text, bot_question_words, read_bot_answers
from heard.prompts.files import PromptFileError
from heard.prompts.library import BUILT_IN

OURS = BUILT_IN / "bot_answers.yaml"
ANSWERS = read_bot_answers(OURS)
VALUES = dict.fromkeys(VARIABLES, "X")


@pytest.mark.parametrize("intent", ANSWERS.intents)
def test_each_question_has_many_wordings_and_short_texts_for_every_persona(intent: str) -> None:
    texts, phrasings = ANSWERS.intents[intent].texts, ANSWERS.intents[intent].phrasings
    assert len(set(phrasings)) == len(phrasings) >= 25
    assert set(texts) >= {DEFAULT, "listener", "coach", "neighbour", "quiet"}
    for text in texts.values():
        # {readers} and {research} are a sentence each, of one's own.
        assert 1 <= len(re.findall(r"[.?!](?=\s|$)", re.sub(r"\{(readers|research)\}", "", text))) <= 3, text
        assert len(text) < 260


def test_no_wording_asks_for_two_answers() -> None:
    all_of_them = [text for intent in ANSWERS.intents.values() for text in intent.phrasings]
    assert sorted({text for text in all_of_them if all_of_them.count(text) > 1}) == []
    assert {*all_of_them} & {*bot_question_words().others} == set()


def test_a_persona_without_its_own_text_gets_the_default_and_two_questions_a_paragraph_each() -> None:
    own, default = (ANSWERS.intents["name"].texts[key] for key in ("quiet", DEFAULT))
    assert own != default
    filled = [text.replace("{name}", "Ann") for text in (own, default)]
    assert [answer_text(ANSWERS, ["name"], key, VALUES | {"name": "Ann"}) for key in ("quiet", "mine")] == filled
    assert answer_text(ANSWERS, ["name", "cost"], "quiet", VALUES).count("\n\n") == 1


def test_braces_in_a_value_are_not_filled_in_turn() -> None:
    assert "{stored}" in answer_text(ANSWERS, ["operator"], "quiet", VALUES | {"operator": "{stored}"})


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("run by {operator}. I'm the AI on it", "run by {operater}. I'm the AI on it", "uses {operater}, which nobody"),
        ("      default: No, I'm not a person.", "      defualt: No, I'm not a person.", 'has no "default"'),
        ("phrasings:\n      - are you real\n", "phrasing:\n      - are you real\n", "real.phrasings is missing"),
        ('    here: "{label},', '    here: "{name},', "uses {name}, which nobody fills"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path: Path, before: str, after: str, told: str) -> None:
    text = OURS.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path = tmp_path / "bot_answers.yaml"
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(PromptFileError) as refused:
        read_bot_answers(path)
    assert any(told in fault for fault in refused.value.faults), refused.value.faults
