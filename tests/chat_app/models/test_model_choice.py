"""Which model a machine runs: by free memory and disk, by what is on the disk, and by which source answers."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from heard.chat_app.models import model_choice
from heard.chat_app.models.embedded_models import CATALOGUE, EmbeddedModel, HubFile, UnknownModelError
from heard.chat_app.models.model_choice import candidates, chosen_on_disk, fetch_chosen, memory_needed
from heard.chat_app.models.weights_folder import WeightsError
from tests.gguf_hub import FILE, REPOSITORY, GgufHub, gguf_hub

GB = 1_000_000_000
CONTENT = b"GGUF" + b"weights" * 3000
SUM = hashlib.sha256(CONTENT).hexdigest()


def made(name: str, *, repository: str = REPOSITORY, tiny: bool = False) -> EmbeddedModel:
    return replace(
        CATALOGUE["smollm2" if tiny else "qwen2.5-1.5b-instruct"],
        name=name,
        model=name.title(),
        file=f"{name}.gguf",
        folder=name,
        bytes=len(CONTENT),
        sha256=SUM,
        sources=(HubFile(repository, FILE),),
    )


BEST, SECOND, SMALL = made("best"), made("second"), made("small", tiny=True)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> object:
    """A Hub that has every model of a catalogue of three."""
    catalogue(monkeypatch, BEST, SECOND, SMALL)
    with gguf_hub(CONTENT) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        yield server


def catalogue(patch: pytest.MonkeyPatch, *models: EmbeddedModel) -> None:
    """The last one is the last resort."""
    patch.setattr(model_choice, "MODELS", models)
    patch.setattr(model_choice, "SMOLLM2", models[-1])
    patch.setattr(model_choice, "catalogue_model", {model.name: model for model in models}.__getitem__)


def keep(model: EmbeddedModel, cache: Path) -> None:
    path = model.path_in(cache)
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)


@pytest.mark.parametrize(
    ("memory", "names"),
    [
        (16.0, ["qwen2.5-coder-1.5b-listener", "qwen2.5-1.5b-instruct", "qwen2.5-coder-1.5b-instruct", "smollm2"]),
        (3.0, ["qwen2.5-coder-1.5b-listener", "qwen2.5-1.5b-instruct", "qwen2.5-coder-1.5b-instruct", "smollm2"]),
        (2.5, ["smollm2"]),
        (0.1, ["smollm2"]),
    ],
)
def test_memory_decides_which_may_be_chosen(memory: float, names: list[str]) -> None:
    assert [model.name for model in candidates(int(memory * GB))] == names


def test_larger_models_want_more_memory() -> None:
    needs = [memory_needed(CATALOGUE[name]) for name in ("smollm2", "qwen2.5-1.5b-instruct", "llama-3.2-3b-instruct")]
    assert needs == sorted(needs)
    assert needs[0] < GB
    assert 2.5 * GB < needs[1] < 3 * GB


def test_the_best_is_fetched_and_told(hub: GgufHub, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch_chosen(cache, "auto") is BEST
    said = capsys.readouterr().err
    assert "Best is the best that this machine carries: " in said
    assert "GB of memory and " in said
    asked = len(hub.keys)
    assert fetch_chosen(cache, "auto") is BEST
    assert len(hub.keys) == asked
    assert "Best answers: " in capsys.readouterr().err
    assert chosen_on_disk(cache, "auto") is BEST


def test_what_is_on_the_disk_needs_no_network(hub: GgufHub, cache: Path) -> None:
    keep(SECOND, cache)
    assert fetch_chosen(cache, "auto", progress=False) is SECOND
    assert hub.keys == []


def test_one_whose_source_does_not_answer_gives_way(
    hub: GgufHub, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    catalogue(monkeypatch, made("best", repository="team/gone"), SECOND, SMALL)
    assert fetch_chosen(cache, "auto") is SECOND
    said = capsys.readouterr().err
    assert f"The Hugging Face Hub has no team/gone/{FILE}" in said
    assert "Second comes next" in said


def test_without_a_network_the_small_one_on_the_disk_answers(
    hub: GgufHub, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    keep(SMALL, cache)
    assert fetch_chosen(cache, "auto") is SMALL
    assert "So Small answers, which is on the disk." in capsys.readouterr().err
    assert chosen_on_disk(cache, "auto") is SMALL


def test_nothing_on_the_disk_and_no_network_is_one_sentence(
    hub: GgufHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(WeightsError, match="could not be reached for the model Small"):
        fetch_chosen(cache, "auto", progress=False)


def test_little_memory_takes_the_small_one_and_says_why(
    hub: GgufHub, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(model_choice, "free_memory", lambda: GB)
    catalogue(monkeypatch, replace(BEST, bytes=2 * GB), SMALL)
    assert fetch_chosen(cache, "auto") is SMALL
    said = capsys.readouterr().err
    assert "Small is the best that this machine carries: 1.0 GB of memory" in said
    assert "The next larger model, Best, needs 3.5 GB of free memory." in said
    with pytest.raises(WeightsError, match=r"Best needs 3\.5 GB of free memory, and 1\.0 GB are free.*HEARD_EMBEDDED="):
        fetch_chosen(cache, "best", progress=False)


def test_little_disk_passes_over_a_model(
    hub: GgufHub, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    catalogue(monkeypatch, replace(BEST, bytes=200_000_000), SMALL)
    monkeypatch.setattr(model_choice, "free_disk", lambda folder: 100_000_000)
    assert fetch_chosen(cache, "auto") is SMALL
    assert "Best needs 250 MB of disk, and 100 MB are free." in capsys.readouterr().err


def test_a_named_one_is_taken(hub: GgufHub, cache: Path) -> None:
    assert fetch_chosen(cache, "second", progress=False) is SECOND
    assert chosen_on_disk(cache, "second") is SECOND
    with pytest.raises(WeightsError, match="is missing"):
        chosen_on_disk(cache, "best")


def test_an_unknown_name_is_refused_with_the_nearest(cache: Path) -> None:
    with pytest.raises(UnknownModelError, match=r'No embedded model "smolm2"\. Did you mean smollm2\?'):
        fetch_chosen(cache, "smolm2", progress=False)
