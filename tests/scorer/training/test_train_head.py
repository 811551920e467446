"""Training: masks, seeds, the numpy head against the torch network, and a head from a small CSV end to end."""

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from heard.scorer.encoder import Encoder
from heard.scorer.errors import ScorerError
from heard.scorer.evaluation.evaluate_labels import on_labels
from heard.scorer.evaluation.labels_card import write_labels_card
from heard.scorer.head import Head
from heard.scorer.head_file import HeadFile
from heard.scorer.records import COMPONENTS
from heard.scorer.score import Scorer
from heard.scorer.tables import write_between_marks
from heard.scorer.training.data import project_set
from heard.scorer.training.features import Features, compute
from heard.scorer.training.labels import read_labels
from heard.scorer.training.network import Recipe, fit, one_thread, predict, prepare, reached, tensors
from heard.scorer.training.train_head import train_on_labels, write_head

RECIPE = Recipe(width=8, basis=12, dropout=0.1, rate=2e-2, epochs=30, batch=16)


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    """As the commands train; on a busy machine it is several times faster too."""
    with one_thread():
        yield


def toy(rows: int = 120) -> tuple[Features, np.ndarray]:
    """Texts of 3 to 8 tokens; facet one is the strongest first state among the tokens, facet two is never labelled."""
    generator = np.random.default_rng(3)
    lengths = generator.integers(3, 9, rows)
    starts = np.cumsum([0, *lengths])
    states = generator.normal(size=(starts[-1], 12)).astype(np.float16)
    highest = np.array([states[a:b, 0].max() for a, b in itertools.pairwise(starts)], np.float32)
    targets = np.full((rows, 2), np.nan, np.float32)
    targets[:, 0] = 1 / (1 + np.exp(-3 * (highest - 1)))
    return Features(states, starts), targets


def test_a_token_can_decide_and_an_unlabelled_facet_stays_where_it_began() -> None:
    features, targets = toy()
    data, rows = prepare(features, RECIPE), np.arange(120)
    network = fit(data, targets, np.ones_like(targets), rows, RECIPE, seed=0)
    found = predict(network, data, rows)
    assert np.mean((found[:, 0] - targets[:, 0]) ** 2) < 0.3 * targets[:, 0].var()
    began = float(torch.logit(torch.tensor(0.03)))
    unlabelled = network.biases[:, 1].detach()
    assert unlabelled.flatten().tolist() == pytest.approx([began] * unlabelled.numel(), abs=0.4)  # only decay moves it


def test_a_label_between_two_levels_is_either_of_them_with_a_chance() -> None:
    labels = np.array([0, 0.25, 0.5, 0.75, 1], np.float32)
    found = reached(labels)
    assert found.tolist() == [[0, 0], [0.5, 0], [1, 0], [1, 0.5], [1, 1]]
    assert found.mean(axis=1).tolist() == labels.tolist()


def test_labels_that_are_masked_or_weigh_nothing_change_nothing() -> None:
    features, targets = toy()
    data, rows = prepare(features, RECIPE), np.arange(120)
    weights = np.ones_like(targets)
    weights[60:, 0] = 0
    spoiled = targets.copy()
    spoiled[60:, 0] = np.nan
    a = fit(data, spoiled, np.ones_like(targets), rows, RECIPE, seed=1)
    noisy = np.where(weights > 0, targets, np.float32(0.5))
    noisy[60:, 0] = np.nan
    b = fit(data, noisy, weights, rows, RECIPE, seed=1)
    assert np.array_equal(predict(a, data, rows), predict(b, data, rows), equal_nan=True)


