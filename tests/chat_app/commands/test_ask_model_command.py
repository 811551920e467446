"""`heard study ask-model` against a real server of OpenAI's protocol: asked, read strictly, gone on with, scored."""

import csv
from pathlib import Path

import pytest

from heard.prompts.library import PromptLibrary
from tests.commands import Done, heard
from tests.servers import ScriptedServer, refusal, reply

STUDY = 'id = "s"\nkind = "survey"\nsources = ["a", "b"]\nquestions = ["mine.toml"]\n'
MINE = """
id = "mine"
title = "Mine"
range = { min = 1, max = 5, labels = ["never", "always"] }
[[pages]]
text = "Think of **today**."
items = [
  { id = "own", kind = "single", text = "Do you feel?", options = [
    { value = "yes", label = "Yes" }, { value = "no", label = "No" },
  ] },
  { id = "warm", kind = "likert", text = "I am warm." },
  { id = "cold", kind = "likert", text = "I am cold." },
]
[[pages]]
items = [{ id = "much", kind = "slider", text = "How much?", range = { min = 0, max = 100 }, show_if = "own = yes" }]
[[scores]]
name = "warmth"
items = ["warm", "cold"]
reversed = ["cold"]
missing = 0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(MINE, encoding="utf-8")
    return tmp_path


def ask(folder: Path, server: ScriptedServer | None, *more: str) -> Done:
    url = server.base_url if server else "http://127.0.0.1:9"
    entry = f'one = {{ provider = "openai", model = "m", base_url = "{url}", temperature = 1 }}\n'
    (folder / "models.toml").write_text(entry, encoding="utf-8")
    return heard("study", "ask-model", "study.toml", "--model", "one", *more, folder=folder)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_model_is_asked_as_people_are_and_its_answers_are_scored(folder: Path) -> None:
    said = ("Yes.", "I would say 4, mostly.", "Four", "4", '"2 = between"', "70")
    with ScriptedServer(*map(reply, said)) as server:
        done = ask(folder, server, "--persona", "listener")
        assert done.status == 0, done.stderr
        sent = [[part["content"] for part in request["messages"]] for request in server.requests]
    assert "Asked: 4. There before: 0. Everything is in s-one-listener." in done.stdout
    assert "mine.warmth 4.00 - 1" in " ".join(done.stdout.split())
    library = PromptLibrary.load()
    assert {system for system, _ in sent} == {
        f"{library.personas['listener'].system}\n\n{library.item_answers.instructions}"
    }  # fmt: skip
    asked = [text for _, text in sent]
    assert asked[0] == (
        "Think of **today**.\n\nDo you feel?\n\nAnswer with the one word before the = that fits:\nyes = Yes\nno = No"
    )
    assert asked[1] == asked[2] == asked[3]
    assert asked[1].endswith(
        "number before the = that fits:\n1 = never\n2 = between\n3 = between\n4 = between\n5 = always"
    )
    assert asked[5] == "How much?\n\nAnswer with one number from 0 to 100."
    rows = table(folder / "s-one-listener" / "answers.csv")
    assert [(row["question"], row["value"], row["attempts"]) for row in rows] == [
        ("mine.own", "yes", "1"), ("mine.warm", "4", "3"), ("mine.cold", "2", "1"), ("mine.much", "70", "1")
    ]  # fmt: skip
    assert {(row["persona"], row["run"], len(row["prompt_sha256"])) for row in rows} == {("listener", "1", 64)}
    (score,) = table(folder / "s-one-listener" / "scores.csv")
    assert (score["score"], score["value"], score["answered"]) == ("warmth", "4.0000", "2")


def test_what_is_no_answer_after_three_tries_is_missing_and_branching_goes_by_its_own(folder: Path) -> None:
    with ScriptedServer(reply("no"), reply("warm"), reply("6"), reply("4 or 5"), reply("1")) as server:
        done = ask(folder, server)
        assert done.status == 0, done.stderr
        assert len(server.requests) == 5
        assert all(len(request["messages"]) == 2 for request in server.requests)
    assert "No answer could be read to 1 of the questions" in done.stdout
    rows = table(folder / "s-one" / "answers.csv")
    assert [(row["question"], row["value"], row["text"]) for row in rows] == [
        ("mine.own", "no", "no"), ("mine.warm", "", "4 or 5"), ("mine.cold", "1", "1")
    ]  # fmt: skip
    (score,) = table(folder / "s-one" / "scores.csv")
    assert (score["value"], score["answered"], score["items"]) == ("", "1", "2")


def test_a_run_that_broke_is_gone_on_with_and_more_runs_are_added(folder: Path) -> None:
    with ScriptedServer(reply("no"), refusal(400)) as server:
        done = ask(folder, server, "--out", "x")
        assert done.status == 2
        assert "run 1: " in done.stderr
        assert "Run the same command again" in done.stderr
        before = len(server.requests)
    assert before == 2
    with ScriptedServer(reply("4"), reply("2"), reply("no"), reply("2"), reply("2")) as server:
        (folder / "models.toml").unlink()
        first = ask(folder, server, "--out", "x")
        assert "Asked: 2. There before: 1." in first.stdout
        again = ask(folder, server, "--out", "x", "--times", "2")
        assert "Asked: 3. There before: 3." in again.stdout
        assert len(server.requests) == 5
    assert "mine.warmth 3.50 0.71 2" in " ".join(again.stdout.split())
    other = ask(folder, None, "--out", "x", "--persona", "listener")
    assert other.status == 2
    assert "x holds another set of answers" in other.sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("study.toml", "--model", "oen"), 'There is no model "oen". Did you mean one?'),
        (("study.toml", "--model", "one", "--persona", "lisener"), 'no persona "lisener". Did you mean listener?'),
        (("silent.toml", "--model", "one"), "Study q asks no questions."),
        (("sx", "--model", "one"), 'There is no study "sx".'),
    ],
)
def test_what_cannot_be_asked_is_told(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    (folder / "silent.toml").write_text('id = "q"\nkind = "survey"\nsources = ["a", "b"]\n', encoding="utf-8")
    (folder / "models.toml").write_text('one = { provider = "openai", model = "m", base_url = "http://127.0.0.1:9" }\n')
    done = heard("study", "ask-model", *arguments, folder=folder, HEARD_DATA_DIR=str(folder / "data"))
    assert sentence in done.sentence
