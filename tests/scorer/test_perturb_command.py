"""`heard perturb` as a person meets it: one reply, a file of replies, and what cannot be read in it."""

import io
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from heard.chat_app.commands.json_lines import LONGEST_LINE
from heard.chat_app.commands.perturb import from_csv, from_json_lines, render, table
from heard.scorer.errors import ScorerError
from heard.scorer.evaluation.perturb import DISGUISES, STUDY
from heard.scorer.evaluation.sensitivity import changes, summarise
from heard.scorer.records import EmpathyScore
from heard.scorer.score import Scorer
from tests.commands import heard
from tests.scorer.evaluation.test_perturb import KINDS, ByLength
from tests.scorer.test_commands import COMMANDS, jsonl

REPLY = "I'm so sorry that your flight was cancelled. You must be tired. What do you need most?"


def test_one_reply_gets_the_studys_table(encoder_folder: Path) -> None:
    done = heard("perturb", REPLY, "--seeker", "My flight was cancelled.")
    out = done.stdout
    assert done.status == 0, done.stderr
    head, original, text = out.splitlines()[:3]
    names = head.split()
    assert names[:4] == ["Cognitive", "Emotional", "Behavioral", "Empathy"]
    assert names[4:] in ([], ["Perceived"])
    assert len(re.findall(r"[1-3]\.\d\d", original)) == len(names)
    assert text.strip() == REPLY
    for kind in STUDY:
        line = next(line for line in out.splitlines() if line.startswith(kind))
        assert len(re.findall(r"[1-3]\.\d\d [+-][0-2]\.\d\d", line)) == len(names)
    assert "1'm 50 50rry" in out
    assert heard("perturb", REPLY, "--seeker", "My flight was cancelled.").stdout == done.stdout
    assert heard("perturb", REPLY, "--seed", "1").stdout != done.stdout


def test_a_reply_without_a_score_says_why(encoder_folder: Path) -> None:
    done = heard("perturb", "Lo siento mucho, de verdad.")
    assert done.status == 0
    assert done.stdout.startswith("Not scored, so there is no change to show. Only English")


def test_json_lines_give_the_means_and_name_bad_lines(encoder_folder: Path) -> None:
    lines = jsonl(
        {"id": 1, "reply": REPLY}, b"not json", {"id": 2, "seeker": "x", "reply": "Okay."}, b"",
        {"id": 3, "reply": "no te preocupes"}, {"id": 4, "reply": 5},
    )  # fmt: skip
    done = heard("perturb", "--jsonl", stdin=lines)
    out, said = done.stdout, done.stderr
    assert done.status == 2
    assert "line 2: The line is not JSON" in said
    assert 'line 6: "reply" is missing' in said
    assert "2 line(s) could not be read; the table is of the others." in said
    for kind in STUDY:
        assert f"| {kind} |" in out
    assert "| shortened | 1 of 2 |" in out
    assert "1 more replies have no score as they are" in out
    assert len(re.findall(r"[+-]\d\.\d{3} ± \d\.\d{3}", out)) == (5 if "Perceived" in out else 4) * len(STUDY)
    assert "\x1b" not in said  # nobody watches, so no bar


def test_a_csv_works_too_and_disguises_can_be_asked_for(encoder_folder: Path) -> None:
    rows = f'reply,seeker,cognitive,emotional,behavioral\n"{REPLY}",,1,2,3\n"That is\nhard.",My cat died.,,,\n'
    done = heard("perturb", "--csv", "--disguises", stdin=rows.encode())
    assert done.status == 0, done.stderr
    assert all(f"| {kind} | 2 of 2 |" in done.stdout for kind in DISGUISES if kind not in ("misspelling",))


