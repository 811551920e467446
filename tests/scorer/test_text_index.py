"""Texts by nearness: read together as one by one, kept in a file, and made again when that is of other texts."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from heard.scorer.encoder import WINDOW
from heard.scorer.errors import ScorerError
from heard.scorer.score import Scorer
from heard.scorer.text_index import LABEL_WEIGHT, TextIndex, embedded_vectors
from heard.scorer.vectors import Vectors

TEXTS = [
    "my cat died this morning", "i got the job!!", "k", "i failed my exam again", "\U0001f97a", "we got engaged today",
    "the dog had to be put down", "I lost my job", "ok", "word " * (WINDOW + 20),
]  # fmt: skip
LABELS = ["grief", "good", "short", "bad", "short", "good", "grief", "bad", "short", "other"]


@pytest.fixture(scope="module")
def vectors(scorer: Scorer, encoder_folder: Path) -> Vectors:
    return embedded_vectors(encoder_folder, scorer.vectors)


@pytest.fixture(scope="module")
def index(vectors: Vectors, tmp_path_factory: pytest.TempPathFactory) -> TextIndex:
    return TextIndex.open(vectors, TEXTS, LABELS, tmp_path_factory.mktemp("index") / "texts.npz")


def test_texts_that_are_read_together_are_read_as_each_alone(vectors: Vectors) -> None:
    together = vectors.of_many([*TEXTS, *TEXTS])
    alone = np.stack([vectors.of_any(text) for text in TEXTS])
    assert together == pytest.approx(np.concatenate([alone, alone]), abs=2e-4)


@pytest.mark.parametrize(
    ("message", "nearest"),
    [
        ("our old cat passed away last night", 0), ("they gave me the job", 1), ("failed the exam", 3), ("okay", 8),
        ("she said yes, we are getting married!", 5),
        ("they fired me, I have no work now", 7),
        ("we had to say goodbye to our dog", 6),
    ],
)  # fmt: skip
def test_the_nearest_is_of_the_same_matter(index: TextIndex, message: str, nearest: int) -> None:
    assert int(index.nearness(message).argmax()) == nearest


def test_a_text_is_nearest_to_itself_and_nearness_has_its_range(index: TextIndex) -> None:
    for place, text in enumerate(TEXTS):
        found = index.nearness(text)
        assert int(found.argmax()) == place
        assert 1 - 1e-3 <= found[place] <= 1 + LABEL_WEIGHT + 1e-3
        assert found.min() > -1
    assert np.isfinite(index.nearness("")).all()


def test_of_two_that_are_equally_like_the_one_of_the_likely_label_is_nearer(vectors: Vectors) -> None:
    rows = vectors.of_many(["i got the job", "i got the job", "we won!!", "my dog died", "the cat died"])
    labels = ["bad", "good", "good", "bad", "bad"]
    found = TextIndex(vectors, rows, labels).nearness("we got the house, so happy!!")
    assert found[1] > found[0]


def test_vectors_are_made_once_and_again_when_a_text_changes(
    vectors: Vectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, made = tmp_path / "deep" / "texts.npz", []
    of_many = Vectors.of_many
    monkeypatch.setattr(Vectors, "of_many", lambda self, texts: made.append(len(texts)) or of_many(self, texts))
    fresh = TextIndex.open(vectors, TEXTS, LABELS, path).nearness("i got a new job")
    kept = TextIndex.open(vectors, TEXTS, LABELS, path).nearness("i got a new job")
    assert kept == pytest.approx(fresh, abs=2e-3)
    assert made == [len(TEXTS)]
    TextIndex.open(vectors, [*TEXTS[:-1], "another"], LABELS, path)
    assert len(made) == 2
    for damage in (b"", b"PK\x03\x04", path.read_bytes()[:400]):
        path.write_bytes(damage)
        assert TextIndex.open(vectors, TEXTS, LABELS, path).nearness("i got a new job") == pytest.approx(
            fresh, abs=2e-3
        )
    assert len(made) == 5
    assert [one.name for one in path.parent.iterdir()] == ["texts.npz"], "no half file is left"


def test_a_folder_that_cannot_be_written_costs_time_and_nothing_else(
    vectors: Vectors, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    index = TextIndex.open(vectors, TEXTS, LABELS, tmp_path / "file" / "texts.npz")
    assert int(index.nearness("i got the job").argmax()) == 1
    assert "cannot be kept" in caplog.text
    assert "job" not in caplog.text


def test_the_scorers_vectors_will_do_where_they_are_the_same(
    scorer: Scorer, encoder_folder: Path, tmp_path: Path
) -> None:
    assert embedded_vectors(encoder_folder, scorer.vectors) is scorer.vectors
    other = Vectors.load(scorer.encoder, encoder_folder, scorer.head.file.layers)
    other.source = (*other.source, 6.0)
    own = embedded_vectors(encoder_folder, other)
    assert own.of_any(TEXTS[0]) == pytest.approx(
        embedded_vectors(encoder_folder, scorer.vectors).of_any(TEXTS[0]), abs=2e-4
    )
    shutil.copytree(encoder_folder, tmp_path / "encoder", ignore=shutil.ignore_patterns("*.onnx"))
    with (tmp_path / "encoder" / "model.safetensors").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ScorerError, match="is not the one asked for"):
        embedded_vectors(tmp_path / "encoder")
