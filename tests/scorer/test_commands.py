"""`heard score`, `heard train` and `heard evaluate` as a person or another program meets them; what only a process has
(pipes, memory, libraries that are not there) in real ones."""

import csv
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from heard.chat_app.commands.score import render
from heard.scorer.errors import ScorerError
from heard.scorer.records import COMPONENTS, READINGS, EmpathyScore, ScoreStatus
from heard.scorer.relevance import FILE
from heard.scorer.score import DEFAULT_HEAD, HEADS, head_folder
from heard.scorer.training.data import project_set
from tests.commands import heard

HEAD = ("head_name", "head_sha256", "encoder_sha256")
COMMANDS = "import sys, typer; from heard.chat_app.cli import main; main()"


def jsonl(*lines: object) -> bytes:
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def test_one_text_gets_a_table_with_words(encoder_folder: Path) -> None:
    done = heard("score", "I'm so sorry, that must hurt. What happened?", "--seeker", "My dog died.")
    out = done.stdout
    assert done.status == 0, done.stderr
    for name in (*COMPONENTS, "empathy"):
        assert name.capitalize() in out
    assert any(level in out for level in ("Low", "Moderate", "High"))
    assert "cannot tell" in out


def test_how_people_would_call_it_is_a_line_with_a_sentence_where_the_head_says_it() -> None:
    plain = EmpathyScore(ScoreStatus.SCORED, 1.0, 2.0, 3.0, None, "h", "0", "0", intervals={"empathy": (1.5, 2.5)})
    assert "People" not in render(plain)
    lines = render(replace(plain, perceived=2.31, intervals={"perceived": (1.9, 2.7)})).splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["Cognitive", "Emotional", "Behavioral", "Empathy", "People"]
    assert lines[4].startswith("People      2.3  Moderate  ")
    assert lines[4].endswith("  1.9 to 2.7")
    assert "People is how empathic people would probably call the reply." in lines


def test_a_text_without_a_score_says_why(encoder_folder: Path) -> None:
    done = heard("score", "Lo siento mucho, eso suena muy difícil.")
    assert done.status == 0
    assert done.stdout.startswith("Not scored. Only English")


def test_a_crisis_is_not_scored(encoder_folder: Path) -> None:
    done = heard("score", "That must hurt.", "--seeker", "I want to kill myself")
    assert done.status == 0
    assert done.stdout.startswith("Not scored. This text is not scored, because it reads like a crisis.")
    assert not re.search(r"\d", done.stdout)


