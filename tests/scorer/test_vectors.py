"""Sentence vectors, held against transformers' own forward pass of the whole encoder."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heard.scorer.encoder import WINDOW, Encoder
from heard.scorer.vectors import KEPT, LONGEST, Vectors
from tests.plain import PlainBert

LAYERS = [1, 3, 3.5]
WIDTH = 384
Means = Callable[[list[list[int]]], "np.ndarray"]  # type: ignore[type-arg]


@pytest.fixture(scope="module")
def encoder(encoder_folder: Path) -> Encoder:
    return Encoder.load(encoder_folder, LAYERS)


@pytest.fixture(scope="module")
def vectors(encoder: Encoder, encoder_folder: Path) -> Vectors:
    return Vectors.load(encoder, encoder_folder, LAYERS)


@pytest.fixture(scope="module")
def plain(encoder: Encoder, encoder_folder: Path) -> Means:
    model = PlainBert(encoder_folder)
    cls, sep = (encoder.ids(token)[0] for token in ("[CLS]", "[SEP]"))

    def means(windows: list[list[int]]) -> np.ndarray:  # type: ignore[type-arg]
        """The directions of LAYERS and of the top, over all windows."""
        total = np.zeros((len(LAYERS) + 1, WIDTH))
        for ids in windows:
            total += model.states([cls, *ids, sep], [*LAYERS, 6]).sum(axis=0).reshape(-1, WIDTH)
        return (total / np.linalg.norm(total, axis=1, keepdims=True)).ravel()  # type: ignore[no-any-return]

    return means


@pytest.mark.parametrize(
    "text", ["sorry", "I failed my exam and I do not know how to tell my parents.", "so sad " * 60]
)
def test_they_are_the_means_of_the_layers_of_the_whole_encoder(
    encoder: Encoder, vectors: Vectors, plain: Means, text: str
) -> None:
    expected = plain([encoder.ids(text)])
    assert vectors.of_text(text) == pytest.approx(expected, abs=2e-5)


def test_a_long_text_is_read_in_windows_and_none_of_them_is_lost(
    encoder: Encoder, vectors: Vectors, plain: Means
) -> None:
    text = " ".join(f"On day {number} I walked to the sea and back again." for number in range(50))
    ids = encoder.ids(text)
    windows = encoder.windows(len(ids))
    assert len(windows) == -(-len(ids) // (WINDOW - 2)) > 1
    rows = encoder.states(ids)
    assert [row for window in windows for row in range(window.start, window.stop)] == list(range(len(rows)))
    size = -(-len(ids) // len(windows))
    expected = plain([ids[at : at + size] for at in range(0, len(ids), size)])
    assert vectors.of_states(rows, len(ids)) == pytest.approx(expected, abs=2e-5)


def test_a_head_that_reads_the_top_layer_needs_no_second_graph(encoder_folder: Path, vectors: Vectors) -> None:
    text = "I failed my exam."
    whole = Encoder.load(encoder_folder, [3, 6])
    top = Vectors.load(whole, encoder_folder, [3, 6]).of_text(text)[-WIDTH:]
    assert top == pytest.approx(vectors.of_text(text)[-WIDTH:], abs=2e-5)


def test_a_message_that_says_nothing_has_none(vectors: Vectors) -> None:
    assert [vectors.of_message(text) for text in ("", "thank you", "👍👍👍", "Ich bin heute so müde und traurig")] == [
        None
    ] * 4
    assert vectors.of_message("I feel sad") is not None


def test_only_the_beginning_of_a_long_message_is_read(vectors: Vectors) -> None:
    begins = ("My week was long. " * LONGEST)[:LONGEST]
    assert np.array_equal(vectors.of_message(begins + "The end is another."), vectors.of_message(begins))  # type: ignore[arg-type]


def test_a_message_is_read_once_and_few_are_kept(vectors: Vectors) -> None:
    first = vectors.of_message("This is the first message")
    assert vectors.of_message("This is the first message") is first
    for number in range(KEPT):
        vectors.of_message(f"This is message number {number}")
    assert vectors.of_message("This is the first message") is not first
