"""The guard's words are read strictly: a fault is named with its file, its place and the nearest right name."""

from pathlib import Path

import pytest

from heard.prompts.files import PromptFileError
from heard.prompts.guard_files import FEWEST_FIXED, KINDS, load_guard, load_languages
from heard.prompts.safety_files import FOLDER


def test_what_ships_can_be_read() -> None:
    guard = load_guard()
    assert set(guard.kinds) == set(KINDS)
    assert {rule.kind for rule in guard.rules.values()} == set(KINDS) - {"language"}
    assert all(len(text.fixed) >= FEWEST_FIXED for text in guard.kinds.values())
    assert all(rule.reason is None or rule.reason.endswith(".") for rule in guard.rules.values())
    assert {"de", "fr", "es", "it", "pt", "nl"} <= set(load_languages())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "    if_said: [delusion]",
            "    if_said: [delusions]",
            'there is no topic "delusions". Did you mean delusion?',
        ),
        ("    kind: contact\n", "    kind: contacts\n", "rules.contact.kind"),
        ("  language:\n    reason", "  tongue:\n    reason", "language is missing"),
        ("    quoted: false\n", "    quotd: false\n", "Did you mean quoted?"),
        ("    quoted: false\n", "    quoted: never\n", "quoted must be"),
    ],
)
def test_a_fault_is_named(old: str, new: str, told: str, tmp_path: Path) -> None:
    text = (FOLDER / "guard.en.yaml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "guard.en.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(PromptFileError) as fault:
        load_guard(path)
    assert any("guard.en.yaml:" in one and told in one for one in fault.value.faults), fault.value.faults


def test_a_kind_with_too_few_fixed_sentences(tmp_path: Path) -> None:
    text = (FOLDER / "guard.en.yaml").read_text(encoding="utf-8")
    start = text.index("    fixed:\n", text.index("\n  mismatch:\n", text.index("\nkinds:\n")))
    path = tmp_path / "guard.en.yaml"
    path.write_text(text[:start] + "    fixed: [Tell me more.]\n", encoding="utf-8")
    with pytest.raises(PromptFileError, match=r"kinds\.mismatch\.fixed"):
        load_guard(path)
