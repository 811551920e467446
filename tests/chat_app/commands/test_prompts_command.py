"""`heard prompts`: every fault at once, and the exact messages of every call with their sha256."""

import re
import shutil
from pathlib import Path

import pytest

from heard.prompts.build import build_prompt
from heard.prompts.library import BUILT_IN, PromptLibrary
from tests.commands import heard

SHA = re.compile(r"sha256 ([0-9a-f]{64})(.*)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BUILT_IN, tmp_path / "prompts", ignore=shutil.ignore_patterns("*.py", "__pycache__")))


def test_check_lists_what_there_is_and_the_hidden_steps(folder: Path) -> None:
    done = heard("prompts", "check", "--folder", folder)
    assert done.status == 0
    assert "neighbour" in done.stdout
    assert re.search(r"multifaceted-feedback +Multi-faceted feedback \(2 hidden steps\)", done.stdout)
    assert re.search(r"policy +best-of-3 +Best of three", done.stdout)
    assert re.search(r"examples +quiet +\d{3} exchanges, \d+ of several turns\n", done.stdout)
    (folder / "personas" / "quiet.yaml").unlink()
    assert re.search(
        r"examples +quiet .*; no persona shows them\n", heard("prompts", "check", "--folder", folder).stdout
    )


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("policies/mine.yaml", "name: A\ndescription: b\nkind: best of m\n", "best of n"),
        ("summary.yaml", "instruction: Sum it up.\n", "Did you mean instructions?"),
    ],
)
def test_check_reads_policies_and_the_summary_too(folder: Path, file: str, text: str, words: str) -> None:
    (folder / file).write_text(text)
    done = heard("prompts", "check", "--folder", folder)
    assert done.status == 2
    assert words in done.stderr


def test_check_names_every_fault_and_ends_with_status_2(folder: Path) -> None:
    (folder / "personas" / "a.yaml").write_text("name: A\ndescription: b\nsystem: Hi {nmae}\nsytem: c\n")
    (folder / "strategies" / "b.yaml").write_text("name: B\ndescription: b\ninstructions: '{cuase}'\n")
    done = heard("prompts", "check", "--folder", folder)
    assert done.status == 2
    *faults, end = done.stderr.splitlines()
    assert len(faults) == 3
    assert "Did you mean system?" in faults[0]
    assert "{nmae}, which nobody fills" in faults[1]
    assert "Did you mean cause?" in faults[2]
    assert end == "heard: 3 faults in the prompt files. Mend them all."


def test_show_prints_what_is_sent_and_its_sha256() -> None:
    done = heard("prompts", "show", "coach", "definition", "--message", "Hello {x}", "--no-examples")
    library = PromptLibrary.load()
    prompt = build_prompt(library.personas["coach"], library.strategies["definition"], [], "Hello {x}")
    found = SHA.findall(done.stdout)
    assert found == [(prompt.sha256, "")]
    for message in prompt.messages:
        assert f"--- {message.role}\n{message.content}\n" in done.stdout


def test_show_prints_every_step_with_its_variables_in_their_place() -> None:
    done = heard("prompts", "show", "listener", "multifaceted-feedback", "--no-examples")
    assert re.findall(r"^=== (.*)$", done.stdout, re.MULTILINE) == [
        "step draft, hidden", "step critique, hidden", "reply",
    ]  # fmt: skip
    assert [rest for _, rest in SHA.findall(done.stdout)] == [
        "", ", with {draft} not filled in", ", with {draft} and {critique} not filled in",
    ]  # fmt: skip
    assert "This is a draft of a reply to them: {draft}\n" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["lisener"], "Did you mean listener?"), (["listener", "plian"], "Did you mean plain?")],
)
def test_an_unknown_name_is_refused(arguments: list[str], words: str) -> None:
    assert words in heard("prompts", "show", *arguments).sentence
