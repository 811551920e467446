"""What this machine can give a model: free memory, free disk and cores, also in a container with limits of its own."""

import contextlib
import os
import shutil
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Return the bytes that programs can still take without swapping, within the container's limit if there is one."""
    import psutil  # here, because the scorer alone does without it

    available = int(psutil.virtual_memory().available)
    with contextlib.suppress(OSError, ValueError):  # no such files, or no limit ("max")
        limit = int((CGROUP / "memory.max").read_text())
        used = int((CGROUP / "memory.current").read_text())
        cached = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        return max(0, min(available, limit - used + int(cached.get("inactive_file", 0))))
    return available


def free_disk(folder: Path) -> int:
    """Return the free bytes of the disk on which `folder` is, or will be made. Raises OSError."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def cores() -> int:
    """Return the cores that this process may use, at least 1: those of its affinity, within the container's quota."""
    try:
        number = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        import psutil

        number = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # no such file, or no quota ("max")
        quota, period = (int(part) for part in (CGROUP / "cpu.max").read_text().split())
        number = min(number, quota // period)
    return max(1, number)
