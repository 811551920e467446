"""`heard evaluate-voice` as people call it: runs, files of replies, sheets, marks, and what is refused."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from tests.chat_app.voice.saying import CREAM, GLAD, MESSAGES, NAN, PLAIN, SORRY, lines, said, served, written
from tests.commands import Done, heard
from tests.servers import ScriptedServer, refusal, reply

HEARD = "You have told me something that matters. What happened then?"
COMMAND = [sys.executable, "-c", "from heard.chat_app.cli import main; main()", "evaluate-voice"]
RUN = ("--model", "one", "--messages", "messages.yaml", "--at-once", "1")
ALL = {
    "good_news-01": GLAD, "bad_news-01": SORRY, "everyday-01": PLAIN, "grief-talk-1.1": NAN, "grief-talk-1.2": CREAM,
}  # fmt: skip
BAD = {
    **ALL, "good_news-01": "I love you too!", "bad_news-01": "I'm so sorry for your loss. Take 400 mg of",
}  # fmt: skip
FIVE = (reply(GLAD), reply(SORRY), reply(PLAIN), reply(NAN), reply(CREAM))


@pytest.fixture
def folder(tmp_path: Path, weights: Weights) -> Path:
    """A fresh folder with messages; asking for the weights here keeps their download out of the commands."""
    (tmp_path / "messages.yaml").write_text(MESSAGES, encoding="utf-8")
    return tmp_path


def voice(folder: Path, *arguments: str) -> Done:
    return heard("evaluate-voice", *arguments, folder=folder)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


# Runs


def test_a_run_writes_its_file_and_shows_its_tables(folder: Path) -> None:
    (folder / "card.md").write_text("# Voice\n\n<!-- figures -->\n<!-- end of figures -->\n", encoding="utf-8")
    with served(folder, *FIVE) as server:
        done = voice(folder, *RUN, "--card", "card.md")
        assert done.status == 0, done.stderr
        assert "Written: 6. There before: 0. Failed: 0." in done.stdout
        assert len(server.requests) == 5
        again = voice(folder, *RUN)
        assert "Written: 0. There before: 6. Failed: 0." in again.stdout
        assert len(server.requests) == 5
    for words in ("Replies as a person reads them", "whole last sentence", "5 of 6", "Drafts as the model wrote them"):
        assert words in done.stdout
    assert "| whole last sentence | 100.0% (" in (folder / "card.md").read_text(encoding="utf-8")
    head = json.loads((folder / "voice.jsonl").read_text(encoding="utf-8").splitlines()[0])["heard"]
    assert head["command"] == "evaluate-voice"
    assert {name: list(head[name]) for name in ("models", "personas", "strategies", "policies", "heads")} == {
        "models": ["one"], "personas": ["listener"], "strategies": ["plain"], "policies": ["never"],
        "heads": ["both"],
    }  # fmt: skip
    assert (len(head["prompts"]), head["seeds"]) == (64, {"first": "2026"})
    assert {line["id"]: line["reply"] for line in lines(folder / "voice.jsonl")} == ALL | {"worry-01": ""}
    assert not (folder / "var").exists(), "the chat's own database is left alone"


def test_failures_are_told_and_end_with_status_2(folder: Path) -> None:
    with served(folder, reply(GLAD), refusal(400, "no, KEY-7"), *FIVE[2:]):
        done = voice(folder, *RUN)
    assert done.status == 2
    assert "Written: 5. There before: 0. Failed: 1." in done.stdout
    assert "bad_news-01: " in done.stderr
    assert "KEY-7" not in done.stdout + done.stderr
    assert done.stderr.endswith("Run the same command again to go on with them.\n")


def test_kill_9_repeats_no_conversation_that_had_ended(folder: Path) -> None:
    with served(folder, reply(HEARD, pause=0.05)) as server:
        running = subprocess.Popen(
            [*COMMAND, *RUN], cwd=folder, env=dict(os.environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        ScriptedServer.wait_until(lambda: len(lines(folder / "voice.jsonl")) >= 2, "some replies", 60)
        running.send_signal(signal.SIGKILL)
        running.wait(10)
        with (folder / "voice.jsonl").open("ab") as file:
            file.write(b'{"id": "everyday-01", "rep')  # a line that the end has torn
        ended = {line["id"] for line in lines(folder / "voice.jsonl")}
        assert 2 <= len(ended) < 6
        server.scripts = (reply(HEARD),)
        done = voice(folder, *RUN)
        assert done.status == 0, done.stderr
        assert f"There before: {len(ended)}." in done.stdout
        counts = Counter(said(server))
    assert len(lines(folder / "voice.jsonl")) == 6
    assert counts["i passed my driving test!!!"] == counts["got laid off today"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--model", "ecko"), 'No model "ecko". Did you mean echo?'),
        (("--persona", "lisener"), 'No persona "lisener". Did you mean listener?'),
        (("--messages", "nowhere.yaml"), "nowhere.yaml cannot be read"),
        (("--out", "messages.yaml"), "messages.yaml, line 1: no line of a journal."),
        (("--out", "."), ". is a folder. Give a file with --out."),
    ],
)
def test_what_is_not_there_is_refused(folder: Path, arguments: tuple[str, str], sentence: str) -> None:
    assert sentence in voice(folder, "--model", "echo", "--messages", "messages.yaml", *arguments).sentence
    assert (folder / "messages.yaml").read_text(encoding="utf-8") == MESSAGES


def test_the_file_of_another_run_is_refused_and_kept(folder: Path) -> None:
    given = ("--model", "echo", "--messages", "messages.yaml", "--limit", "1")
    assert voice(folder, *given).status == 0
    before = (folder / "voice.jsonl").read_bytes()
    assert "its personas are listener. Give another file" in voice(folder, *given, "--persona", "quiet").sentence
    assert "its messages are others" in voice(folder, *given, "--limit", "2").sentence
    assert (folder / "voice.jsonl").read_bytes() == before


# Replies that were written elsewhere


def test_the_messages_are_listed_for_whoever_answers_them_elsewhere(folder: Path) -> None:
    listed = [json.loads(line) for line in voice(folder, "messages", "--messages", "messages.yaml").stdout.splitlines()]
    assert [one["id"] for one in listed][-2:] == ["grief-talk-1.1", "grief-talk-1.2"]
    assert listed[-1] == {
        "id": "grief-talk-1.2", "conversation": "grief-talk-1", "turn": 2, "kind": "grief",
        "message": "i keep smelling her hand cream",
    }  # fmt: skip
    assert len(voice(folder, "messages").stdout.splitlines()) == 320


def test_replies_of_elsewhere_are_judged_beside_others(folder: Path) -> None:
    written(folder / "now.jsonl", ALL)
    written(folder / "before.jsonl", BAD)
    given = ("--replies", "now.jsonl", "--replies", "before.jsonl")
    done = voice(folder, *given, "--messages", "messages.yaml")
    assert done.status == 0, done.stderr
    line = next(one for one in done.stdout.splitlines() if "condoles where nobody has died" in one)
    assert "0 of 3" in line
    assert "1 of 3" in line
    assert "before, love: good_news-01" in done.stdout
    assert "before, medical: bad_news-01" in done.stdout
    assert "before, unfinished: bad_news-01" in done.stdout
    assert "now, " not in done.stdout
    assert "Drafts as the model wrote them" not in done.stdout, "there are none of elsewhere"
    assert not (folder / "voice.jsonl").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "replies.jsonl holds no reply."),
        (b"\xff\xfe\n", "replies.jsonl, line 1: no JSON in UTF-8."),
        (b"[1]\n", "replies.jsonl, line 1: it must be"),
        (b'{"id": "good_news-01"}\n', "replies.jsonl, line 1: reply is missing."),
        (b'{"id": "good_news-01", "reply": 3}\n', "replies.jsonl, line 1: reply must be"),
        (b'{"id": "good_news-1", "reply": "a"}\n', "the set has no message of that id. Did you mean good_news-01"),
        (b'{"id": "k", "reply": "a", "drafts": [{"id": 1}]}\n', "its drafts are not as a run writes them"),
    ],
)  # fmt: skip
def test_a_bad_file_of_replies_is_refused(folder: Path, content: bytes, sentence: str) -> None:
    (folder / "replies.jsonl").write_bytes(content)
    done = voice(folder, "--replies", "replies.jsonl", "--messages", "messages.yaml")
    assert sentence in done.sentence
    assert "nowhere.jsonl cannot be read" in voice(folder, "--replies", "nowhere.jsonl").sentence


# Sheets


def drawn(folder: Path, *more: str) -> Done:
    written(folder / "now.jsonl", ALL)
    written(folder / "before.jsonl", BAD)
    names = ("now.jsonl", "before.jsonl", "--out", "sheet.csv", "--key", "key.csv", "--messages", "messages.yaml")
    return voice(folder, "sheet", *names, *more)


def marked(folder: Path, name: str, marks: dict[str, str]) -> None:
    """A copy of the sheet with these marks by "source id", such as "1101"; all others are "1111"."""
    key = {row["row"]: f"{row['source']} {row['id']}" for row in rows(folder / "key.csv")}
    sheet = rows(folder / "sheet.csv")
    questions = list(sheet[0])[3:-1]
    for row in sheet:
        row |= dict(zip(questions, marks.get(key[row["row"]], "1" * len(questions)), strict=True))
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)


def test_a_sheet_is_mixed_and_names_no_source(folder: Path) -> None:
    done = drawn(folder, "--n", "4", "--seed", "3")
    assert done.status == 0, done.stderr
    sheet, key = rows(folder / "sheet.csv"), rows(folder / "key.csv")
    assert list(sheet[0]) == ["row", "conversation", "reply", "answers", "coherent", "kind", "ends_well", "note"]
    assert [row["row"] for row in sheet] == [row["row"] for row in key] == [str(n) for n in range(1, 9)]
    text = (folder / "sheet.csv").read_text(encoding="utf-8-sig")
    assert not any(name in text for name in ("before", "now.jsonl", "good_news-01"))
    by_source = {source: {row["id"] for row in key if row["source"] == source} for source in ("now", "before")}
    assert by_source["now"] == by_source["before"]
    assert [row["source"] for row in key] != sorted(row["source"] for row in key)
    for row, of in zip(sheet, key, strict=True):
        assert row["reply"] == (ALL if of["source"] == "now" else BAD)[of["id"]]
    talk = next((row for row, of in zip(sheet, key, strict=True) if of["id"] == "grief-talk-1.2"), None)
    assert talk is not None
    assert talk["conversation"] == (
        f"Person: my nan died this morning\nReply: {NAN}\nPerson: i keep smelling her hand cream"
    )
    assert "is there already" in drawn(folder, "--n", "4").sentence


def test_marks_of_two_passes_come_back_by_source(folder: Path) -> None:
    drawn(folder, "--n", "5")
    marked(folder, "first.csv", {"before good_news-01": "0111", "before bad_news-01": "0000"})
    marked(folder, "second.csv", {"before good_news-01": "1101", "now everyday-01": "1110"})
    done = voice(folder, "marks", "first.csv", "second.csv", "--key", "key.csv")
    assert done.status == 0, done.stderr
    found = done.stdout.splitlines()
    in_every = next(line for line in found if "acceptable (yes to all): in every pass" in line)
    assert re.findall(r"\d of 5", in_every) == ["4 of 5", "3 of 5"]
    first = next(line for line in found if "acceptable (yes to all): first" in line)
    assert re.findall(r"\d of 5", first) == ["5 of 5", "3 of 5"]
    assert "Agreement of 2 passes on 10 replies" in done.stdout
    assert "Krippendorff's alpha" in done.stdout


def test_a_sheet_about_news_asks_one_question(folder: Path) -> None:
    assert drawn(folder, "--n", "2", "--news").status == 0
    assert {row["mood"] for row in rows(folder / "key.csv")} == {"good", "bad"}
    marked(folder, "first.csv", {"before good_news-01": "0"})
    done = voice(folder, "marks", "first.csv", "--key", "key.csv")
    line = next(line for line in done.stdout.splitlines() if "meets_news, good news: first" in line)
    assert "1 of 1" in line
    assert "0 of 1" in line
    assert "Agreement" not in done.stdout


def test_too_few_replies_for_a_sheet_and_two_files_of_one_name_are_refused(folder: Path) -> None:
    assert "6 messages are asked for, and 5 of that kind have a reply" in drawn(folder, "--n", "6").sentence
    assert "3 messages are asked for, and 2 of that kind" in drawn(folder, "--n", "3", "--news").sentence
    (folder / "other").mkdir()
    written(folder / "other" / "now.jsonl", ALL)
    given = ("now.jsonl", "other/now.jsonl", "--out", "s.csv", "--key", "k.csv", "--messages", "messages.yaml")
    assert "Two files are called now." in voice(folder, "sheet", *given).sentence
    assert not (folder / "s.csv").exists()
    assert "cannot be written" in voice(
        folder, "sheet", "now.jsonl", "--n", "2", "--out", "no/s.csv", "--key", "k.csv", "--messages", "messages.yaml"
    ).sentence  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("1,1,1,1,", "1,2,1,1,", "coherent must be 0 or 1."),
        ("1,1,1,1,", "1,,1,1,", "coherent must be 0 or 1."),
        ("\n2,", "\n1,", "row '1' is there twice."),
        ("\n2,", "\n77,", "row '77' is not in the key."),
        ("answers", "answer", "unknown column answer. Did you mean answers?"),
        ("1,1,1,1,", ",,,,", "marks.csv has no marks yet."),
    ],
)
def test_bad_marks_are_refused(folder: Path, old: str, new: str, sentence: str) -> None:
    drawn(folder, "--n", "2")
    marked(folder, "marks.csv", {})
    text = (folder / "marks.csv").read_text(encoding="utf-8").replace("\r\n", "\n")
    (folder / "marks.csv").write_text(text.replace(old, new, -1 if new == ",,,," else 1), encoding="utf-8")
    assert sentence in voice(folder, "marks", "marks.csv", "--key", "key.csv").sentence


def test_a_row_without_marks_is_left_out_and_told(folder: Path) -> None:
    drawn(folder, "--n", "2")
    marked(folder, "marks.csv", {})
    text = (folder / "marks.csv").read_text(encoding="utf-8").replace("1,1,1,1,", ",,,,", 1)
    (folder / "marks.csv").write_text(text, encoding="utf-8")
    done = voice(folder, "marks", "marks.csv", "--key", "key.csv")
    assert done.status == 0
    assert done.stderr == "marks: 1 rows are not marked, and are left out.\n"
    assert "1 of 1" in done.stdout
