"""Adapters: what comes with heard is whole and belongs to its model, and a faulty one is a sentence."""

import shutil
from pathlib import Path

import pytest

from heard.chat_app.models.adapter_files import ABOUT, WEIGHTS, adapter_path, check_adapter, write_about
from heard.chat_app.models.catalogue import BUILT_IN
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.embedded_models import MODELS
from heard.chat_app.models.engines import Engines
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.records import ModelFailure
from heard.chat_app.models.weights_folder import WeightsError

ADAPTED = [model for model in MODELS if model.adapter is not None]


def test_the_shipped_adapters_are_whole_have_a_card_and_belong_to_their_model_s_file() -> None:
    assert ADAPTED
    for model in ADAPTED:
        path = adapter_path(str(model.adapter))
        assert check_adapter(path).model_sha256 == model.sha256
        assert (path.parent / "CARD.md").read_text(encoding="utf-8").startswith("# ")
        assert BUILT_IN[model.name].adapter == str(path)


def test_a_model_with_an_adapter_is_another_model_than_its_file_alone() -> None:
    for model in ADAPTED:
        (plain,) = [other for other in MODELS if other.sha256 == model.sha256 and other.adapter is None]
        assert plain.model != model.model
        assert BUILT_IN[plain.name].adapter is None


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A whole adapter in a folder of its own."""
    source = adapter_path(str(ADAPTED[0].adapter)).parent
    for name in (WEIGHTS, ABOUT):
        shutil.copy(source / name, tmp_path / name)
    return tmp_path / WEIGHTS


def test_what_is_missing_or_damaged_is_refused(copy: Path) -> None:
    about = (copy.parent / ABOUT).read_text(encoding="utf-8")
    copy.write_bytes(copy.read_bytes()[:-1] + b"x")
    with pytest.raises(WeightsError, match="is damaged"):
        check_adapter(copy)
    for broken in ("", "title = 1 2", about + 'more = "1"\n'):
        (copy.parent / ABOUT).write_text(broken, encoding="utf-8")
        with pytest.raises(WeightsError, match=r"is incomplete: it needs adapter\.toml and adapter\.gguf"):
            check_adapter(copy)
    write_about(copy, "mine", "0" * 64)
    assert check_adapter(copy).title == "mine"
    copy.unlink()
    with pytest.raises(WeightsError, match="is incomplete"):
        check_adapter(copy)


@pytest.fixture
def damaged(copy: Path) -> Path:
    """Weights that are not those of their adapter.toml."""
    copy.write_bytes(b"GGUF")
    return copy


async def test_an_engine_with_a_damaged_adapter_says_so_and_never_answers_without_it(
    damaged: Path, weights: Weights
) -> None:
    with pytest.raises(ModelFailure, match=r"the embedded model cannot be loaded\. adapter\.gguf of the adapter"):
        await Engine(weights.chat_model, adapter=damaged).start()


def test_one_file_with_and_without_an_adapter_are_two_engines(weights: Weights, tmp_path: Path) -> None:
    spec = BUILT_IN[ADAPTED[0].name]
    plain = BUILT_IN[next(model.name for model in MODELS if model.sha256 == ADAPTED[0].sha256 and not model.adapter)]
    file = ADAPTED[0].path_in(tmp_path)
    with_it = Engine(file, adapter=Path(str(spec.adapter)))
    assert Engines(with_it, tmp_path).ready(spec) is with_it
    assert Engines(with_it, tmp_path).ready(plain) is None
    without = Engine(file)
    assert Engines(without, tmp_path).ready(plain) is without
    assert Engines(without, tmp_path).ready(spec) is None
