"""`heard study import` says what it read, and with --dry-run stores nothing."""

from pathlib import Path

import pytest

from tests.commands import Done, heard

STUDY = """
id = "mine"
kind = "survey"
sources = ["human"]

[[arms]]
name = "one"
persona = "listener"
model = "echo"
"""
ITEMS = (
    "sep=;\r\nid;questionText;answerText\r\n"
    '1;I am late again – and tired.;"<p>That&#39;s hard. What keeps you?</p>"\r\n'
    "2;I am late again – and tired.;Get up.\r\n"
    "3;I want to kill myself.;Call somebody.\r\n"
    "4;I won.;Great!\r\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "items.csv").write_bytes(ITEMS.encode("cp1252"))
    return tmp_path


def run(folder: Path, *arguments: str) -> Done:
    return heard("study", "import", "study.toml", "items.csv", *arguments, folder=folder)


TOLD = [
    "Read as Windows-1252: it is no UTF-8, and its letters fit that best. The first of them is in line 3.",
    "The cells are parted by semicolons.",
    "Mended: tags of HTML were taken off 1 text (the first in line 3).",
    "Mended: signs such as &amp; were written out in 1 text (the first in line 3).",
    "Passed over: 1 line (further responses to a message that has one).",
    "Passed over: 1 line (a crisis: such a message never reaches a model or a ballot).",
]


def test_a_dry_run_shows_the_first_items_and_stores_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = run(folder, "--format", "counselchat", "--dry-run")
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Encoding: Windows-1252",
        "line 3:",
        "  message: I am late again – and tired.",
        "  human: That's hard. What keeps you?",
        "  one: (still to be written)",
        "line 6:",
        "  message: I won.",
        "  human: Great!",
        "  one: (still to be written)",
        "message: 2 texts of 2 to 6 words, median 4",
        "human: 2 texts of 1 to 5 words, median 3",
        *TOLD,
        "Nothing was stored. Without --dry-run: 2 items of study mine.",
    ]
    assert sorted(folder.rglob("*")) == before


def test_the_import_says_the_same_and_stores(folder: Path) -> None:
    done = run(folder, "--columns", "message=questionText,reply=answerText")
    told = done.stdout.splitlines()
    assert told[:2] == TOLD[:2]
    assert told[2] == "Not read: the column id."
    assert told[3:7] == TOLD[2:]
    assert "Study mine is stored with 2 items." in told
    assert heard("study", "status", "mine", folder=folder).stdout.splitlines()[1] == "items        2"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "It looks like the public set counselchat: add --format counselchat."),
        (("--format", "counselcat"), 'There is no format "counselcat". Did you mean counselchat?'),
        (("--columns", "message=questionTxt,reply=answerText"), 'no column "questiontxt". Did you mean questiontext?'),
        (("--columns", "questionText"), "is no pair of names"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in run(folder, *arguments, "--dry-run").sentence


def test_one_stray_byte_is_named(folder: Path) -> None:
    (folder / "items.csv").write_bytes("Context,Response\nI won – at last.,Gré\n".encode() + b"I\x92m late.,Oh.\n")
    assert run(folder).sentence.startswith("items.csv, line 3: a byte (0x92) that is no UTF-8")
