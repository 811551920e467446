"""The linear head on [CLS] against a case worked by hand, and its files against damage."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heard.scorer.errors import ScorerError
from heard.scorer.head import ClsHead, Head
from heard.scorer.head_file import HeadFile, read_head_file
from heard.scorer.records import COMPONENTS
from heard.scorer.training.train_head import write_head

FILE = HeadFile("A test", "tiny", "0" * 64, "", [1], list(COMPONENTS), ["none: 0"], "heard train", pooling="cls")
TENSORS = {
    "weight": np.array([[0.5, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "bias": np.array([1.0, 2.0, -9.0]),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_head(tmp_path / "study", FILE, TENSORS)
    return tmp_path / "study"


def test_a_line_on_the_first_state_by_hand(folder: Path) -> None:
    head = Head.load(folder)
    assert isinstance(head, ClsHead)
    assert head.name == "study"
    facets = head.facets(np.array([[1.0, -0.5], [70.0, 70.0]], np.float32))  # the second token does not count
    assert facets == pytest.approx([0.25, 0.25, -4.75])
    assert head.components(facets) == pytest.approx([1.5, 1.5, 1.0])
    assert head.components(np.array([[0, 0.5, 1], [-3, 2, 9]], np.float32)) == pytest.approx(
        np.array([[1, 2, 3], [1, 3, 3]])
    )


def test_a_head_without_the_key_pools_by_attention(folder: Path) -> None:
    path = folder / "head.toml"
    path.write_text(path.read_text().replace('pooling = "cls"\n', ""))
    assert read_head_file(path).pooling == "attention"
    with pytest.raises(ScorerError, match="does not hold the tensors of a head"):
        Head.load(folder)


@pytest.mark.parametrize(
    ("file", "tensors", "match"),
    [
        (replace(FILE, pooling="mean"), TENSORS, "must be attention or cls, not"),
        (replace(FILE, facets=["a", "b", "c"]), TENSORS, "the facets of a"),
        (FILE, {"weight": TENSORS["weight"]}, "tensors of a .CLS. head"),
        (FILE, {**TENSORS, "bias": np.zeros(2)}, "has shape"),
        (FILE, {**TENSORS, "weight": np.zeros((2, 3))}, "has shape"),
    ],
)
def test_a_faulty_head_is_refused(tmp_path: Path, file: HeadFile, tensors: dict[str, np.ndarray], match: str) -> None:
    write_head(tmp_path, file, tensors)
    with pytest.raises(ScorerError, match=match):
        Head.load(tmp_path)
