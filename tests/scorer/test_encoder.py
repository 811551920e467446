"""The ONNX graph is the BERT that transformers computes, for the embedded encoder and for any other."""

import gc
import json
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

from heard.scorer.encoder import WINDOW, Encoder
from heard.scorer.encoder_files import EMBEDDED_SHA256, GRAPH, file_sha256, graph_path
from heard.scorer.errors import ScorerError
from heard.scorer.head import Head
from heard.scorer.score import DEFAULT_HEAD, HEADS
from tests.plain import PlainBert


def reference(folder: Path, ids: list[int], layers: list[float]) -> np.ndarray:
    return PlainBert(folder).states([101, *ids, 102], layers)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Path:
    """A BertModel with random weights and another shape, as transformers saves it."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30522, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=128,
    )  # fmt: skip
    BertModel(config).eval().save_pretrained(folder)
    shutil.copy(encoder_folder / "tokenizer.json", folder)
    return folder


@pytest.mark.parametrize("length", [0, 1, 7, 150, 254])
def test_onnx_equals_transformers(encoder_folder: Path, length: int) -> None:
    layers = [0, 0.5, 3, 5.5, 6]
    encoder = Encoder.load(encoder_folder, layers)
    ids = (encoder.ids("I am so sorry that your dog died, the quiet must be loud.") * 20)[:length]
    assert np.abs(encoder.states(ids) - reference(encoder_folder, ids, layers)).max() < 1e-4


@pytest.mark.parametrize("length", [0, 7, 600])
def test_a_projection_in_the_graph_is_the_heads_own(encoder_folder: Path, length: int) -> None:
    """The one that the head works out in numpy from the same states, in one window and over several."""
    head = Head.load(HEADS / DEFAULT_HEAD)
    encoder = Encoder.load(encoder_folder, head.file.layers, projection=head.projection)
    gc.collect()  # the graph reads the head's tensors in place
    ids = (encoder.ids("Your brother left, and nobody asked how you are.") * 60)[:length]
    states, projected = encoder.encode(ids)
    assert np.array_equal(states, Encoder.load(encoder_folder, head.file.layers).states(ids))
    assert head.facets(states, projected) == pytest.approx(head.facets(states), abs=1e-5)
    assert head.terms(states, projected) == pytest.approx(head.terms(states), abs=1e-4)
    assert np.abs(head.facets(states, -projected) - head.facets(states)).max() > 0.1


def test_another_bert_works_by_the_same_code(tiny_bert: Path) -> None:
    encoder = Encoder.load(tiny_bert, [2, 3.5])
    ids = encoder.ids("That sounds hard.")
    found = encoder.states(ids)
    assert found.shape == (len(ids) + 2, 64)
    assert np.abs(found - reference(tiny_bert, ids, [2, 3.5])).max() < 1e-4


def test_a_bert_with_a_task_head_and_old_names_works(tiny_bert: Path, tmp_path: Path) -> None:
    """As bert-base-uncased is published: "bert." before each name, gamma and beta for the layer norm."""
    from safetensors.numpy import load_file, save_file

    shutil.copytree(tiny_bert, tmp_path / "old")
    tensors = load_file(tiny_bert / "model.safetensors")
    renamed = {
        "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors.items()
    }
    save_file(renamed, tmp_path / "old" / "model.safetensors")
    ids = [2023, 2003]
    old, new = Encoder.load(tmp_path / "old", [4]), Encoder.load(tiny_bert, [4])
    assert np.array_equal(old.states(ids), new.states(ids))


def test_long_texts_are_read_in_equal_windows(encoder_folder: Path) -> None:
    encoder = Encoder.load(encoder_folder, [6])
    ids = encoder.ids("I hear how tired you are. " * 100)
    size = -(-len(ids) // -(-len(ids) // (WINDOW - 2)))
    states = encoder.states(ids)
    assert len(ids) > WINDOW
    assert np.array_equal(states[: size + 2], encoder.states(ids[:size]))
    assert len(states) == len(ids) + 2 * -(-len(ids) // size)


def test_tokens_are_those_of_the_published_tokenizer(encoder_folder: Path) -> None:
    published = Tokenizer.from_file(str(encoder_folder / "tokenizer.json"))
    published.no_padding()
    text = "Grief has no timetable, Łukasz."
    assert Encoder.load(encoder_folder, [6]).ids(text) == published.encode(text).ids[1:-1]


def test_the_weights_are_checked(tiny_bert: Path) -> None:
    with pytest.raises(ScorerError, match="not the one asked for"):
        Encoder.load(tiny_bert, [4], sha256=EMBEDDED_SHA256)


def test_a_layer_that_is_not_there_is_refused(tiny_bert: Path) -> None:
    for layers in ([5], [-0.5], [2.25], [float("nan")], []):
        with pytest.raises(ScorerError, match="layers 0 to 4, in halves"):
            Encoder.load(tiny_bert, layers)


def test_other_weights_make_another_graph(tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(tiny_bert, folder)
    first = Encoder.load(folder, [4]).states([2023])
    torch.manual_seed(1)
    BertModel(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    second = Encoder.load(folder, [4])
    assert graph_path(folder, second.sha256, [4]).exists()
    assert np.abs(first - second.states([2023])).max() > 0.1


def test_a_new_graph_takes_the_room_of_those_of_an_earlier_version(tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    shutil.copytree(tiny_bert, folder, ignore=shutil.ignore_patterns("*.onnx"))
    earlier, later = folder / f"encoder-{GRAPH - 1}-00-4.onnx", folder / f"encoder-{GRAPH + 1}-00-4.onnx"
    for path in (earlier, later, folder / "model-1-2.onnx"):
        path.write_bytes(b"a graph")
    encoder = Encoder.load(folder, [4])
    Encoder.load(folder, [4.0])
    names = {later.name, "model-1-2.onnx", graph_path(folder, encoder.sha256, [4]).name}
    assert {path.name for path in folder.glob("*.onnx")} == names


def test_a_full_disk_costs_no_score_and_leaves_no_half_file(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "full"
    shutil.copytree(tiny_bert, folder, ignore=shutil.ignore_patterns("*.onnx"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("heard.scorer.onnx_export.os.replace", full)
    assert Encoder.load(folder, [4]).states([2023]).shape == (3, 32)
    assert not [path for path in folder.iterdir() if path.suffix in (".part", ".onnx")]


def test_a_folder_that_cannot_be_written_still_works(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "read-only"
    shutil.copytree(tiny_bert, folder, ignore=shutil.ignore_patterns("*.onnx"))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")  # root may write anywhere, so the mode alone proves nothing

    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    monkeypatch.setattr("heard.scorer.onnx_export.tempfile.NamedTemporaryFile", refuse)
    assert Encoder.load(folder, [4]).states([2023]).shape == (3, 32)
    assert not list(folder.glob("*.onnx"))


def test_a_damaged_graph_names_the_file_to_remove(tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(tiny_bert, folder, ignore=shutil.ignore_patterns("*.onnx"))
    path = graph_path(folder, file_sha256(folder / "model.safetensors"), [4])
    path.write_bytes(b"not a graph")
    with pytest.raises(ScorerError, match=path.name):
        Encoder.load(folder, [4])


@pytest.mark.parametrize(
    "change", [{"model_type": "roberta"}, {"hidden_act": "relu"}, {"position_embedding_type": "relative_key"}]
)
def test_what_is_no_plain_bert_is_refused(tiny_bert: Path, tmp_path: Path, change: dict[str, str]) -> None:
    folder = tmp_path / "other"
    shutil.copytree(tiny_bert, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(ScorerError, match="only"):
        Encoder.load(folder, [4])


def test_a_missing_folder_is_told_plainly(tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match="cannot be read"):
        Encoder.load(tmp_path / "nowhere", [6])


@pytest.mark.parametrize("value", [None, "32", 0, True])
def test_a_configuration_without_its_numbers_is_refused(tiny_bert: Path, tmp_path: Path, value: object) -> None:
    folder = tmp_path / "other"
    shutil.copytree(tiny_bert, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": value}))
    with pytest.raises(ScorerError, match='"hidden_size" must be a whole number'):
        Encoder.load(folder, [4])


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_without_one_of_its_files_names_it(tiny_bert: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "partial"
    shutil.copytree(tiny_bert, folder)
    (folder / name).unlink()
    with pytest.raises(ScorerError, match=name):
        Encoder.load(folder, [4])
