"""What the scorer's commands say to bad heads, bad files and monstrous texts: a sentence and exit status 2."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from heard.scorer.records import COMPONENTS, ScoreStatus
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer
from tests.commands import heard
from tests.scorer.test_commands import jsonl

HEADER = ",".join(["reply", *COMPONENTS])
ROWS = [f"I hear you and I am sorry about number {n}.,1,2,{1 + n % 3}" for n in range(12)]
WORD = "supercalifragilistic"


def damage_nothing(folder: Path) -> None:
    """The folder as it is."""


def remove_weights(folder: Path) -> None:
    (folder / "weights.safetensors").unlink()


def remove_head_file(folder: Path) -> None:
    (folder / "head.toml").unlink()


def change_weights(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\1")


def cut_projection(folder: Path) -> None:
    """As of an encoder with half the width; head.toml vouches for the file."""
    path = folder / "weights.safetensors"
    tensors = load_file(path)
    old = hashlib.sha256(path.read_bytes()).hexdigest()
    save_file({**tensors, "projection": np.ascontiguousarray(tensors["projection"][::2])}, path)
    text = (folder / "head.toml").read_text()
    (folder / "head.toml").write_text(text.replace(old, hashlib.sha256(path.read_bytes()).hexdigest()))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (remove_weights, "weights.safetensors cannot be read. Restore it beside head.toml"),
        (remove_head_file, "There is no scorer head"),
        (change_weights, "its sha256 differs). Restore it, or train again."),
        (cut_projection, "read token states of 576 numbers, but its encoder gives 1152"),
    ],
)
@pytest.mark.parametrize("command", ["score", "perturb"])
def test_a_bad_head_folder(
    encoder_folder: Path, tmp_path: Path, command: str, damage: Callable[[Path], None], said: str
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(HEADS / DEFAULT_HEAD, folder)
    damage(folder)
    done = heard(command, "That is hard.", "--head", str(folder))
    assert done.status == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is empty. Its first line must be reply,cognitive"),
        (b"reply,score\nI hear you.,2\n", "no column cognitive, emotional, behavioral"),
        ((HEADER + ",rate\n").encode(), "unknown column rate. Did you mean rater?"),
        ((HEADER + "\nI hear you.,0,4,5\n").encode(), 'The first: line 2: cognitive is "0"'),
        ((HEADER + '\n"I hear you.,1,2,3\n').encode(), "line 2: a quote is opened here"),
        (b"\x00\x01\x02\x03" * 10, "in no encoding that can be told"),
    ],
)
@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_a_bad_file_of_ratings(tmp_path: Path, command: str, raw: bytes, said: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(raw)
    out = ["--out", str(tmp_path / "mine")] if command == "train" else []
    done = heard(command, "--data", str(path), *out)
    assert done.status == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "mine").exists()


@pytest.mark.slow
def test_bad_rows_are_told_and_the_head_is_trained_on_the_others(encoder_folder: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "labels.csv", tmp_path / "mine"
    rows = [HEADER, *ROWS[:6], "Nonsense,1,2", "“I’m here”,9,2,3", '"Take\ncare.",1,2,3', *ROWS[6:], ",1,2,3"]
    path.write_bytes("\r\n".join(rows).encode("cp1252"))
    done = heard("train", "--data", str(path), "--out", str(out), "--cache", str(tmp_path / "cache"))
    said = done.stderr
    assert done.status == 0, said
    assert "13 of 16 rows can be used, read as Windows-1252." in said
    for reason in ("line 8: this row has 3 cells", 'line 9: cognitive is "9"', "line 18: this reply cannot be scored"):
        assert reason in said
    assert "labels.csv: 13 replies" in (out / "head.toml").read_text()
    assert "3 row(s) of the file could not be used." in (out / "CARD.md").read_text()


def test_too_few_good_rows_still_tell_the_bad_ones(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("\n".join([HEADER, *ROWS[:3], "I hear you.,1,2,30"]))
    done = heard("train", "--data", str(path), "--out", str(tmp_path / "mine"))
    assert done.status == 2
    assert 'line 5: behavioral is "30"' in done.stderr
    assert "at least 5 are needed" in done.stderr


MONSTERS = {
    "one word of a megabyte": "x" * 1_000_000,
    "50,000 characters without a space": (WORD * 3_000)[:50_000],
    "31,000 characters without a space": (WORD * 3_000)[:31_000],
    "31,000 digits for letters": "50rry" * 6_200,
    "31,000 letters apart": "s o r r y " * 3_100,
    "15,000 letters apart": "-".join("sorry" * 3_000),
    "31,000 of one sign": "!?" * 15_500,
    "6,000 misspelt words": "sorrry " * 4_400,
}


@pytest.mark.parametrize("name", MONSTERS)
def test_a_monstrous_text_has_a_status_in_bounded_time(scorer: Scorer, name: str) -> None:
    began = time.perf_counter()
    as_reply = scorer.score("", MONSTERS[name])
    as_message = scorer.score(MONSTERS[name], "I hear you.")
    assert time.perf_counter() - began < 20
    assert as_reply.status is not ScoreStatus.SCORED
    assert as_reply.reason
    assert as_message.status is ScoreStatus.SCORED


def test_monstrous_lines_are_answered_and_the_rest_goes_on(encoder_folder: Path) -> None:
    lines = jsonl(
        *({"id": name, "reply": text} for name, text in MONSTERS.items()),
        b'{"id": 1, "reply": "I hear you."',
        b"\xef\xbb\xbf" + json.dumps({"id": 2, "reply": "I hear you."}).encode(),
        b"[" * 50_000,
        {"id": 3, "reply": "I hear you."},
    )
    done = heard("score", "--jsonl", stdin=lines)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.status == 2
    assert f"2 line(s) could not be read ({len(MONSTERS) + 1}, {len(MONSTERS) + 3})" in done.stderr
    assert [row["id"] for row in rows] == [*MONSTERS, None, 2, None, 3]
    assert [row["status"] for row in rows[-4:]] == ["error", "scored", "error", "scored"]
    assert all(row["status"] in ("too_long", "unreadable", "not_english") for row in rows[:-4])
