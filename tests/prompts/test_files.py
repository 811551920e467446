"""Every fault of every prompt file at once, with the nearest right name; and edited files that are read again."""

import os
import shutil
from pathlib import Path

import pytest

from heard.prompts.build import build_prompt, for_reply, for_step
from heard.prompts.files import PromptFileError
from heard.prompts.library import PromptLibrary
from heard.prompts.system_prompt import LEVELS, TRAITS
from heard.prompts.variables import fill

PERSONA = "name: A\ndescription: b\nsystem: c\n"
STRATEGY = "name: A\ndescription: b\n"
TWO = "steps: [{name: one, instructions: x}, {name: two, instructions: 'y {one}'}]\ninstructions: 'z {two}'\n"


def faults(folder: Path) -> tuple[str, ...]:
    with pytest.raises(PromptFileError) as caught:
        PromptLibrary.load(folder)
    return caught.value.faults


def test_the_parts_of_a_persona_are_composed_in_one_order(folder: Path) -> None:
    (folder / "personas" / "whole.yaml").write_text(
        "culture: Say Sie.\nlanguage: German\ntraits: {perspective_taking: low, gender: man, empathic_concern: high}\n"
        "background: You were a baker, dear {persona_word}.\nvoice: You speak softly.\n"
        "system: You are a {persona_word}.\n"
        "name: A {persona_word}\ndescription: b\npersona_word: friend\ngreeting: I am your {persona_word}.\n",
        encoding="utf-8",
    )
    persona = PromptLibrary.load(folder).personas["whole"]
    assert persona.system.splitlines() == [
        "You are a friend.",
        "You speak softly.",
        "You were a baker, dear friend.",
        f"Your gender: man. {TRAITS['empathic_concern'][2]} {TRAITS['perspective_taking'][0]}",
        "Always answer in German.",
        "Say Sie.",
    ]
    assert (persona.name, persona.greeting) == ("A friend", "I am your friend.")
    assert persona.greeting not in persona.system


def test_each_level_of_a_trait_reads_differently_and_nothing_of_a_trait_is_said_without_one(folder: Path) -> None:
    for name in TRAITS:
        for level in LEVELS:
            path = folder / "personas" / f"{name}-{level}.yaml"
            path.write_text(f"{PERSONA}traits: {{{name}: {level}}}\n", encoding="utf-8")
    (folder / "personas" / "bare.yaml").write_text(PERSONA, encoding="utf-8")
    personas = PromptLibrary.load(folder).personas
    texts = {personas[f"{name}-{level}"].system for name in TRAITS for level in LEVELS}
    assert len(texts) == 9
    assert personas["bare"].system == "c"


def test_the_shipped_personas_use_the_parts() -> None:
    personas = PromptLibrary.load().personas
    assert all(
        words[2] in personas["neighbour"].system for name, words in TRAITS.items() if name != "similarity_of_experience"
    )
    assert "Your gender: woman." in personas["neighbour"].system
    assert personas["listener"].greeting
    assert personas["study"].greeting == personas["study"].system == ""


def test_the_strategies_of_the_literature_are_there_and_go_with_every_persona() -> None:
    library = PromptLibrary.load()
    assert {
        "plain", "definition", "chain-of-empathy", "chain-of-empathy-cbt", "chain-of-empathy-dbt",
        "chain-of-empathy-person", "chain-of-empathy-reality", "empathize-first", "hybrid", "multifaceted-feedback",
    } <= set(library.strategies)  # fmt: skip
    assert [one.id for one in library.strategies.values() if one.uses_reading] == ["hybrid"]
    for persona in library.personas.values():
        for strategy in library.strategies.values():
            values = {step.name: f"<{step.name}>" for step in strategy.steps} | {"emotion": "joy", "cause": "<cause>"}
            prompts = [build_prompt(*for_step(persona, strategy, step, values), [], "hello") for step in strategy.steps]
            prompts.append(build_prompt(persona, for_reply(strategy, values), [], "hello"))
            assert [prompt.max_tokens for prompt in prompts] == [
                *(step.max_tokens for step in strategy.steps), persona.max_tokens,
            ]  # fmt: skip
            for prompt in prompts:
                assert "hello" in prompt.messages[-1].content
                assert "{" not in "".join(message.content for message in prompt.messages), (persona.id, strategy.id)


