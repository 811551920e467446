"""The product as its own process, as `make chat` starts it, on a port and a data folder of its own."""

import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    pid: int
    data_dir: Path
    started_at: float
    """`time.perf_counter()` just before the process was started."""
    seconds_to_page: float
    """From starting the process until the first page was answered."""

    def memory_mb(self) -> float:
        """Resident memory of the process and its children in MB (10^6 bytes)."""
        process = psutil.Process(self.pid)
        everybody = [process, *process.children(recursive=True)]
        return sum(one.memory_info().rss for one in everybody) / 1e6


@contextmanager
def served(data_dir: Path | None = None, **settings: str) -> Iterator[Served]:
    """Start `heard chat`, wait for its first page, and end it. `settings` are HEARD_ variables, in lower case."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as scratch:
        folder = data_dir or Path(scratch) / "data"
        port = free_port()
        # The figures are of the small model unless HEARD_EMBEDDED names another.
        embedded = os.environ.get("HEARD_EMBEDDED", "smollm2")
        given = {"data_dir": str(folder), "port": str(port), "embedded": embedded, **settings}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEARD_")}
        environment |= {f"HEARD_{name.upper()}": value for name, value in given.items()}
        started = time.perf_counter()
        process = subprocess.Popen(
            [Path(sys.executable).with_name("heard"), "chat"],
            cwd=scratch,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            yield Served(url, process.pid, folder, started, _wait(url, process, started))
        finally:
            process.terminate()
            process.communicate(timeout=20)


def _wait(url: str, process: "subprocess.Popen[str]", started: float) -> float:
    while time.perf_counter() - started < 120:
        if process.poll() is not None:
            raise RuntimeError(f"heard chat ended with status {process.returncode}: {process.communicate()[1][-500:]}")
        try:
            if httpx.get(f"{url}/consent", timeout=2).status_code == 200:
                return time.perf_counter() - started
        except httpx.TransportError:
            time.sleep(0.05)
    raise TimeoutError("the first page did not come within 120 s")


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def machine() -> str:
    """The machine in one line: processor, cores, memory, system."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        name = lines[0].split(":", 1)[1].strip() if lines else name
    memory = psutil.virtual_memory().total / 2**30
    python = f"{platform.system()}, Python {platform.python_version()}"
    return f"{name}, {psutil.cpu_count()} cores, {memory:.0f} GiB, {python}"
