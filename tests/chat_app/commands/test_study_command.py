"""`heard study` on a real database and a real server that plays the model; what is cut off, as a process of its own."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.models.downloads import Weights
from tests import commands, servers
from tests.commands import Done
from tests.servers import ScriptedServer

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "example-study"
COMMAND = [sys.executable, "-c", "from heard.chat_app.cli import main; main()", "study"]
STUDY = """
id = "mine"
kind = "survey"
{sources}
auto_improve = "{improve}"

[[arms]]
name = "one"
persona = "listener"
model = "{model}"

[[arms]]
name = "two"
persona = "study"
model = "{model}"
"""
QUESTIONS = "message\n" + "".join(f"What about day {number}?\n" for number in range(1, 7))


@pytest.fixture
def folder(tmp_path: Path, weights: Weights) -> Path:
    """A fresh folder to work in; asking for the weights here keeps their download out of the commands."""
    write_study(tmp_path)
    (tmp_path / "questions.csv").write_text(QUESTIONS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[ScriptedServer]:
    with ScriptedServer(servers.reply("That sounds really hard.")) as running:
        entry = f'provider = "openai", model = "m", base_url = "{running.base_url}"'
        (folder / "models.toml").write_text(f"scripted = {{ {entry} }}\n", encoding="utf-8")
        write_study(folder, model="scripted")
        yield running


def write_study(folder: Path, model: str = "echo", sources: str = "", improve: str = "off") -> None:
    text = STUDY.format(model=model, sources=sources, improve=improve)
    (folder / "study.toml").write_text(text, encoding="utf-8")


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "HEARD_SAVE_SECONDS": "5"}


def heard(folder: Path, *arguments: str | Path, code: int = 0) -> Done:
    """Run `heard study ...` in `folder`."""
    done = commands.heard("study", *arguments, folder=folder)
    assert done.status == code, (done.stdout, done.stderr)
    return done


def refused(folder: Path, *arguments: str | Path) -> str:
    """The one sentence of a command that is refused."""
    return heard(folder, *arguments, code=2).sentence


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "var" / "heard.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def whole(folder: Path) -> dict[tuple[str, str], tuple[Any, ...]]:
    """The whole answers, by item and source."""
    if not (folder / "var" / "heard.db").exists():
        return {}
    try:
        found = rows(folder, "SELECT item_id, source, id, text, drafts FROM answer WHERE status = 'complete'")
    except sqlite3.OperationalError:  # the tables are being made
        return {}
    return {(item, source): rest for item, source, *rest in found}  # type: ignore[misc]


def test_the_example_from_its_file_to_its_status(folder: Path) -> None:
    (folder / "study.toml").write_text(
        (EXAMPLE / "study.toml")
        .read_text(encoding="utf-8")
        .replace('model = "smollm2"', 'model = "echo"')
        # Off: what repeats a person speaks of itself as one.
        .replace('kind = "survey"', 'kind = "survey"\nguard = false'),
        encoding="utf-8",
    )
    done = heard(folder, "import", "study.toml", EXAMPLE / "items.csv")
    assert "Study example is stored with 4 items." in done.stdout
    assert "Next: heard study generate example" in done.stdout
    done = heard(folder, "generate", "example")
    assert "Written: 6. There before: 0. Failed: 0." in done.stdout
    assert "/survey/example" in done.stdout
    done = heard(folder, "generate", "study.toml")
    assert "Written: 0. There before: 6. Failed: 0." in done.stdout
    status = heard(folder, "status", "example").stdout
    for line in (
        "example (survey)",
        "items        4, 1 of them for attention",
        "answers      human: 3 complete",
        "answers      lighthouse: 1 complete",
        "answers      listener: 3 complete",
        "people       0",
        "votes        0 on 0 ballots",
    ):
        assert line in status.splitlines()
    made = rows(
        folder, "SELECT text, words, score_status, total_seconds, prompt_sha256, leak FROM answer WHERE NOT human"
    )
    arms = [row for row in made if row[0].startswith("I hear you say")]
    assert len(arms) == 6
    for text, words, score_status, seconds, sha256, leak in arms:
        assert words == len([piece for piece in text.split() if any(map(str.isalnum, piece))])
        assert (score_status is not None, seconds > 0, len(sha256), leak) == (True, True, 64, "[]")


def test_the_example_with_the_embedded_model(folder: Path) -> None:
    heard(folder, "import", EXAMPLE / "study.toml", EXAMPLE / "items.csv")
    done = heard(folder, "generate", EXAMPLE / "study.toml", "--limit", "1")
    assert "Written: 2. There before: 0. Failed: 0." in done.stdout
    found = rows(
        folder, "SELECT source, text, completion_tokens, model FROM answer WHERE persona IS NOT NULL AND text <> ''"
    )
    assert sorted(row[0] for row in found) == ["listener", "listener-defined"]
    # No count where the gate ended the reply, and no model where the guard had to put a text of its own.
    assert all((tokens is None or 0 <= tokens <= 640) and model == "smollm2" for _, _, tokens, model in found)


def test_the_example_questions_and_the_live_study(folder: Path) -> None:
    done = heard(folder, "generate", "study.toml", EXAMPLE / "questions.csv")
    assert "Written: 4." in done.stdout
    done = heard(folder, "import", EXAMPLE / "live.toml")
    assert 'blind_study = "example-live"' in done.stdout
    assert "example-live (live)" in heard(folder, "status").stdout
    assert "is live" in refused(folder, "generate", EXAMPLE / "live.toml")
    assert "has no items" in refused(folder, "import", EXAMPLE / "live.toml", EXAMPLE / "items.csv")


def test_generate_survives_kill_9_and_repeats_nothing(folder: Path, server: ScriptedServer) -> None:
    server.scripts = (servers.reply("That sounds really hard, and you said it well.", pause=0.05),)
    running = subprocess.Popen(
        [*COMMAND, "generate", "study.toml", "questions.csv"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ScriptedServer.wait_until(lambda: len(whole(folder)) >= 3, "three answers", 60)
    running.send_signal(signal.SIGKILL)
    running.wait(10)
    before, asked = whole(folder), len(server.requests)
    assert 3 <= len(before) < 12
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    assert asked <= len(before) + 1  # at most the one that was being written is lost

    server.scripts = (servers.reply("I hear you."),)
    done = heard(folder, "generate", "study.toml", "questions.csv")
    assert f"Written: {12 - len(before)}. There before: {len(before)}. Failed: 0." in done.stdout
    after = whole(folder)
    assert len(after) == 12
    assert {key: after[key] for key in before} == before
    assert len(server.requests) - asked == 12 - len(before)


def test_ctrl_c_loses_nothing(folder: Path, server: ScriptedServer) -> None:
    server.scripts = (servers.reply("That sounds really hard, and you said it well.", pause=0.05),)
    running = subprocess.Popen(
        [*COMMAND, "generate", "study.toml", "questions.csv"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    ScriptedServer.wait_until(lambda: len(whole(folder)) >= 2, "two answers", 60)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "the same command goes on" in told
    assert "Traceback" not in told
    assert len(whole(folder)) >= len(server.requests) - 1
    server.scripts = (servers.reply("I hear you."),)
    heard(folder, "generate", "mine")
    assert len(whole(folder)) == 12


def test_a_failure_is_tried_once_more_within_a_run(folder: Path, server: ScriptedServer) -> None:
    server.scripts = (servers.refusal(400), servers.reply("I hear you."))
    done = heard(folder, "generate", "study.toml", "questions.csv", "--limit", "2")
    assert "Written: 4. There before: 0. Failed: 0." in done.stdout
    assert len(server.requests) == 5


def test_an_answer_that_breaks_off_is_drawn_again_with_more_room_and_else_refused(
    folder: Path, server: ScriptedServer
) -> None:
    write_study(folder, model="scripted")
    length = ("I hear you. You carry so", "You carry so much, and", "You carry so", "You carry so", "You carry so")
    first, second, *never = (servers.reply(text, finish="length") for text in length)
    server.scripts = (
        first,  # what the persona's bound leaves of it is whole
        second,
        servers.reply("You carry so much, and that is hard."),
        *never,
        servers.reply("You carry so much and then some"),  # the server says that it is whole
    )
    done = heard(folder, "generate", "study.toml", "questions.csv", "--limit", "2", code=2)
    assert [request["max_tokens"] for request in server.requests] == [80, 640, 1280, 80, 160, 160, 640, 1280, 1280]
    assert "Written: 2. There before: 0. Failed: 2." in done.stdout
    assert "item 2, one: It broke off in mid-sentence." in done.stderr
    assert rows(folder, "SELECT text FROM answer WHERE status = 'complete' AND text <> '' ORDER BY text") == [
        ("I hear you.",), ("You carry so much, and that is hard.",),
    ]  # fmt: skip
    assert "1 complete, 1 failed" in heard(folder, "status", "mine").stdout


def test_failures_are_listed_and_gone_on_with(folder: Path, server: ScriptedServer) -> None:
    server.scripts = (servers.refusal(400, "zebra"),)
    done = heard(folder, "generate", "study.toml", "questions.csv", code=2)
    assert "Written: 0. There before: 0. Failed: 5." in done.stdout
    told = done.stderr.strip().splitlines()
    assert sum(line.startswith("item ") and "refused the request (status 400)" in line for line in told) == 5
    assert "7 answers of scripted were not tried" in done.stderr
    assert "zebra" not in done.stderr
    assert "Run the same command again" in told[-1]
    assert len(server.requests) == 5
    status = heard(folder, "status", "mine").stdout
    assert "answers      one: 3 failed, 3 pending" in status
    assert "answers      two: 2 failed, 4 pending" in status
    server.scripts = (servers.reply("I hear you."),)
    done = heard(folder, "generate", "mine")
    assert "Written: 12. There before: 0. Failed: 0." in done.stdout
    assert rows(folder, "SELECT count(*) FROM answer WHERE status = 'complete' AND error IS NULL") == [(12,)]


def test_an_answer_has_its_personas_bound_and_its_own_model(folder: Path, server: ScriptedServer) -> None:
    heard(folder, "generate", "study.toml", "questions.csv", "--limit", "1")
    assert [request["max_tokens"] for request in server.requests] == [80, 640]
    assert rows(folder, "SELECT DISTINCT model FROM answer") == [("scripted",)]


def test_a_trial_of_improvement_assigns_by_chance_and_keeps_it(folder: Path, server: ScriptedServer) -> None:
    write_study(folder, model="scripted", improve="trial")
    server.scripts = (servers.reply("Okay. Weeks come and go, and there will be other ones."),)
    heard(folder, "generate", "study.toml", "questions.csv")
    found = rows(folder, "SELECT improve_assigned, drafts, improved FROM answer")
    assert {assigned for assigned, _, _ in found} == {0, 1}
    for assigned, drafts, improved in found:
        numbers = [draft["number"] for draft in json.loads(drafts)]
        assert numbers == ([1, 2, 3] if assigned else [1])
        assert sum(draft["kept"] for draft in json.loads(drafts)) == 1
        assert improved in (0, 1)
    before = rows(folder, "SELECT item_id, source, improve_assigned FROM answer ORDER BY 1, 2")
    connection = sqlite3.connect(folder / "var" / "heard.db")
    connection.execute("UPDATE answer SET status = 'failed', improve_assigned = NULL")
    connection.commit()
    connection.close()
    heard(folder, "generate", "study.toml")
    assert rows(folder, "SELECT item_id, source, improve_assigned FROM answer ORDER BY 1, 2") == before


def test_a_second_import_keeps_what_was_generated_unless_its_arm_has_changed(
    folder: Path, server: ScriptedServer
) -> None:
    (folder / "items.csv").write_text("Context,Response\nOne?,Yes.\nTwo?,No.\n", encoding="utf-8")
    write_study(folder, model="scripted", sources='sources = ["human"]')
    heard(folder, "import", "study.toml", "items.csv")
    heard(folder, "generate", "mine")
    before = whole(folder)
    (folder / "items.csv").write_text("Context,Response\nTwo?,No.\nThree?,Hm.\nOne?,Yes.\n", encoding="utf-8")
    heard(folder, "import", "study.toml", "items.csv")
    arms = {key: rest for key, rest in before.items() if key[1] != "human"}
    kept = whole(folder)
    assert len(kept) == 7
    assert {key: kept[key] for key in arms} == arms
    text = (folder / "study.toml").read_text(encoding="utf-8").replace('persona = "study"', 'persona = "coach"')
    (folder / "study.toml").write_text(text, encoding="utf-8")
    heard(folder, "import", "study.toml", "items.csv")
    assert Counter(source for _, source in whole(folder)) == {"human": 3, "one": 2}
    seeds = rows(folder, "SELECT json_extract(definition, '$.seed') FROM study")
    heard(folder, "import", "study.toml", "items.csv")
    assert rows(folder, "SELECT json_extract(definition, '$.seed') FROM study") == seeds
    assert len(seeds[0][0]) == 32


def test_a_study_that_has_begun_is_not_written_to(folder: Path, server: ScriptedServer) -> None:
    heard(folder, "generate", "study.toml", "questions.csv")
    connection = sqlite3.connect(folder / "var" / "heard.db")
    connection.execute("INSERT INTO participant (id, created_at) VALUES ('p', '2026-05-01 00:00:00')")
    (item,) = connection.execute("SELECT id FROM item LIMIT 1").fetchone()
    connection.execute(
        "INSERT INTO ballot (id, study_id, participant_id, number, item_id, order_seed, order_row, drawn_at) "
        "VALUES (?, 'mine', 'p', 1, ?, 1, 0, '2026-05-01 00:00:00')",
        (str(uuid.uuid4()), item),
    )
    connection.execute("UPDATE answer SET status = 'failed' WHERE id IN (SELECT id FROM answer LIMIT 1)")
    connection.commit()
    connection.close()
    asked = len(server.requests)
    assert "Give the changed study a new name" in refused(folder, "generate", "mine")
    write_study(folder, model="echo")
    assert "Give the changed study a new name" in refused(folder, "generate", "study.toml")
    assert len(server.requests) == asked


def test_more_questions_are_added_to_those_there_are(folder: Path) -> None:
    done = heard(folder, "generate", "study.toml", "questions.csv", "--limit", "2")
    assert "Written: 4." in done.stdout
    done = heard(folder, "generate", "study.toml", "questions.csv", "--limit", "3")
    assert "Written: 2. There before: 4." in done.stdout
    done = heard(folder, "generate", "mine", "questions.csv", "--limit", "1")
    assert "Written: 0. There before: 2." in done.stdout
    assert rows(folder, "SELECT number FROM item ORDER BY number") == [(1,), (2,), (3,)]


def test_what_can_be_wrong_is_one_sentence(folder: Path) -> None:
    assert "There is no study yet" in refused(folder, "status")
    assert 'There is no study "mine"' in refused(folder, "generate", "mine")
    assert "has no items yet" in refused(folder, "generate", "study.toml")
    assert "is a survey and needs its items" in refused(folder, "import", "study.toml")
    assert "cannot be read" in refused(folder, "import", "study.toml", "none.csv")
    assert "cannot be read" in refused(folder, "generate", "none.toml")
    (folder / "items.csv").write_text("message,human\nHi?,Hello.\n", encoding="utf-8")
    assert 'no source "human"' in refused(folder, "import", "study.toml", "items.csv")
    write_study(folder, model="smolm2")
    assert 'arm one: no model "smolm2". Did you mean smollm2?' in refused(folder, "import", "study.toml", "items.csv")
    (folder / "study.toml").write_text('id = "mine"\nknid = "survey"\n', encoding="utf-8")
    assert "knid" in refused(folder, "import", "study.toml", "items.csv")


def test_a_crisis_among_questions_reaches_no_model(folder: Path, server: ScriptedServer) -> None:
    (folder / "questions.csv").write_text("message\nI want to kill myself.\nI am late.\n", encoding="utf-8")
    done = heard(folder, "generate", "study.toml", "questions.csv")
    assert "Passed over: 1 line (a crisis" in done.stdout
    assert len(server.requests) == 2
    assert "kill" not in json.dumps(server.requests)
    assert rows(folder, "SELECT message FROM item") == [("I am late.",)]
