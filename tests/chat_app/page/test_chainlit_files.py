"""The folder that Chainlit reads: whole and ours after every start, and nothing else of the machine touched."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from heard.chat_app.page import chainlit_files
from heard.chat_app.page.chainlit_files import SOURCE, ChainlitFilesError, lay_out, originals
from heard.errors import UserError


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def written(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_it_holds_what_the_installation_holds(tmp_path: Path) -> None:
    folder = lay_out(tmp_path)
    assert folder == tmp_path / "chainlit"
    assert contents(folder) == {name.as_posix(): path.read_bytes() for name, path in originals().items()}
    for name in (".chainlit/config.toml", "chainlit.md", "public/heard.js", "public/elements/HeardBallot.jsx"):
        assert (folder / name).read_bytes() == (SOURCE / name).read_bytes()
    assert stat.S_IMODE((folder / "public" / "heard.js").stat().st_mode) == 0o644


def test_a_second_start_writes_nothing(tmp_path: Path) -> None:
    before = written(lay_out(tmp_path))
    assert written(lay_out(tmp_path)) == before


def test_what_differs_is_written_again_and_what_is_not_ours_goes(tmp_path: Path) -> None:
    whole = contents(lay_out(tmp_path))
    folder = tmp_path / "chainlit"
    (folder / ".chainlit" / "config.toml").write_text("[features]\nedit_message = true\n", encoding="utf-8")
    (folder / "public" / "heard.js").unlink()
    (folder / "public" / "elements" / "ScoreCard.jsx").write_bytes(b"")
    (folder / "public" / "favicon.png").write_bytes(b"of an earlier version")
    (folder / "chainlit_en-US.md").write_text("Chainlit would show this one", encoding="utf-8")
    assert contents(lay_out(tmp_path)) == whole


def test_several_processes_may_start_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lay_out, [tmp_path] * 32))
    assert contents(folders[0]) == {name.as_posix(): path.read_bytes() for name, path in originals().items()}


def test_chainlit_finds_nothing_to_write(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "data")
    before = written(folder)
    code = (
        "import json, warnings; warnings.simplefilter('ignore')\n"
        "from chainlit.config import config\n"
        "print(json.dumps([config.features.spontaneous_file_upload.enabled, config.features.edit_message]))"
    )
    environment = {**os.environ, "CHAINLIT_APP_ROOT": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert json.loads(done.stdout) == [False, False], done.stderr
    assert written(folder) == before
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize("place", ["chainlit", "chainlit/public", "chainlit/public/heard.js/x"])
def test_what_cannot_be_written_is_one_sentence(tmp_path: Path, place: str) -> None:
    """A file where a folder must stand, or the other way round: rights do not keep a superuser out."""
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("in the way", encoding="utf-8")
    with pytest.raises(
        ChainlitFilesError, match=r"^Cannot read or write .*chainlit.* \(.+\).*HEARD_DATA_DIR"
    ) as caught:
        lay_out(tmp_path)
    assert isinstance(caught.value, UserError)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="a superuser may write everywhere")
def test_a_read_only_data_folder_is_enough_once_all_is_there(tmp_path: Path) -> None:
    folders = [lay_out(tmp_path), *(path for path in (tmp_path / "chainlit").rglob("*") if path.is_dir())]
    try:
        for folder in folders:
            folder.chmod(0o555)
        lay_out(tmp_path)
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_an_installation_without_its_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one would be whose links to the top level are plain files."""
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / ".chainlit").write_text("../../.chainlit", encoding="utf-8")
    monkeypatch.setattr(chainlit_files, "SOURCE", tmp_path / "page")
    with pytest.raises(ChainlitFilesError, match=r"lacks \.chainlit/config\.toml"):
        lay_out(tmp_path / "data")


def test_chainlit_s_own_translations_are_there_and_ours_is_preferred() -> None:
    ours = originals()
    found = find_spec("chainlit")
    assert found
    assert found.origin
    theirs = {path.name for path in (Path(found.origin).parent / "translations").glob("*.json")}
    assert len(theirs) > 10
    assert {name.name for name in ours if name.parent.name == "translations"} == theirs
    assert ours[Path(".chainlit/translations/en-US.json")].parents[2] == SOURCE