def test_a_value_is_never_filled_in_turn() -> None:
    assert fill("{a} {b} {c} {", {"a": "{b}", "b": "{a}"}) == "{b} {a} {c} {"


PERSONA_FAULTS = {
    "background: Hi {persona_wrd}": "background uses {persona_wrd}, which nobody fills. Did you mean persona_word?",
    "voice: '{prompt}'": "voice uses {prompt}",
    "user_template: 'Say: {promt}'": "Did you mean prompt?",
    "greting: Hi": "Did you mean greeting?",
    "traits: {empathic_concerm: low}": "Did you mean empathic_concern?",
    "traits: {empathic_concern: hihg}": "Did you mean high?",
    "traits: {gender: 3}": "traits.gender must be a text, not 3",
    "traits: kind": "traits must hold keys",
    "language: [German]": "language must be a text, not a list",
    "language: yes": "language must be a text, not true: put it in quotes",
    "voice:": "voice is empty",
    "traits: {empathic_concern: }": "traits.empathic_concern is empty",
    "id: other": 'unknown key "id"',
    "system: d": '"system" is written twice',
    "voice: '{a} {b}'": "voice uses {b}, which nobody fills",
}
"""A last line of a sound persona, and what is said of it."""
STRATEGY_FAULTS = {
    TWO.replace("{two}", "{tow}"): "instructions uses {tow}, which nobody fills. Did you mean two?",
    TWO.replace("{two}", "no"): "nothing after the step two uses {two}",
    TWO.replace("'y {one}'", "'y {two}'"): "steps.2.instructions uses {two}, which nobody fills",
    "instructions: '{emotoin}'": "Did you mean emotion?",
    TWO.replace("name: two", "name: emotion"): "has a meaning already",
    TWO.replace("name: two", "name: one"): "has a meaning already",
    TWO.replace("name: two", "name: T-wo"): "because it is a variable",
    TWO.replace("instructions: x", "instructions: x, max_tokens: 0"): "whole number from 1 to 640",
    TWO.replace("instructions: x", "instructons: x"): "Did you mean instructions?",
    "id: other": "id is the name of the file",
    "steps: one": "steps must be a list",
    "steps: [one]": "steps.1 must hold keys such as name and instructions",
    "steps: [" + ", ".join(f"{{name: s{n}, instructions: x}}" for n in range(7)) + "]": "at most 6",
}
"""The rest of a strategy, and what is said of it."""


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        *(("personas", PERSONA + line, words) for line, words in PERSONA_FAULTS.items()),
        *(("strategies", STRATEGY + rest, words) for rest, words in STRATEGY_FAULTS.items()),
    ],
)
def test_a_fault_is_told_with_its_file_and_the_nearest_right_name(
    folder: Path, kind: str, content: str, words: str
) -> None:
    (folder / kind / "bad.yaml").write_text(content, encoding="utf-8")
    found = [fault for fault in faults(folder) if words in fault]
    assert found, faults(folder)
    assert all(str(folder / kind / "bad.yaml") in fault for fault in found)


def test_each_fault_says_the_line_of_its_key(folder: Path) -> None:
    text = PERSONA + "order: x\nstarters:\n  - label: a\n    message: b\n  - label: c\n    mesage: d\n"
    (folder / "personas" / "bad.yaml").write_text(text, encoding="utf-8")
    (folder / "strategies" / "bad.yaml").write_text(STRATEGY + "steps:\n  - {name: one,\n     instructions: '{x}'}\n")
    assert [fault.removeprefix(f"{folder}/").split(" ")[0] for fault in faults(folder)] == [
        "personas/bad.yaml:9:",
        "personas/bad.yaml:4:",
        "personas/bad.yaml:8:",
        "strategies/bad.yaml:5:",
        "strategies/bad.yaml:4:",
    ]


