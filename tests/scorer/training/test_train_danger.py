"""A head of the reader of danger trained anew from few lines, and how its thresholds are set."""

from pathlib import Path

import numpy as np
import pytest

from heard.chat_app.models.downloads import Weights
from heard.scorer.danger_head import THRESHOLDS, DangerHead, DangerHeadFile
from heard.scorer.danger_lines import LABELS, DangerLine, read_lines
from heard.scorer.encoder import Encoder
from heard.scorer.errors import ScorerError
from heard.scorer.training.train_danger import (
    FALSE_ALARMS,
    FALSE_ALARMS_TOGETHER,
    FOLDS,
    OF_ORDINARY,
    after_others,
    thresholds,
    train_danger,
    without_marks,
)

EACH = 20
CRISIS = LABELS.index("crisis")


ORDINARY = [
    DangerLine("We had pasta.", "none", "ordinary", "o-1"),
    DangerLine("The bus was late.", "none", "ordinary", "o-2", before=("We had pasta.",)),
]


def few() -> list[DangerLine]:
    """EACH lines of every label, of as many groups as there are."""
    return [line for label in LABELS for line in [one for one in read_lines() if one.label == label][::5][:EACH]]


def test_a_head_of_few_lines_knows_them(tmp_path: Path, weights: Weights) -> None:
    lines = few()
    figures = train_danger(
        lines, ORDINARY, weights.encoder, tmp_path / "out", "A head of few lines",
        lambda *_: None, lambda _: False,
    )  # fmt: skip
    for row in (f"| crisis, {EACH} lines |", "| mean over writers |", "| register "):
        assert row in figures
    file = DangerHeadFile.load(tmp_path / "out")
    assert set(file.thresholds) == THRESHOLDS
    head = DangerHead(file, lambda: Encoder.load(weights.encoder, file.layers, sha256=file.encoder_sha256))
    odds = [head.log_odds(line.text, line.before)[1] for line in lines]
    grave = [found["crisis"] for line, found in zip(lines, odds, strict=True) if line.label == "crisis"]
    calm = [found["crisis"] for line, found in zip(lines, odds, strict=True) if line.label == "none"]
    higher = np.mean(np.array(grave)[:, None] > np.array(calm))
    assert higher > 0.9, "of a crisis and a harmless line the crisis nearly always lies higher"
    dangers = [
        max(LABELS[CRISIS:], key=lambda label: found[label]) == line.label
        for line, found in zip(lines, odds, strict=True)
        if line.label in LABELS[CRISIS + 1 :]
    ]
    assert np.mean(dangers) > 0.8


def test_too_few_lines_of_a_label_are_told(weights: Weights, tmp_path: Path) -> None:
    lines = [line for line in few() if line.label != "threat"]
    with pytest.raises(ScorerError, match=f"fewer than {2 * FOLDS} lines of threat. Write more"):
        train_danger(lines, [], weights.encoder, tmp_path / "out", "", lambda *_: None, lambda _: False)
    assert not (tmp_path / "out").exists()


def test_thresholds_let_through_the_share_of_harmless_lines_that_is_named() -> None:
    harmless = np.random.default_rng(0).normal(size=(10_000, len(LABELS))).astype(np.float32)
    least = thresholds(harmless, harmless[:0], harmless[:100] - 50)
    assert np.mean(harmless[:, CRISIS] >= least["crisis"]) == pytest.approx(FALSE_ALARMS["crisis"], abs=0.001)
    assert least["crisis_alert"] < least["crisis"]
    threat = harmless[:, LABELS.index("threat")]
    assert np.mean(threat >= least["threat"]) == pytest.approx(FALSE_ALARMS["danger"], abs=0.001)


def test_ordinary_messages_may_raise_a_threshold_and_never_lower_it() -> None:
    harmless = np.random.default_rng(0).normal(size=(10_000, len(LABELS))).astype(np.float32)
    alone = thresholds(harmless, harmless[:0], harmless[:100] - 50)
    assert thresholds(harmless, harmless - 9, harmless[:100] - 50) == alone
    raised = thresholds(harmless, harmless + 9, harmless[:100] - 50)
    assert np.mean(harmless[:, CRISIS] + 9 >= raised["crisis"]) == pytest.approx(OF_ORDINARY["crisis"], abs=0.001)


def test_with_what_was_said_before_no_threshold_is_lower() -> None:
    odds = np.random.default_rng(0).normal(size=(10_000, len(LABELS))).astype(np.float32)
    alone = {"crisis": 1.0, "check_in": 1.0}
    assert after_others(odds[:0], odds[:0], alone) == {"crisis_before": 1.0, "check_in_before": 1.0}
    assert after_others(odds - 9, odds[:0], alone) == {"crisis_before": 1.0, "check_in_before": 1.0}
    raised = after_others(odds + 9, odds[:0], alone)
    assert np.mean(odds[:, CRISIS] + 9 >= raised["crisis_before"]) == pytest.approx(
        FALSE_ALARMS_TOGETHER["crisis"], abs=0.001
    )


def test_no_alarm_is_taken_back_more_often_than_is_named() -> None:
    harmless = np.zeros((100, len(LABELS)), dtype=np.float32)
    grave = np.random.default_rng(0).normal(size=(10_000, len(LABELS))).astype(np.float32)
    recovery = LABELS.index("recovery")
    least = thresholds(harmless, harmless, grave)
    assert np.mean(grave[:, recovery] >= least["recovery"]) == pytest.approx(0.005, abs=0.001)


def test_marks_are_left_out_as_people_do() -> None:
    assert without_marks("I can't.  Not any more!") == "i cant not any more"
    assert without_marks("?!") == "?!"
