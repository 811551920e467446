"""A folder of one's own holds what it changes, and takes all else from what comes with heard."""

import shutil
from pathlib import Path

import pytest

from heard.prompts.files import PromptFileError
from heard.prompts.library import BUILT_IN, PARTS, PromptLibrary
from heard.prompts.safety_files import load_lexicons
from tests.commands import heard

TEXTS = {
    "personas": "name: A\ndescription: b\nsystem: c\nexamples_of: listener\n",
    "strategies": "name: A\ndescription: b\n",
    "policies": "name: A\ndescription: b\nkind: best of n\n",
    "examples": "- kind: a\n  turns:\n  - said: hi\n    reply: Hello.\n",
    "guidance.yaml": "cognitive: understand\nemotional: warm\nbehavioral: help\n",
    "summary.yaml": "instructions: Sum it up.\n",
    "bot_answers.yaml": (
        "facts:\n  model: {here: a, elsewhere: b, told_later: c, untold: d}\n  operator: e\n"
        "  readers: {here: f, elsewhere: g, blind: h}\n  research: {allowed: i, refused: j}\n  stored: k\n"
        "intents: {real: {texts: {default: An AI.}, phrasings: [are you real]}}\n"
    ),
    "judge.yaml": "instructions: Rate it.\n",
    "item_answers.yaml": "instructions: Answer it.\n",
}
"""A sound file of each part."""
OURS = PromptLibrary.load()


def write(folder: Path, part: str, text: str) -> Path:
    path = folder / part if "." in part else folder / part / ("listener.yaml" if part == "examples" else "mine.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def held(library: PromptLibrary) -> dict[str, object]:
    """What a library holds of each part."""
    return {part: getattr(library, part.removesuffix(".yaml")) for part in PARTS}


@pytest.mark.parametrize("part", TEXTS)
def test_a_folder_with_one_part_takes_the_others_from_heard(tmp_path: Path, part: str) -> None:
    write(tmp_path, part, TEXTS[part])
    library = PromptLibrary.load(tmp_path)
    assert library.inherited == [other for other in TEXTS if other != part]
    for other, value in held(library).items():
        assert (value == held(OURS)[other]) == (other != part), other


def test_every_part_of_it_can_be_one_s_own(tmp_path: Path) -> None:
    for part, text in TEXTS.items():
        write(tmp_path, part, text)
    library = PromptLibrary.load(tmp_path)
    assert library.inherited == []
    assert (list(library.personas), list(library.strategies)) == (["mine"], ["mine"])
    assert set(library.policies) == {*OURS.policies, "mine"}
    assert library.examples | {"listener": ()} == OURS.examples | {"listener": ()}
    assert [one.exchanges for one in library.examples["listener"]] == [[("hi", "Hello.")]]
    assert (library.guidance["emotional"], library.summary.instructions) == ("warm", "Sum it up.")


def test_check_names_the_parts_that_come_with_heard(tmp_path: Path) -> None:
    write(tmp_path, "personas", TEXTS["personas"])
    done = heard("prompts", "check", "--folder", tmp_path)
    assert (done.status, "Those that come with heard: strategies, policies, examples" in done.stdout) == (0, True)


def test_a_part_that_comes_while_the_chat_runs_is_taken_in_and_one_that_goes_away_is_a_fault(tmp_path: Path) -> None:
    write(tmp_path, "personas", TEXTS["personas"])
    library = PromptLibrary.load(tmp_path)
    for part in ("strategies", "policies", "examples", "guidance.yaml", "summary.yaml", "bot_answers.yaml"):
        path = write(tmp_path, part, TEXTS[part])
        assert library.refresh()
        assert library.fault is None
        before = held(library)[part]
        assert before != held(OURS)[part]
        path.unlink() if "." in part else shutil.rmtree(path.parent)
        assert library.refresh()
        assert held(library)[part] == before, "ours must not take its place unseen"
        assert library.fault is not None
        write(tmp_path, part, TEXTS[part])
        assert library.refresh()
        assert library.fault is None


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("persona/a.yaml", "personas"),
        ("strategy/a.yaml", "strategies"),
        ("guidence.yaml", "guidance.yaml"),
        ("summary.yml", "summary.yaml"),
    ],
)
def test_a_misspelt_part_is_refused_because_ours_would_run_in_its_place(tmp_path: Path, name: str, right: str) -> None:
    write(tmp_path, "policies", TEXTS["policies"])
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("name: A\n", encoding="utf-8")
    with pytest.raises(PromptFileError, match=rf"{name.split('/')[0]} is not read\. Did you mean {right}\?"):
        PromptLibrary.load(tmp_path)


def test_a_folder_without_any_part_and_an_empty_part_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PromptFileError, match=r"holds no prompt files\. Put at least one of personas, strategies"):
        PromptLibrary.load(tmp_path)
    (tmp_path / "personas").mkdir()
    with pytest.raises(PromptFileError, match=r"personas holds no \.yaml file"):
        PromptLibrary.load(tmp_path)


def test_other_files_of_one_s_own_are_nobody_s_business(tmp_path: Path) -> None:
    write(tmp_path, "personas", TEXTS["personas"])
    for name in ("README.md", "guidance.yaml~", "notes.yaml"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    shutil.copytree(tmp_path / "personas", tmp_path / "personas-old")
    assert list(PromptLibrary.load(tmp_path).personas) == ["mine"]


def test_no_folder_can_take_a_language_or_a_number_from_the_crisis_check(tmp_path: Path) -> None:
    """A copy of ours is let be; one that differs would be believed to be in force, and is not."""
    shutil.copytree(BUILT_IN, tmp_path / "copy", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    folder, languages = tmp_path / "copy", [lexicon.language for lexicon in load_lexicons()]
    (folder / "safety" / "lexicon.zh.yaml").unlink()
    assert PromptLibrary.load(folder).inherited == []
    assert [lexicon.language for lexicon in load_lexicons()] == languages
    fixed = ("emotion_words.yaml", "bot_questions.yaml")
    for name in ("safety/lexicon.en.yaml", "safety/hotlines.yaml", "safety/lexicon.sv.yaml", *fixed):
        path = folder / name
        before = path.read_text(encoding="utf-8") if path.exists() else None
        path.write_text(f"{before or ''}# mine\n", encoding="utf-8")
        with pytest.raises(PromptFileError, match=rf"{name} is not read: .* always those that come with heard") as told:
            PromptLibrary.load(folder)
        assert len(told.value.faults) == 1
        path.write_text(before, encoding="utf-8") if before is not None else path.unlink()
