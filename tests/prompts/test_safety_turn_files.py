"""The files of the turns about a person's safety: read, and refused with file, key and nearest name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heard.prompts.files import PromptFileError
from heard.prompts.safety_files import FOLDER
from heard.prompts.safety_turn_files import (
    in_language,
    load_after_handoff,
    load_check_in,
    load_recovery,
    load_support_prompt,
)

LOADERS: dict[str, Callable[[Path], Any]] = {
    "after_handoff": load_after_handoff,
    "check_in": load_check_in,
    "recovery": load_recovery,
    "support_prompt": load_support_prompt,
}


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert old in text
    path = folder / f"{name}.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("after_handoff", "person: {affirmed: somebody,", "person: {affirmed: somebdy,", "Did you mean somebody"),
        ("after_handoff", "    unclear:\n", "    unclaer:\n", 'no intent "unclear"'),
        ("after_handoff", "      urgent: true", "      urgnet: true", "Did you mean urgent"),
        ("after_handoff", "please {numbers} now", "please {nubmers} now", "Did you mean numbers"),
        ("after_handoff", "asks: call", "asks: cal", "call"),
        ("after_handoff", 'call: "call {call}"', 'call: "call them"', "exactly once"),
        ("after_handoff", "en:\n  numbers", "de:\n  numbers", "no English text"),
        ("check_in", "at any time you can {numbers}", "at any time you can call", "must hold {numbers} exactly once"),
        ("check_in", "  question:", "  qestion:", "question"),
        ("recovery", "en:", "fr:", "no English text"),
        ("support_prompt", "max_tokens: 160", "max_tokens: 0", "max_tokens"),
    ],
)
def test_a_broken_file_is_refused_with_its_fault(tmp_path: Path, name: str, old: str, new: str, fault: str) -> None:
    path = changed(tmp_path, name, old, new)
    with pytest.raises(PromptFileError) as error:
        LOADERS[name](path)
    assert fault in "\n".join(error.value.faults)
    assert str(path) in str(error.value)


def test_a_language_that_is_not_there_falls_back_to_english() -> None:
    texts = load_after_handoff()
    assert in_language(texts, "sw") is in_language(texts, None) is texts["en"]