def test_beside_the_repaired_scores_stand_those_of_the_texts_as_they_are_written(
    encoder_folder: Path, scorer: Scorer, tmp_path: Path
) -> None:
    done = heard("perturb", REPLY, "--raw", "--picture", "figure.svg", folder=tmp_path)
    assert done.status == 0, done.stderr
    lines = done.stdout.splitlines()
    own = [line for line in lines if line.startswith("  as written")]
    assert len(own) == 1 + len(STUDY)
    greek = lines.index(next(line for line in lines if line.startswith("Greek letters")))
    assert re.search(r"\+0\.00|-0\.00", lines[greek])  # undone, so that nothing moves
    moved = re.findall(r"[1-3]\.\d\d ([+-][0-2]\.\d\d)", lines[greek + 1])
    assert float(moved[3]) < -0.3, "and a scorer without repair sees no empathy in it"
    expected = scorer.score_as_written(STUDY["Greek letters"](REPLY, 0)).empathy
    assert f"{expected:.2f} {moved[3]}" in lines[greek + 1]
    drawn = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert all(word in drawn for word in (*STUDY, "Cognitive", "Empathy", "repaired", "as written"))

    rows = f'reply\n"{REPLY}"\n"That is so hard. I am here with you, and I hear how tired you are."\nno te preocupes\n'
    done = heard("perturb", "--csv", "--raw", "--picture", "means.svg", stdin=rows.encode(), folder=tmp_path)
    assert done.status == 0, done.stderr
    found = {
        line.split(" | ")[0].strip("| "): line
        for line in done.stdout.splitlines()
        if "repaired" in line or "as written" in line
    }
    assert set(found) == {f"{kind}, {what}" for kind in STUDY for what in ("repaired", "as written")}
    for kind in ("leetspeak", "Greek letters"):
        means = [
            [
                float(mean)
                for mean in re.findall(r"\| ([+-]\d\.\d{3}) \[[+-]\d\.\d{3}, [+-]\d\.\d{3}\]", found[f"{kind}, {what}"])
            ]
            for what in ("repaired", "as written")
        ]
        assert abs(means[0][3]) < 0.1 < abs(means[1][3])
    assert "1 more replies have no score as they are" in done.stdout
    assert (tmp_path / "means.svg").exists()


def test_what_cannot_be_read_as_written_has_no_score(scorer: Scorer) -> None:
    assert scorer.score_as_written(REPLY).cognitive == pytest.approx(scorer.score("", REPLY).cognitive, abs=0.05)
    for text, status in (("", "empty"), (" \n", "empty"), ("a " * 40_000, "too_long")):
        assert scorer.score_as_written(text).status == status
    assert scorer.score_as_written("\ud800 hello").status == "scored"


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["perturb"], b"", "Give one text, or --jsonl, or --csv"),
        (["perturb", "Hi.", "--csv"], b"", "Give one text, or --jsonl, or --csv"),
        (["perturb", "--csv", "--jsonl"], b"", "Give one text, or --jsonl, or --csv"),
        (["perturb", "--jsonl"], b"", "There is no reply to perturb"),
        (["perturb", "--jsonl"], b"{}\n", 'line 1: "reply" is missing'),
        (["perturb", "--csv"], b"", "standard input is empty. Its first line must be reply."),
        (["perturb", "--csv"], b"text\nI hear you.\n", "standard input, line 1: no column reply"),
        (["perturb", "--csv"], b"reply\n", "There is no reply to perturb"),
        (["perturb", "Hi.", "--seed", "x"], b"", "--seed"),
        (["perturb", "Hi.", "--picture", "x.gif"], b"", "--picture draws .svg, .png, .pdf."),
    ],
)
def test_bad_input_is_a_sentence_and_status_2(arguments: list[str], stdin: bytes, said: str) -> None:
    done = heard(*arguments, stdin=stdin)
    assert done.status == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_person_who_forgets_the_file_is_told_and_one_who_watches_sees_a_bar(encoder_folder: Path) -> None:
    """With a terminal of its own, as a person has one."""
    above, below = pty.openpty()
    try:
        command = [sys.executable, "-c", COMMANDS, "perturb", "--jsonl"]
        waiting = subprocess.run(command, stdin=below, capture_output=True, timeout=120, check=False)
        assert waiting.returncode == 2
        assert b"heard perturb --jsonl < replies.jsonl" in waiting.stderr
        done = subprocess.run(
            command, input=jsonl({"reply": REPLY}), stdout=subprocess.PIPE, stderr=below, timeout=240, check=False,
            env={**os.environ, "TERM": "xterm"},
        )  # fmt: skip
        assert done.returncode == 0
        assert "perturbing and scoring" in os.read(above, 65_536).decode()
        assert b"| leetspeak |" in done.stdout
    finally:
        os.close(above)
        os.close(below)


