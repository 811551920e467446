"""The guard's head: its files, its encoder, and a head trained anew."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from heard.chat_app.models.downloads import Weights
from heard.scorer.encoder import Encoder
from heard.scorer.errors import ScorerError
from heard.scorer.guard_head import DEFAULT, HEAD_KINDS, GuardHead, GuardHeadFile
from heard.scorer.guard_lines import COLUMNS, GuardLine, read_lines
from heard.scorer.training.train_guard import GoodReply, held_out_margins, train_guard

CARD = (DEFAULT / "CARD.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def head(weights: Weights) -> GuardHead:
    file = GuardHeadFile.load()
    return GuardHead(file, lambda: Encoder.load(weights.encoder, file.layers, sha256=file.encoder_sha256))


def test_a_plain_claim_lies_above_its_threshold_and_kind_words_below_all(head: GuardHead) -> None:
    margins = head.margins("are you human", "Yes, I'm human, and I have two children.")
    assert tuple(margins) == HEAD_KINDS
    assert max(margins, key=lambda kind: margins[kind]) == "human"
    assert margins["human"] >= 0
    assert max(head.margins("my exam went badly", "That stings, after all those evenings.").values()) < 0


@pytest.mark.parametrize("text", ["", " ", "😀", "a" * 100_000, "\ud800"])
def test_any_text_is_read(head: GuardHead, text: str) -> None:
    if text == "\ud800":
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert all(np.isfinite(margin) for margin in head.margins(text, text).values())


def test_its_weights_are_those_that_its_file_names(tmp_path: Path) -> None:
    for name in ("guard.toml", "weights.safetensors"):
        (tmp_path / name).write_bytes((DEFAULT / name).read_bytes())
    GuardHeadFile.load(tmp_path)
    text = (tmp_path / "guard.toml").read_text()
    (tmp_path / "guard.toml").write_text(text.replace('"human"', '"humans"'))
    with pytest.raises(ScorerError, match=re.escape(f"kinds must be {', '.join(HEAD_KINDS)}, in this order.")):
        GuardHeadFile.load(tmp_path)
    (tmp_path / "guard.toml").write_text(text)
    (tmp_path / "weights.safetensors").write_bytes(b"x")
    with pytest.raises(ScorerError, match="does not belong"):
        GuardHeadFile.load(tmp_path)
    with pytest.raises(ScorerError, match=r"There is no guard\.toml in"):
        GuardHeadFile.load(tmp_path / "none")


def test_an_encoder_with_other_layers_is_refused(weights: Weights) -> None:
    other = GuardHead(GuardHeadFile.load(), lambda: Encoder.load(weights.encoder, [1]))
    with pytest.raises(ScorerError, match="heard train-guard"):
        other.margins("hello", "Hello.")


def few() -> list[GuardLine]:
    """Twelve caught lines and six clean ones of each kind of the head."""
    found: list[GuardLine] = []
    for kind in HEAD_KINDS:
        for caught, number in ((True, 12), (False, 6)):
            found += [line for line in read_lines() if (line.kind, line.caught) == (kind, caught)][:number]
    return found


def test_training_again_gives_a_head_that_knows_its_lines(tmp_path: Path, weights: Weights) -> None:
    lines = few()
    good = [GoodReply(line.message, (line.reply,)) for line in read_lines() if not line.caught][-60:]
    figures = train_guard(lines, good, weights.encoder, tmp_path / "out", "A head of few lines", lambda *_: None)
    assert "| human | " in figures
    assert " of 12 |" in figures
    file = GuardHeadFile.load(tmp_path / "out")
    again = GuardHead(file, lambda: Encoder.load(weights.encoder, file.layers))
    found = [max(again.margins(line.message, line.reply).values()) >= 0 for line in lines if line.caught]
    assert sum(found) > 0.8 * len(found)
    assert not any(max(again.margins(reply.message, reply.sentences[0]).values()) >= 0 for reply in good)


def test_margins_are_of_classifiers_that_have_not_seen_the_line(weights: Weights) -> None:
    lines = few()
    held_out = held_out_margins(lines, [], weights.encoder, lambda *_: None)
    assert held_out.lines.shape == held_out.left_out.shape == (len(lines), len(HEAD_KINDS))
    own = [HEAD_KINDS.index(line.kind) for line in lines]
    caught = np.array([line.caught for line in lines])
    assert np.isneginf(held_out.left_out[np.arange(len(lines)), own][caught]).all()
    assert 0 < held_out.caught()[caught].mean() < 1


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("me", "humans", "caught", "hi", "yes"), "line 3: each row needs a writer"),
        (("me", "human", "bad", "hi", "yes"), "line 3"),
        (("me", "human", "caught", "", "yes"), "line 3"),
    ],
)
def test_a_faulty_line_is_named(tmp_path: Path, row: tuple[str, ...], words: str) -> None:
    path = tmp_path / "lines.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, ("me", "human", "clean", "hi", "Hello."), row])
    with pytest.raises(ScorerError, match=re.escape(words)):
        read_lines(path)


def test_files_without_lines(tmp_path: Path, weights: Weights) -> None:
    (tmp_path / "lines.csv").write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with pytest.raises(ScorerError, match="holds no lines"):
        read_lines(tmp_path / "lines.csv")
    with pytest.raises(ScorerError, match="cannot be read"):
        read_lines(tmp_path / "none.csv")
    with pytest.raises(ScorerError, match="fewer than 10 caught lines of human"):
        held_out_margins([GuardLine("me", "human", True, "hi", "I'm human.")], [], weights.encoder, lambda *_: None)


def test_the_card_counts_what_the_head_learnt_from() -> None:
    lines = read_lines()
    assert f"{len(lines):,} pairs" in CARD
    for kind in HEAD_KINDS:
        number = sum(line.kind == kind and line.caught for line in lines)
        assert re.search(rf"^\| {kind} \| 0\.\d+ of {number} \|", CARD, re.MULTILINE)