def test_a_wrong_text_is_not_repeated_whole(folder: Path) -> None:
    (folder / "personas" / "bad.yaml").write_text(f"{PERSONA}order: {'private ' * 9}\n", encoding="utf-8")
    (told,) = faults(folder)
    assert told.endswith("order must be a whole number from 0 to 1000000, not a text of 71 characters.")


def test_braces_that_are_no_variable_are_text(folder: Path) -> None:
    (folder / "personas" / "json.yaml").write_text("name: A\ndescription: b\nsystem: 'Say {\"a\": 1} or {} or {0}.'\n")
    assert PromptLibrary.load(folder).personas["json"].system == 'Say {"a": 1} or {} or {0}.'


def test_all_faults_of_all_files_come_at_once(folder: Path) -> None:
    (folder / "personas" / "a.yaml").write_text("nmae: A\nsystem: Hi {x}\nmax_tokens: no\n")
    (folder / "personas" / "b.yaml").write_text("- a list\n")
    (folder / "strategies" / "c.yaml").write_text("name: C\n")
    (folder / "guidance.yaml").write_text("cognitive: a\nemotional: '{y}'\n")
    found = faults(folder)
    assert [Path(fault.split(":")[0].split(" ")[0]).name for fault in found] == [
        "a.yaml", "a.yaml", "a.yaml", "a.yaml", "a.yaml", "b.yaml", "c.yaml", "guidance.yaml", "guidance.yaml",
    ]  # fmt: skip
    with pytest.raises(PromptFileError, match="And 8 more: `heard prompts check` lists them all"):
        PromptLibrary.load(folder)


def write(path: Path, text: str, *, later: int) -> None:
    """As an editor does some seconds later: a file system may not tell two writes of one moment apart."""
    path.write_text(text, encoding="utf-8")
    entry = path.stat()
    os.utime(path, ns=(entry.st_atime_ns, entry.st_mtime_ns + later * 1_000_000_000))


def test_edited_new_and_removed_files_are_taken_in(folder: Path) -> None:
    library = PromptLibrary.load(folder)
    before = library.personas["listener"]
    assert not library.edited
    assert not library.refresh()
    write(folder / "personas" / "listener.yaml", PERSONA, later=1)
    write(folder / "strategies" / "new.yaml", STRATEGY, later=1)
    (folder / "personas" / "quiet.yaml").unlink()
    assert library.edited
    assert library.refresh()
    assert (library.personas["listener"].system, before.system != "c") == ("c", True)
    assert "new" in library.strategies
    assert "quiet" not in library.personas
    assert library.fault is None
    assert not library.refresh()


def test_a_broken_edit_keeps_all_of_the_last_good_version_until_it_is_mended(folder: Path) -> None:
    library = PromptLibrary.load(folder)
    good = dict(library.personas)
    write(folder / "personas" / "listener.yaml", PERSONA, later=1)
    write(folder / "personas" / "coach.yaml", PERSONA + "oder: 2\n", later=1)
    assert library.refresh()
    assert library.personas == good
    assert library.fault is not None
    assert "coach.yaml" in library.fault
    assert "Did you mean order?" in library.fault
    write(folder / "personas" / "coach.yaml", PERSONA + "order: 2\n", later=2)
    assert library.refresh()
    assert library.fault is None
    assert (library.personas["listener"].system, library.personas["coach"].order) == ("c", 2)


def test_a_folder_that_goes_away_keeps_the_last_good_version(folder: Path) -> None:
    library = PromptLibrary.load(folder)
    good = dict(library.strategies)
    shutil.rmtree(folder / "strategies")
    assert library.refresh()
    assert library.strategies == good
    assert "holds no .yaml file" in str(library.fault)
