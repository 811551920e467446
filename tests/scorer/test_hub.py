"""An encoder by a Hub name: fetched from a server that speaks the Hub's protocol, and kept in its cache."""

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel

from heard.scorer.encoder_files import EMBEDDED_NAME, EMBEDDED_SHA256, file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.head_file import read_head_file
from heard.scorer.hub import FILES, encoder_name, encoder_of
from heard.scorer.records import COMPONENTS
from heard.scorer.score import DEFAULT_HEAD, HEADS
from heard.scorer.training.data import project_set
from tests.hub_server import COMMIT, hub_serving

HEARD = "from heard.chat_app.cli import main; main()"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Path:
    """A small BERT with the embedded encoder's tokenizer, and a file that nobody needs."""
    folder = tmp_path_factory.mktemp("published")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30522, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=128,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    shutil.copy(encoder_folder / "tokenizer.json", folder)
    (folder / "pytorch_model.bin").write_bytes(b"never fetched")
    return folder


@pytest.fixture(scope="module")
def hub(published: Path) -> Iterator[tuple[str, list[str]]]:
    """A server on loopback with one repository, "team/small-bert", and the paths that were asked of it."""
    with hub_serving("team/small-bert", published) as server:
        yield server.endpoint, server.paths


def python(
    home: Path, endpoint: str, code: str, *arguments: str, offline: bool = False
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, timeout=240, check=False,
        env={**os.environ, "HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "1" if offline else "0"},
    )  # fmt: skip


def write_labels(path: Path, every: int = 40) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["seeker", "reply", *COMPONENTS])
        for example in list(project_set())[::every]:
            writer.writerow([example.seeker, example.reply, *(f"{1 + 2 * example.labels[n]:g}" for n in COMPONENTS)])
    return path


def test_a_head_on_a_hub_encoder_trains_loads_and_works_offline(
    hub: tuple[str, list[str]], published: Path, tmp_path: Path
) -> None:
    endpoint, asked = hub
    labels, home, head = write_labels(tmp_path / "labels.csv"), tmp_path / "hf", tmp_path / "mine"
    trained = python(
        home, endpoint, HEARD, "train", "--data", str(labels), "--encoder", "team/small-bert", "--out", str(head),
        "--cache", str(tmp_path / "states"),
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    assert not any("pytorch_model" in path for path in asked)
    assert all("team/small-bert" in path for path in asked), "nothing else is asked or told"
    file = read_head_file(head / "head.toml")
    assert file.encoder == f"team/small-bert@{COMMIT}"
    assert file.encoder_sha256 == file_sha256(published / "model.safetensors")
    assert "--encoder team/small-bert" in file.command

    asked.clear()
    text = "That sounds hard, and I am sorry."
    scored = python(home, endpoint, HEARD, "score", text, "--head", str(head))
    assert "Empathy" in scored.stdout, scored.stderr
    assert not asked, "what is in the cache needs no network"
    again = python(home, endpoint, HEARD, "score", text, "--head", str(head), offline=True)
    assert again.stdout == scored.stdout

    elsewhere = python(tmp_path / "other", endpoint, HEARD, "score", text, "--head", str(head))
    assert elsewhere.stdout == scored.stdout, elsewhere.stderr
    lost = python(tmp_path / "third", endpoint, HEARD, "score", text, "--head", str(head), offline=True)
    assert lost.returncode == 2
    assert "cannot be reached" in lost.stderr
    assert "Traceback" not in lost.stderr


@pytest.mark.slow
def test_the_study_s_protocol_takes_a_hub_encoder(hub: tuple[str, list[str]], published: Path, tmp_path: Path) -> None:
    labels, home, head = write_labels(tmp_path / "labels.csv", every=4), tmp_path / "hf", tmp_path / "study"
    trained = python(
        home, hub[0], HEARD, "train", "--protocol", "paper", "--data", str(labels), "--encoder", "team/small-bert",
        "--out", str(head), "--cache", str(tmp_path / "states"),
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    file = read_head_file(head / "head.toml")
    assert (file.encoder, file.layers, file.pooling) == (f"team/small-bert@{COMMIT}", [2], "cls")
    assert "--encoder team/small-bert" in file.command
    scored = python(home, hub[0], HEARD, "score", "That sounds hard.", "--head", str(head), offline=True)
    assert "Empathy" in scored.stdout, scored.stderr
    unknown = python(
        home, hub[0], HEARD, "train", "--protocol", "paper", "--data", str(labels), "--encoder", "team/no-such-model",
        "--out", str(tmp_path / "other"),
    )  # fmt: skip
    assert unknown.returncode == 2
    assert "no public model of that name" in unknown.stderr


ONLINE = {
    "team/no-such-model": "no public model of that name",
    "team/small-bert@no-such-branch": "no public model of that name",
    "no such name": "neither a folder nor a name",
    "./nowhere": "no such folder",
    "a/b/c": "no such folder",
}


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [(None, ONLINE), ("http://127.0.0.1:9", {"bert-base-uncased": "cannot be reached"})],  # nobody listens on port 9
)
def test_an_encoder_that_cannot_be_had_is_one_sentence(
    hub: tuple[str, list[str]], tmp_path: Path, endpoint: str | None, said: dict[str, str]
) -> None:
    code = """
import sys
from heard.scorer.errors import ScorerError
from heard.scorer.hub import encoder_folder
for name in sys.argv[1:]:
    try:
        print(encoder_folder(name))
    except ScorerError as error:
        print(error)
"""
    lines = python(tmp_path, endpoint or hub[0], code, *said).stdout.splitlines()
    assert len(lines) == len(said)
    for line, part in zip(lines, said.values(), strict=True):
        assert part in line
        assert line.endswith(".")


def test_the_embedded_encoder_is_known_by_its_weights(encoder_folder: Path) -> None:
    assert encoder_name(encoder_folder, EMBEDDED_SHA256) == EMBEDDED_NAME
    assert encoder_of(HEADS / DEFAULT_HEAD, lambda: encoder_folder) == encoder_folder


def test_an_encoder_from_a_folder_is_found_beside_the_head(tmp_path: Path, published: Path) -> None:
    head = tmp_path / "head"
    shutil.copytree(HEADS / DEFAULT_HEAD, head)
    name, sha256 = encoder_name(published, "f" * 64), "f" * 64
    assert name == f"folder:{published.name}"
    text = (head / "head.toml").read_text().replace(EMBEDDED_NAME, name).replace(EMBEDDED_SHA256, sha256)
    (head / "head.toml").write_text(text)
    with pytest.raises(ScorerError, match="Put that folder"):
        encoder_of(head, lambda: tmp_path)
    (head / "encoder").symlink_to(published)
    assert encoder_of(head, lambda: tmp_path) == head / "encoder"
    assert all((head / "encoder" / file).exists() for file in FILES)