def test_lines_are_counted_over_blank_and_endless_ones() -> None:
    source = io.BytesIO(b"\n" + b"x" * (LONGEST_LINE + 5) + b'\n{"reply": "a"}\n\xff\n{"reply": "b", "seeker": null}')
    replies = from_json_lines(source)
    assert replies.pairs == [("", "a"), ("", "b")]
    assert replies.faults == [
        f"line 2: The line is longer than {LONGEST_LINE} bytes.",
        "line 4: The line is not UTF-8.",
    ]


def test_a_csv_has_bad_rows_or_is_refused() -> None:
    replies = from_csv(io.BytesIO("reply\nI’m here\na,b\n".encode("utf-16")))
    assert replies.pairs == [("", "I’m here")]
    assert replies.faults == ["line 3: this row has 2 cells, but the first line has 1."]
    with pytest.raises(ScorerError, match="unknown column reply2"):
        from_csv(io.BytesIO(b"reply,reply2\n"))


def test_the_tables_by_hand() -> None:
    original, found = changes(ByLength(), "", "a b", KINDS)
    assert render(original, "a b", found).splitlines() == [
        "          Cognitive     Emotional     Behavioral    Empathy",
        "original  2.00          2.00          1.00          1.67",
        "    a b",
        "half      1.00 -1.00    1.00 -1.00    1.00 +0.00    1.00 -0.67",
        "    a",
        "none      finds nothing to change",
        "one       1.00 -1.00    1.00 -1.00    1.00 +0.00    1.00 -0.67",
        "    one",
    ]
    found += changes(ByLength(), "", "a", KINDS)[1]
    assert table(summarise(found), 2, 3).splitlines() == [
        "| | replies changed | Cognitive | Emotional | Behavioral | Empathy | size of Empathy's change |",
        "|---|---|---|---|---|---|---|",
        "| half | 1 of 2 | -1.000 ± 0.000 | -1.000 ± 0.000 | +0.000 ± 0.000 | -0.667 ± 0.000 | 0.667 |",
        "| none | 0 of 2 |  |  |  |  |  |",
        "| one | 2 of 2 | -0.500 ± 0.707 | -0.500 ± 0.707 | +0.000 ± 0.000 | -0.333 ± 0.471 | 0.333 |",
        "",
        "Scored before and not scored once perturbed: half: 1.",
        "",
        "3 more replies have no score as they are, so they are in no row of the table.",
    ]


class Called(ByLength):
    """Rates like ByLength, and says that people call every scored word worth half a point."""

    def score(self, seeker: str, reply: str) -> EmpathyScore:
        score = super().score(seeker, reply)
        return score if score.empathy is None else replace(score, perceived=1 + len(reply.split()) / 2)


def test_how_people_would_call_a_reply_is_a_column_where_the_head_says_it() -> None:
    original, found = changes(Called(), "", "a b", KINDS)
    lines = render(original, "a b", found).splitlines()
    assert lines[0].split()[-1] == "Perceived"
    assert lines[1].split()[-1] == "2.00"
    assert lines[3].split()[-2:] == ["1.50", "-0.50"]
    found += changes(Called(), "", "a", KINDS)[1]
    assert table(summarise(found), 2, 0).splitlines() == [
        "| | replies changed | Cognitive | Emotional | Behavioral | Empathy | Perceived | size of Empathy's change |",
        "|---|---|---|---|---|---|---|---|",
        "| half | 1 of 2 | -1.000 ± 0.000 | -1.000 ± 0.000 | +0.000 ± 0.000 | -0.667 ± 0.000 | -0.500 ± 0.000 |"
        " 0.667 |",
        "| none | 0 of 2 |  |  |  |  |  |  |",
        "| one | 2 of 2 | -0.500 ± 0.707 | -0.500 ± 0.707 | +0.000 ± 0.000 | -0.333 ± 0.471 | -0.250 ± 0.354 | 0.333 |",
        "",
        "Scored before and not scored once perturbed: half: 1.",
    ]