def test_the_same_seed_gives_the_same_head_and_another_seed_another() -> None:
    features, targets = toy()
    data, rows = prepare(features, RECIPE), np.arange(120)
    first, again, other = (
        predict(fit(data, targets, np.ones_like(targets), rows, RECIPE, s), data, rows) for s in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_the_numpy_head_computes_what_was_trained(tmp_path: Path) -> None:
    features, targets = toy()
    data, rows = prepare(features, RECIPE), np.arange(120)
    network = fit(data, targets, np.ones_like(targets), rows, RECIPE, seed=0)
    mixing = {"mixing": np.zeros((3, 2)), "mixing_bias": np.zeros(3)}
    file = HeadFile("t", "tiny", "0" * 64, "", [1], ["one", "two"], ["toy: 120"], "none")
    write_head(tmp_path, file, {**tensors(network, data.basis), **mixing})
    head = Head.load(tmp_path)
    expected = predict(network, data, rows)
    for row in (0, 7, 119):
        states = features.states[features.starts[row] : features.starts[row + 1]].astype(np.float32)
        assert head.facets(states) == pytest.approx(expected[row], abs=1e-4)


def test_features_are_cached_by_text_and_encoder(encoder_folder: Path, tmp_path: Path) -> None:
    encoder = Encoder.load(encoder_folder, [6])
    told: list[int] = []
    texts = ["That sounds hard.", "I hear you, truly."]
    first = compute(encoder, texts, [6], tmp_path, lambda done, of: told.append(done))
    second = compute(encoder, texts, [6], tmp_path, lambda done, of: told.append(done))
    third = compute(encoder, texts[:1], [6], tmp_path, lambda done, of: told.append(done))
    assert told == [2, 2, 1]
    assert len(list(tmp_path.glob("*.npz"))) == 2
    assert np.array_equal(first.states, second.states)
    assert np.array_equal(first.starts, second.starts)
    assert len(third.states) == first.starts[1]


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team's file: part of the project's own set, with some cells left blank."""
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["seeker", "reply", *COMPONENTS])
        for index, example in enumerate(list(project_set())[:160]):
            ratings = [f"{1 + 2 * example.labels[name]:g}" for name in COMPONENTS]
            ratings[index % 3] = "" if index % 5 == 0 else ratings[index % 3]
            writer.writerow([example.seeker, example.reply, *ratings])
    return path


def test_a_team_trains_a_head_on_its_own_labels(labels: Path, encoder_folder: Path, tmp_path: Path) -> None:
    out, steps = tmp_path / "mine", []
    before = torch.get_num_threads()

    def tell(what: str, done: int, of: int) -> None:
        # More threads would give other last bits, so the weights would depend on the machine's cores.
        assert torch.get_num_threads() == 1
        steps.append((what, done, of))

    torch.set_num_threads(2)
    trained = train_on_labels(read_labels(labels), encoder_folder, out, None, tell, "x")
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
    assert steps[-1][1] == steps[-1][2]
    known = ~np.isnan(trained.table.targets)
    mean = np.nanmean(trained.table.targets, axis=0)
    held_out = np.where(known, (trained.held_out - np.nan_to_num(trained.table.targets)) ** 2, 0).sum()
    constant = np.where(known, (mean - np.nan_to_num(trained.table.targets)) ** 2, 0).sum()
    assert held_out < 0.85 * constant
    scorer = Scorer.load(out, encoder_folder)
    warm = scorer.score("", "I'm so sorry, that must hurt terribly, and I care about you.")
    cold = scorer.score("", "Stop whining.")
    assert warm.head_name == "mine"
    assert warm.emotional is not None
    assert cold.emotional is not None
    assert warm.emotional > cold.emotional + 0.3
    write_labels_card(out, trained, read_labels(labels))
    card = (out / "CARD.md").read_text()
    assert "labels.csv: 160 replies" in card
    assert "skill" in card
    assert "| cognitive |" in on_labels(scorer, read_labels(labels))


def test_too_few_labels_are_refused(encoder_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("seeker,reply,cognitive,emotional,behavioral\na,That sounds hard.,1,2,3\n")
    with pytest.raises(ScorerError, match="at least 5"):
        train_on_labels(read_labels(path), encoder_folder, tmp_path / "out", None, lambda *_: None, "x")
    rows = "".join(f"m{i},That sounds hard.,1,,3\n" for i in range(6))
    path.write_text("seeker,reply,cognitive,emotional,behavioral\n" + rows)
    with pytest.raises(ScorerError, match="column emotional"):
        train_on_labels(read_labels(path), encoder_folder, tmp_path / "out", None, lambda *_: None, "x")
    assert not (tmp_path / "out").exists()


def test_figures_go_between_the_marks_only(tmp_path: Path) -> None:
    card = tmp_path / "CARD.md"
    card.write_text("before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n")
    write_between_marks(card, "new\n")
    assert card.read_text() == "before\n<!-- figures -->\n\nnew\n\n<!-- end of figures -->\nafter\n"
    card.write_text("no marks")
    with pytest.raises(ScorerError, match="no place for figures"):
        write_between_marks(card, "new")
