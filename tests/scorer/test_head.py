"""The head's arithmetic against a case worked by hand, and its files against damage."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from heard.scorer.errors import ScorerError
from heard.scorer.head import Head
from heard.scorer.head_file import HeadFile, read_head_file
from heard.scorer.score import DEFAULT_HEAD, HEADS, head_folder
from heard.scorer.training.train_head import write_head

FILE = HeadFile("A test", "tiny", "0" * 64, "", [1], ["one", "two"], ["none: 0"], "heard train")
TENSORS = {
    "projection": np.hstack([np.eye(2), -np.eye(2)]),
    "projection_bias": np.zeros(4),
    "queries": np.array([[[0.0, 0.0], [100.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]),
    "values": np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.02, 0.0]]]),
    "biases": np.array([[[0.0, -1.0], [0.5, 0.5]], [[0.0, 0.0], [0.0, 0.0]]]),
    "mixing": np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
    "mixing_bias": np.array([0.0, 0.0, 2.0]),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_head(tmp_path / "mine", FILE, TENSORS)
    return tmp_path / "mine"


def test_pooling_by_hand(folder: Path) -> None:
    """Two members. In the first, facet one looks at all tokens alike and facet two only at the first; the second sees
    the states negated, and only facet two asks anything of them. Gelu is x for large x and 0 for very small."""
    head = Head.load(folder)
    states = np.array([[10.0, 20.0], [-50.0, 40.0]], np.float32)
    facets = head.facets(states)
    # The first member's facet one at two levels, its facet two (whose levels are alike), the second member's facet two.
    chances = 1 / (1 + np.exp(-np.array([5.0, 4.0, 20.5, 0.02 * 50 / 2])))
    assert facets == pytest.approx([(chances[:2].mean() + 0.5) / 2, (chances[2] + chances[3]) / 2], rel=1e-5)
    assert head.components(facets) == pytest.approx([1 + 2 * facets[0], 1 + 2 * facets[1], 3.0])


def test_components_stay_on_the_scale(folder: Path) -> None:
    head = Head.load(folder)
    for facets in ([0, 0], [1, 1], [9, 9], [-9, -9]):
        found = head.components(np.array(facets, np.float32))
        assert ((found >= 1) & (found <= 3)).all()


def test_an_unknown_key_gets_the_nearest_right_name(folder: Path) -> None:
    path = folder / "head.toml"
    path.write_text(path.read_text() + "layer = [1]\n")
    with pytest.raises(ScorerError, match=r'unknown key "layer"\. Did you mean layers\?'):
        Head.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("layers = [1]", "layers = []", "layers is empty"),
        ("layers = [1]", 'layers = ["1"]', r"layers\.1 must be a number"),
        ("layers = [1]", "layers = [true]", r"layers\.1 must be a number"),
        ('facets = ["one", "two"]', 'facets = "one"', "facets must be a list"),
        ('title = "A test"', "title = 3", "title must be a text"),
        ('title = "A test"', "", "title is missing"),
        ('title = "A test"', "title = ", "not valid TOML"),
        ('facets = ["one", "two"]', 'facets = ["one"]', "has shape"),
        ("perceived = []", "perceived = [1.0, 2.0, 0.5]", "perceived and cold belong together"),
        (
            "perceived = []\ncold = []",
            "perceived = [1.0, 2.0, 0.5]\ncold = [0.1, 0.2]",
            "needs the facets perceived, w",
        ),
        ("faults = []", "faults = [0.3, 0.5, 0.3]", "faults needs the facets refusal, incoherent, insult"),
        ("faults = []", "faults = [0.3]", "faults must hold 3 numbers, or none"),
    ],
)
def test_a_faulty_head_file_is_refused(folder: Path, old: str, new: str, match: str) -> None:
    path = folder / "head.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ScorerError, match=match):
        Head.load(folder)


def test_every_fault_of_a_head_file_is_named(folder: Path) -> None:
    path = folder / "head.toml"
    text = path.read_text().replace('title = "A test"', "").replace('["one", "two"]', '["one", 2]')
    path.write_text(text.replace("half_widths = []", "half_widths = [1, 2]\nlayer = [1]"))
    with pytest.raises(ScorerError) as caught:
        read_head_file(path)
    for said in (
        "title is missing.", "facets.2 must be a text, not 2: put it in quotes.",
        "half_widths must hold 4 numbers, or none.", 'unknown key "layer". Did you mean layers?',
    ):  # fmt: skip
        assert said in str(caught.value)


def test_changed_weights_are_refused(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ScorerError, match="sha256 differs"):
        Head.load(folder)


def test_weights_of_something_else_are_refused(folder: Path) -> None:
    save_file({"other": np.zeros(2, np.float32)}, folder / "weights.safetensors")
    sha256 = hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    text = (folder / "head.toml").read_text()
    old = read_head_file(folder / "head.toml").weights_sha256
    (folder / "head.toml").write_text(text.replace(old, sha256))
    with pytest.raises(ScorerError, match="does not hold the tensors"):
        Head.load(folder)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("biases", np.full((2, 2, 2), np.nan), "biases holds something else than finite numbers"),
        ("mixing_bias", np.array([0, 1, 2]), "mixing_bias holds something else"),
        ("projection", np.zeros(2), "projection must have two dimensions"),
        ("mixing", np.zeros((2, 2)), "mixing has shape"),
        ("biases", np.zeros(2), "biases has shape"),
    ],
)
def test_weights_of_another_kind_are_refused(folder: Path, name: str, value: np.ndarray, match: str) -> None:
    path = folder / "weights.safetensors"
    save_file({**load_file(path), name: value.astype(np.float32) if value.dtype.kind == "f" else value}, path)
    text = (folder / "head.toml").read_text()
    old = read_head_file(folder / "head.toml").weights_sha256
    (folder / "head.toml").write_text(text.replace(old, hashlib.sha256(path.read_bytes()).hexdigest()))
    with pytest.raises(ScorerError, match=match):
        Head.load(folder)


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("weights.safetensors", r"weights\.safetensors cannot be read\. Restore it"),
        ("head.toml", "There is no head in"),
    ],
)
def test_a_folder_without_one_of_its_files_names_the_next_step(folder: Path, name: str, match: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ScorerError, match=match):
        Head.load(folder)


def test_the_width_of_another_encoder_is_refused(folder: Path) -> None:
    head = Head.load(folder)
    head.check_width(2)
    with pytest.raises(ScorerError, match='"mine" read token states of 2 numbers, but its encoder gives 384'):
        head.check_width(384)


def test_texts_in_the_head_file_survive(tmp_path: Path) -> None:
    file = replace(FILE, title='A "quoted" \\ title, für uns')
    write_head(tmp_path, file, TENSORS)
    assert read_head_file(tmp_path / "head.toml").title == file.title


def test_a_head_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(ScorerError, match="both, counselling"):
        head_folder("defualt")


def test_the_default_head_is_small_and_has_a_card() -> None:
    folder = HEADS / DEFAULT_HEAD
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_500_000
    card = (folder / "CARD.md").read_text()
    for needed in ("CC BY-NC 4.0", "research", "cannot", "heard evaluate --shared", "heard train --data"):
        assert needed in card
    assert {value.dtype for value in load_file(folder / "weights.safetensors").values()} == {np.dtype(np.float32)}