def test_the_filter_answers_every_line_in_order(encoder_folder: Path) -> None:
    done = heard(
        "score", "--jsonl",
        stdin=jsonl(
            {"id": "a", "seeker": "My dog died.", "reply": "I'm so sorry, that must hurt."},
            {"id": 2, "reply": "😀"},
            b"not json",
            {"id": 3, "seeker": "x"},
            {"id": 4, "seeker": "x", "reply": 5},
            {"id": 6, "seeker": "x", "reply": "I hear you.", "earlier": "y"},
            {"id": 7, "seeker": "x", "reply": "I hear you.", "earlier": ["y", "z"]},
            b"[1]",
            b'{"id": NaN, "reply": "That is hard."}',
            b'{"id": 5, "reply": "\\ud800 I hear you."}',
            b"\xff\xfe",
            {"id": None, "seeker": None, "reply": "no te preocupes"},
            b"",
            {"id": "z", "seeker": "", "reply": ""},
            {"id": 8, "seeker": "I want to kill myself", "reply": "That must hurt."},
            {"id": 9, "reply": "That must hurt.", "earlier": ["I want to kill myself", "y"]},
        ),
    )  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["id"], row["status"]) for row in rows] == [
        ("a", "scored"), (2, "emoji_only"), (None, "error"), (3, "error"), (4, "error"), (6, "error"),
        (7, "scored"), (None, "error"), (None, "error"),
        (5, "scored"), (None, "error"), (None, "not_english"), ("z", "empty"),
        (8, "crisis"), (9, "crisis"),
    ]  # fmt: skip
    for row in rows:
        if row["status"] == "scored":
            assert list(row) == ["id", "status", *READINGS, "intervals", "notes", "levels", *HEAD]
            known = {name for name in READINGS if row[name] is not None}
            assert set(row["levels"]) == set(row["intervals"]) == known
            assert row["intervals"]["empathy"][0] <= row["empathy"] <= row["intervals"]["empathy"][1]
            assert all(1 <= row[name] <= 3 for name in (*COMPONENTS, "empathy"))
            assert row["empathy"] == pytest.approx(sum(row[name] for name in COMPONENTS) / 3, abs=1e-3)
        else:
            assert set(row) - {"help"} == {"id", "status", "reason"}
            assert ("help" in row) == (row["status"] == "crisis")
            assert row["reason"]
    assert done.status == 2
    assert "7 line(s) could not be read (3, 4, 5, 6, 8, 9, 11)" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_filter_answers_before_the_input_ends_and_keeps_its_memory(encoder_folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", COMMANDS, "score", "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(number: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        reply = f"I'm sorry about number {number}, that must be hard for you."
        process.stdin.write(jsonl({"id": number, "seeker": "", "reply": reply}))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == number

    ask(0)
    process.stdin.write(b'{"id": 1, "reply": "' + b"x" * 6_000_000 + b'"}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["status"] == "error"
    before = psutil.Process(process.pid).memory_info().rss
    for number in range(2, 200):
        ask(number)
    grown = psutil.Process(process.pid).memory_info().rss - before
    process.stdin.close()
    assert process.wait(30) == 2
    process.stdout.close()
    assert grown < 20_000_000


def test_a_reader_that_leaves_is_no_fault(encoder_folder: Path) -> None:
    lines = jsonl(*({"id": number, "reply": "That sounds hard."} for number in range(300)))
    script = f'"{sys.executable}" -c "{COMMANDS}" score --jsonl | head -n 1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", script], input=lines, capture_output=True, timeout=240, check=False)
    first, status = done.stdout.splitlines()
    assert json.loads(first)["status"] == "scored"
    assert status == b"0"
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score"], "Give one text"),
        (["score", "Hi.", "--jsonl"], "Give one text"),
        (["score", "That is hard.", "--head", "nowhere"], 'no scorer head "nowhere"'),
        (["score", "That is hard.", "--encoder", "./nowhere"], "cannot be read"),
        (["train", "--out", "x"], "--data labels.csv"),
        (["train", "--out", "x", "--data", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["train", "--out", str(HEADS / DEFAULT_HEAD), "--data", "nowhere.csv"], "is not empty"),
        (["evaluate"], "--shared DIR"),
        (["evaluate", "--shared", "nowhere"], "cannot be read"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(encoder_folder: Path, arguments: list[str], said: str) -> None:
    done = heard(*arguments)
    assert done.status == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_head_is_trained_and_used_by_commands(encoder_folder: Path, tmp_path: Path) -> None:
    labels, examples = tmp_path / "labels.csv", list(project_set())[::60]
    with labels.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["seeker", "reply", *COMPONENTS])
        for example in examples:
            ratings = [f"{1 + 2 * example.labels[name]:g}" for name in COMPONENTS]
            writer.writerow([example.seeker, example.reply, *ratings])
    out = tmp_path / "mine"
    done = heard("train", "--data", str(labels), "--out", str(out), "--cache", str(tmp_path / "cache"))
    assert done.status == 0, done.stderr
    assert {path.name for path in out.iterdir()} == {FILE, "head.toml", "weights.safetensors", "CARD.md"}
    again = heard("train", "--data", str(labels), "--out", str(out))
    assert again.status == 2
    assert "--force" in again.stderr
    scored = heard("score", "That must hurt.", "--head", str(out))
    assert "Empathy" in scored.stdout, scored.stderr
    measured = heard("evaluate", "--data", str(labels), "--head", str(out))
    assert f"| behavioral | {len(examples)} |" in measured.stdout, measured.stderr


def test_training_without_its_libraries_is_one_sentence(encoder_folder: Path, tmp_path: Path) -> None:
    """As after a plain `pip install heard`: scoring works, and so does measuring a head on ratings."""
    labels = tmp_path / "labels.csv"
    rows = [f"message {n},That sounds hard.,1,2,{1 + n % 3}" for n in range(6)]
    labels.write_text("\n".join([",".join(["seeker", "reply", *COMPONENTS]), *rows]))
    code = """
import json, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
from heard.chat_app.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as end:
        print(f"status {end.code}", file=sys.stderr)
"""
    commands = [
        ["train", "--data", str(labels), "--out", str(tmp_path / "mine")],
        ["train", "--shared", str(tmp_path), "--out", str(tmp_path / "mine")],
        ["evaluate", "--shared", str(tmp_path)],
        ["evaluate", "--data", str(labels)],
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(commands)], capture_output=True, text=True, timeout=240, check=False
    )
    said = 'heard: Training needs torch and transformers: pip install "heard[train]", or make train.\n'
    *refused, measured = re.findall(r"((?:.*\n)*?)status (\d)\n", done.stderr)
    assert len(refused) == 3
    for stderr, status in refused:
        assert status == "2"
        assert stderr.endswith(said)
    assert measured[1] == "0"
    assert "| behavioral | 6 |" in done.stdout, done.stderr


def test_a_head_below_the_working_folder_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(HEADS / DEFAULT_HEAD, tmp_path / "scorer" / "heads" / "mine")
    monkeypatch.chdir(tmp_path)
    assert (head_folder("mine") / "head.toml").is_file()
    with pytest.raises(ScorerError, match="There are: both, counselling, everyday, mine"):
        head_folder("ours")


def test_scoring_imports_neither_torch_nor_the_web_stack() -> None:
    code = (
        "import sys; import heard.chat_app.commands.score\n"
        "import heard.scorer.score; import heard.chat_app.models.downloads\n"
        "import heard.chat_app.safety.checked_score; import heard.scorer.score_json\n"
        "heavy = {'torch', 'transformers', 'chainlit', 'langchain', 'onnx', 'sqlalchemy', 'huggingface_hub'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
