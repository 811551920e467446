"""Policy files that are read, and those that are refused."""

from pathlib import Path
from typing import get_args

import pytest

from heard.prompts.files import PromptFileError
from heard.prompts.library import PromptLibrary
from heard.prompts.policy_files import emotion_words
from heard.prompts.records import Policy, PolicyKind, Watched
from heard.scorer.records import READINGS

HEAD = "name: A\ndescription: b\n"
CRITIQUE = HEAD + "kind: critique\nbelow: 2\n"


def read(folder: Path, text: str, name: str = "mine") -> Policy:
    (folder / "policies").mkdir(exist_ok=True)
    (folder / "policies" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return PromptLibrary.load(folder).policies[name]


def test_what_comes_with_heard() -> None:
    shipped = PromptLibrary.load().policies
    assert list(shipped) == ["never", "below-threshold", "below-with-stops", "best-of-2", "best-of-3", "critique"]
    assert {policy.kind for policy in shipped.values()} == set(PolicyKind)
    below = shipped["below-threshold"]
    assert (below.below, below.most_drafts, below.guidance) == (1.7, 3, "weakest")
    assert (below.least_gain, below.stop_when_formulaic) == (None, False)
    assert shipped["never"].most_drafts == 1
    assert {policy.watches for policy in shipped.values()} == {"empathy"}


def test_every_number_of_a_score_can_be_watched(tmp_path: Path) -> None:
    assert set(get_args(Watched)) == set(READINGS)
    for number in READINGS:
        for kind in ("kind: below threshold\nbelow: 2\n", "kind: best of n\n"):
            assert read(tmp_path, f"{HEAD}{kind}watches: {number}\n").watches == number


def test_a_folder_adds_to_what_there_is_and_may_replace_it(tmp_path: Path) -> None:
    text = "kind: best of n\nmost_drafts: 9\norder: 0\n"
    assert read(tmp_path, HEAD + text).most_drafts == 9
    assert read(tmp_path, HEAD + text, "best-of-3").most_drafts == 9
    assert list(PromptLibrary.load(tmp_path).policies) == [
        "best-of-3",
        "mine",
        "never",
        "below-threshold",
        "below-with-stops",
        "best-of-2",
        "critique",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD, ["kind is missing"]),
        (HEAD + "kind: best of m\n", ['critique, not "best of m"', "Did you mean best of n?"]),
        (HEAD + "kind: never\nbelow: 2\n", ["below has no meaning for the kind never"]),
        (HEAD + "kind: best of n\nleast_gain: 0.1\n", ["least_gain has no meaning"]),
        (HEAD + "kind: never\nwatches: perceived\n", ["watches has no meaning for the kind never"]),
        (HEAD + "kind: below threshold\nbelow: 2\nwatches: percieved\n", ["watches", "Did you mean perceived?"]),
        (HEAD + "kind: best of n\nmost_drafts: 10\n", ["most_drafts", "from 2 to 9", "not 10"]),
        (HEAD + "kind: best of n\nmost_drafts: 1\n", ["from 2 to 9"]),
        (HEAD + "kind: best of n\nmost_draft: 2\n", ['unknown key "most_draft"', "Did you mean most_drafts?"]),
        (HEAD + "kind: below threshold\n", ["below is missing"]),
        (HEAD + "kind: below threshold\nbelow: 3.5\n", ["below must be a number from 1 to 3"]),
        (HEAD + "kind: below threshold\nbelow: true\n", ["below must be a number"]),
        (HEAD + "kind: below threshold\nbelow: .nan\n", ["below must be a number"]),
        (HEAD + "kind: below threshold\nbelow:\n", ["below is empty", "a number from 1 to 3"]),
        (HEAD + "kind: below threshold\nbelow: 2\nguidance: weekest\n", ["Did you mean weakest?"]),
        (HEAD + "kind: below threshold\nbelow: 2\nleast_gain: -1\n", ["least_gain", "from 0 to 2"]),
        (HEAD + "kind: below threshold\nbelow: 2\nstop_when_formulaic: 1\n", ["true or false"]),
        (HEAD + "kind: below threshold\nbelow: 2\ncritique: x\n", ["critique has no meaning"]),
        (CRITIQUE + "critique: x\n", ["rewrite is missing"]),
        (CRITIQUE + "critique: x\nrewrite: '{draft}'\n", ["{critique} exactly once"]),
        (CRITIQUE + "critique: x\nrewrite: '{draft} {draft} {critique}'\n", ["{draft} exactly once"]),
        (CRITIQUE + "critique: ' '\nrewrite: '{draft} {critique}'\n", ["critique is empty"]),
    ],
)  # fmt: skip
def test_a_faulty_policy_is_refused_with_file_fault_and_next_step(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(PromptFileError) as caught:
        read(tmp_path, text)
    for word in ["mine.yaml", *words]:
        assert word in str(caught.value)


def test_all_faults_of_all_policies_are_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "a.yaml").write_text(HEAD + "kind: never\nbelow: 2\norder: x\n", encoding="utf-8")
    with pytest.raises(PromptFileError) as caught:
        read(tmp_path, CRITIQUE + "most_drafts: 10\nrewrite: '{draft}'\n")
    assert len(caught.value.faults) == 5


def test_never_stays_what_it_says(tmp_path: Path) -> None:
    with pytest.raises(PromptFileError, match="while the switch is off"):
        read(tmp_path, HEAD + "kind: best of n\n", "never")


def test_the_words_of_emotion_are_a_set_of_words() -> None:
    words = emotion_words()
    assert {"lonely", "sorry", "overwhelmed"} <= words
    assert not {"and", "you", "the"} & words
